"""What an agent is made of, apart from its model.

It knows values. It must never know a run.
"""

from __future__ import annotations

from dataclasses import field, replace

from perdure.kernel.agent.answers import note_message
from perdure.kernel.agent.ports import AgentTool, Ask, Guard, Model, Tell
from perdure.kernel.agent.state import Bounds
from perdure.kernel.context import InMemory, Ladder, Ledger, Original, Projection, Settings, Summarize
from perdure.kernel.messages import JsonObject, Message, Text, Tool, Transcript, text_of
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value

RECALL = Tool(
    name="recall",
    description=(
        "Gives back in full what was cleared, shortened or summarised to save context. "
        "The handle stands where the original was."
    ),
    schema={"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]},
)


@value
class Setup:
    """An agent's fixed parts, and the conversation that it goes on with."""

    system: tuple[Text, ...] | str = ()
    """The system blocks; they stay for the whole conversation."""
    tools: tuple[AgentTool, ...] = ()
    """They stay as well, in this order."""
    settings: Settings = field(default_factory=Settings)
    """Limits of the context engine."""
    bounds: Bounds = field(default_factory=Bounds)
    """Limits of each run."""
    guards: tuple[Guard, ...] = ()
    """Asked in order when the model wants to stop; the first objection counts."""
    session: str = ""
    """Name of the conversation, for a provider's cache."""
    longest_answer: int = 32_000
    """Tokens that an answer may have, where window and model allow."""
    tell: Tell | None = None
    """What the harness tells before a call; None: nothing."""
    ladder: Ladder | None = None
    """The rungs of the engine; None: all of them."""
    summarizer: Model | None = None
    """Writes summaries that do not extend the conversation's own request; None: the model itself."""
    summary_seconds: float | None = None
    """How long a model may take for a summary; None: as long as it wants. Then the next rung has to do."""
    transcript: Transcript = field(default_factory=Transcript)
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def blocks(self) -> tuple[Text, ...]:
        """The system blocks as values."""
        if isinstance(self.system, str):
            return (Text(text=self.system),) if self.system else ()
        return self.system

    @property
    def definitions(self) -> tuple[Tool, ...]:
        """The tools as the model is told of them."""
        return tuple(tool.definition for tool in self.tools)

    def question(self, projection: Projection, profile: ModelProfile, *, drop_block: bool) -> Ask:
        """What to ask next, still without marks."""
        most = (projection.max_tokens, profile.window.max_output, self.longest_answer)
        return Ask(
            messages=projection.view.messages,
            system=self.blocks,
            tools=self.definitions,
            max_tokens=min(limit for limit in most if limit is not None),
            session=self.session,
            drop_block=drop_block,
        )

    def request_to_summarise(self, need: Summarize, *, drop_block: bool) -> Ask:
        """What to ask for a narrative; it extends the conversation's own request where the engine wants that."""
        instruction = note_message("instruction", need.instruction, None)
        ask = Ask(messages=(*need.messages, instruction), max_tokens=need.max_tokens, session=self.session)
        if not need.extends:
            return ask
        drop = drop_block or bool(need.messages)
        return replace(ask, system=self.blocks, tools=self.definitions, drop_block=drop)

    def with_recall(self, memory: InMemory) -> Setup:
        """The same with a tool for what left the view; what the tools have under its name already is left alone."""
        wanted = self.settings.recall_tool
        if wanted is None or any(tool.definition.name == wanted for tool in self.tools):
            return self
        definition = Tool(name=wanted, description=RECALL.description, schema=RECALL.schema)
        tool = AgentTool(definition=definition, run=lambda given: recalled(memory, given), beside=True)
        return replace(self, tools=(*self.tools, tool))


def recalled(memory: InMemory, given: JsonObject) -> str:
    """The original under a handle, as text.

    Raises:
        LookupError: nothing left the view under that handle.
    """
    handle = given.get("handle")
    original = memory.archive.get(handle) if isinstance(handle, str) else None
    if original is None:
        raise LookupError(f"nothing is kept under {handle!r}; handles stand where something was left out")
    return _readable(original)


def _readable(original: Original) -> str:
    told = [text_of(original.content), *(f"[{message.role}] {_told(message)}" for message in original.messages)]
    return "\n\n".join(part for part in told if part)


def _told(message: Message) -> str:
    calls = [f"(called {call.name})" for call in message.tool_uses]
    return "\n".join(part for part in (text_of(message.content), *calls) if part)
