"""What happens in a run, as one stream of values: for a terminal, JSON output, a log, telemetry.

It knows what is told. It must never know who listens. Every event has a `name`, its word on a wire.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from perdure.kernel.agent.ports import Failure
from perdure.kernel.agent.state import EndState
from perdure.kernel.cache import Reading
from perdure.kernel.context import Projection, Rung
from perdure.kernel.errors import PerdureError
from perdure.kernel.messages import Message, ToolResult, ToolUse, Usage
from perdure.kernel.value import value
from perdure.kernel.wire import Delta

CompactionKind: TypeAlias = Literal["micro", "trim", "full", "memory"]

KINDS: dict[Rung, CompactionKind] = {
    "entry_reduction": "micro",
    "tool_result_microcompact": "micro",
    "editing": "micro",
    "asked": "micro",
    "light_trim": "trim",
    "session_memory": "memory",
    "full_summary": "full",
    "extractive": "full",
    "native": "full",
}
"""What people call a rewrite, by the rung that made it."""


@value
class AgentStart:
    """A run begins."""

    name: ClassVar[str] = "agent_start"
    model: str


@value
class TurnStart:
    """The model is about to be called."""

    name: ClassVar[str] = "turn_start"
    number: int
    """Counted from 1 in each run."""
    tokens: int
    """Estimated size of the request."""


@value
class MessageDelta:
    """A piece of the answer arrived."""

    name: ClassVar[str] = "message_delta"
    delta: Delta


@value
class MessageEnd:
    """A message is part of the conversation now."""

    name: ClassVar[str] = "message_end"
    message: Message


@value
class ToolStart:
    """A call begins to run."""

    name: ClassVar[str] = "tool_start"
    call: ToolUse


@value
class ToolEnd:
    """A call ended."""

    name: ClassVar[str] = "tool_end"
    call: ToolUse
    result: ToolResult


@value
class CompactionStart:
    """The view is being rewritten: told of every rewrite that changed something, of one that somebody asked for, and
    of one that a model writes a summary for, before it does."""

    name: ClassVar[str] = "compaction_start"
    reason: str
    """As that of the end; `asked`, and `summary` while nobody knows yet what comes of it."""


@value
class CompactionEnd:
    """A rewrite is done."""

    name: ClassVar[str] = "compaction_end"
    reason: str
    kind: CompactionKind | None
    """None where nothing changed, which only a rewrite tells that was asked for or had a summary written."""
    tokens_before: int
    tokens_after: int
    compacted: int = 0
    """Messages that were folded."""
    kept: int = 0
    """Messages that are still shown."""
    split_turn: bool = False

    @property
    def changed(self) -> bool:
        """Whether the view moved."""
        return self.kind is not None


@value
class UsageSeen:
    """The provider counted."""

    name: ClassVar[str] = "usage"
    usage: Usage
    predicted_read: int
    """Tokens that should have come from the cache, by the cache model."""
    usd: float | None
    """Price of this call; None where nobody publishes one."""
    purpose: Literal["answer", "summary"] = "answer"


@value
class CacheBreak:
    """The provider read less from its cache than before."""

    name: ClassVar[str] = "cache_break"
    reading: Reading
    where: str
    """The first part that changed, such as `tools`, `system[1]`, `messages[12].content[0]`; empty where none did."""
    byte: int | None
    """Where the two bodies first differ, in bytes without marks; None where the later one extends the earlier."""


@value
class Reminder:
    """The harness told the model something."""

    name: ClassVar[str] = "reminder"
    text: str


@value
class Trouble:
    """Something failed."""

    name: ClassVar[str] = "error"
    failure: Failure
    retry_in: float | None
    """Seconds until the next try; None where there is none."""
    void: bool = False
    """Deltas that were given out since the turn began are void."""


@value
class AgentEnd:
    """A run is over, in a state that has a name."""

    name: ClassVar[str] = "agent_end"
    state: EndState
    answer: str
    """Text of the last answer."""
    turns: int
    tokens: int
    """Prompts and answers of the run together."""
    usd: float | None
    """What is known of the price; None where nothing is."""
    failure: Failure | None = None
    error: PerdureError | None = None
    """`Infeasible` or `Overflow` with their numbers, where the context is the reason."""


Event: TypeAlias = (
    AgentStart
    | TurnStart
    | MessageDelta
    | MessageEnd
    | ToolStart
    | ToolEnd
    | CompactionStart
    | CompactionEnd
    | UsageSeen
    | CacheBreak
    | Reminder
    | Trouble
    | AgentEnd
)


def outcome_of(projection: Projection, reason: str) -> CompactionEnd:
    """What an entry of the engine did to the view."""
    rung = projection.strategy
    return CompactionEnd(
        reason=projection.why or reason,
        kind=KINDS[rung] if rung is not None else None,
        tokens_before=projection.tokens_before,
        tokens_after=projection.tokens_after,
        compacted=projection.compacted_count,
        kept=projection.kept_count,
        split_turn=projection.split_turn,
    )
