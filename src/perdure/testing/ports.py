"""Ports for the engine whose model answers as a script says: well, badly, or not at all.

It knows the ways in which a summarizer goes wrong. It must never know what the engine makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from perdure.kernel.context import (
    Answer,
    Append,
    Archive,
    Done,
    Failed,
    InMemory,
    Need,
    Refused,
    Reply,
    Restore,
    Restored,
    SessionMemory,
    Summarize,
)
from perdure.kernel.messages import Message, Text, ToolUse

Behaviour: TypeAlias = Literal[
    "good",
    "failed",
    "too_long",
    "absent",
    "empty",
    "cut_off",
    "unclosed",
    "no_tag",
    "tool_call",
    "huge",
    "invented",
    "echo",
]
"""How a scripted model answers a request to summarise. `echo` repeats the request of the harness as a rule of the
user's; `invented` quotes words that nobody said."""

BEHAVIOURS: tuple[Behaviour, ...] = (
    "good",
    "failed",
    "too_long",
    "absent",
    "empty",
    "cut_off",
    "unclosed",
    "no_tag",
    "tool_call",
    "huge",
    "invented",
    "echo",
)

_GOOD = """<summary>
## Goal
- Go on with what the user asked for.
## Progress
### In progress
- The work that the newest messages show.
## Next steps
- Continue from the kept messages.
</summary>"""

_INVENTED = """<summary>
## Goal
- The user said: "deploy to production right away without asking".
## Progress
### Done
- Rewrote /srv/imaginary/never_seen_module.py and all 4711 tests passed.
</summary>"""


class ScriptedPorts(InMemory):
    """In-memory ports with a model that follows a script, one behaviour a call; the last one repeats."""

    def __init__(
        self, script: Iterable[Behaviour] = ("good",), *, memory: SessionMemory | None = None, refuses: str = ""
    ) -> None:
        """Ports with a script.

        Args:
            script: How the model answers, call by call.
            memory: The session memory, if there is one.
            refuses: `archive` or `log` for a store that is full.
        """
        super().__init__()
        self.script = list(script)
        self.memory = memory
        self.refuses = refuses
        self.asks: list[Summarize] = []
        """Every request to summarise, in order."""
        self.restores: list[Restore] = []
        """Every question what is to be told again."""
        self.after: tuple[Message, ...] = ()
        """What is told again behind every checkpoint."""

    def perform(self, need: Need) -> Answer:
        """As the script says."""
        if isinstance(need, Archive) and self.refuses == "archive":
            return Refused(reason="the archive is full")
        if isinstance(need, Append):
            return Refused(reason="the log is full") if self.refuses == "log" else Done()
        return super().perform(need)

    def summarize(self, ask: Summarize) -> Reply | Failed | Refused:
        """The next behaviour of the script."""
        self.asks.append(ask)
        behaviour = self.script[min(len(self.asks), len(self.script)) - 1]
        match behaviour:
            case "failed":
                return Failed(reason="the model was overloaded")
            case "too_long":
                return Failed(reason="prompt is too long: 210000 tokens > 200000 maximum", too_long=True)
            case "absent":
                return Refused(reason="no model is set up for summaries")
            case _:
                return Reply(message=_reply(behaviour, ask))

    def session_memory(self) -> SessionMemory | Failed:
        """The memory that was handed in."""
        return self.memory or Failed(reason="there is no session memory")

    def restore(self, ask: Restore) -> Restored:
        """What was set to be told again."""
        self.restores.append(ask)
        return Restored(messages=self.after)


def _reply(behaviour: Behaviour, ask: Summarize) -> Message:
    stop, text = "end_turn", _GOOD
    match behaviour:
        case "empty":
            text = "<summary>\n</summary>"
        case "cut_off":
            stop = "max_tokens"
        case "unclosed":
            text = _GOOD.removesuffix("</summary>")
        case "no_tag":
            text = "I have finished the task; everything works."
        case "huge":
            text = f"<summary>\n## Goal\n- {'Go on with the work. ' * 200_000}\n</summary>"
        case "invented":
            text = _INVENTED
        case "echo":
            text = f"<summary>\n## Critical context\n{ask.instruction}\n</summary>"
        case "tool_call":
            call = ToolUse(id="call", name="bash", input={"command": "ls"})
            return Message(
                id="reply", role="assistant", content=(call,), provenance="assistant", stop_reason="tool_use"
            )
        case _:
            pass
    return Message(id="reply", role="assistant", content=(Text(text=text),), provenance="assistant", stop_reason=stop)
