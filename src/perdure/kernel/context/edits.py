"""Edits: what the model no longer sees, and what it sees instead.

It knows the kinds of edits and that every edit holds its final content. It must never know why an edit was planned
beyond the words that it carries for people: `render` runs no strategy, so the same edits give the same bytes for ever.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.context.checkpoint.document import CheckpointDocument
from perdure.kernel.messages import Compaction, JsonObject, Message
from perdure.kernel.value import value

Rung: TypeAlias = Literal[
    "entry_reduction",
    "tool_result_microcompact",
    "light_trim",
    "session_memory",
    "full_summary",
    "extractive",
    "native",
    "editing",
    "asked",
]
"""What planned an edit: a rung of the ladder, reduction at entry, the provider's own feature, provider-style context
editing, or a person."""

Why: TypeAlias = Literal[
    "entry", "cold", "clear_point", "fold_point", "threshold", "overflow", "asked", "bound_thinking"
]
"""What made the engine act."""

Outcome: TypeAlias = Literal["model_failed", "model_succeeded", "skipped", "no_progress"]
"""How an attempt ended that changed nothing by itself."""


@value
class Reason:
    """Why an edit was made and what it was expected to bring; the same for all edits of one batch."""

    rung: Rung
    why: Why
    at: int
    """Length of the transcript when the edit was planned; it orders edits among messages."""
    time: float | None
    """The `now` of the entry that planned it, in seconds since the epoch."""
    batch: str
    """Names the edits that were planned together."""


@value
class ReduceOutput:
    """A large tool output, already reduced before its first send."""

    id: str
    reason: Reason
    message_id: str
    tool_use_id: str
    content: str
    handle: str
    """Recalls the original."""
    saved: int
    """Tokens that the view became smaller by."""


@value
class ClearToolResult:
    """An old tool result, replaced by a placeholder."""

    id: str
    reason: Reason
    message_id: str
    tool_use_id: str
    content: str
    handle: str
    saved: int


@value
class ClearToolInput:
    """The arguments of an old call, replaced by smaller ones."""

    id: str
    reason: Reason
    message_id: str
    tool_use_id: str
    input: JsonObject
    handle: str
    saved: int


@value
class ClearThinking:
    """All thinking of one message, removed; never a part of it, and never brought back."""

    id: str
    reason: Reason
    message_id: str
    handle: str
    saved: int


@value
class TrimText:
    """A long text block, shortened in its middle."""

    id: str
    reason: Reason
    message_id: str
    block: int
    """Position of the block in the message's content as the transcript holds it."""
    content: str
    handle: str
    saved: int


@value
class Checkpoint:
    """A folded prefix of the transcript: everything up to one message, told again in one `ContextSummary`."""

    id: str
    reason: Reason
    covers_until: str
    """Id of the last message that is folded."""
    content: str
    """The text of the summary message, final."""
    document: CheckpointDocument
    """What the text says, typed, so that the next checkpoint updates it instead of parsing it."""
    after: tuple[Message, ...] = ()
    """Told again directly behind the summary: parts, skills, deferred tools, restored files."""
    provisional: bool = False
    """Added by `project`: like a committed one in everything, but without a compaction entry in the session."""
    split_turn: bool = False
    """Whether the cut lies inside a turn."""
    handle: str
    """Recalls the folded messages."""
    tokens_before: int
    """Size of the request that it was made for."""
    saved: int


@value
class NativeCheckpoint:
    """The same, with a provider's compaction block as its body."""

    id: str
    reason: Reason
    covers_until: str
    block: Compaction
    document: CheckpointDocument
    """The code-owned sections, so that a later checkpoint of ours has them: the block itself may be unreadable."""
    after: tuple[Message, ...] = ()
    provisional: bool = False
    handle: str
    tokens_before: int
    saved: int


@value
class Commit:
    """A provisional checkpoint became the baseline."""

    id: str
    reason: Reason
    edit_id: str


@value
class PrefixChange:
    """Tools, system blocks or the model changed, and with them every cached byte behind."""

    id: str
    reason: Reason
    part: Literal["tools", "system", "model"]
    overhead: int
    """Tokens of tools and system blocks from now on."""
    rewritten: int
    """Tokens that the next request writes again because of it."""


@value
class Revert:
    """Takes an edit back."""

    id: str
    reason: Reason
    edit_id: str


@value
class Attempt:
    """Something that was tried and changed nothing, kept so that breaker and progress guard survive a restart."""

    id: str
    reason: Reason
    outcome: Outcome
    detail: str
    """For people: which failure, or how little was freed."""
    rests_until: int = 0
    """For `no_progress`: tokens of the whole transcript before which this rung is not tried again."""


LightEdit: TypeAlias = ReduceOutput | ClearToolResult | ClearToolInput | ClearThinking | TrimText
AnyCheckpoint: TypeAlias = Checkpoint | NativeCheckpoint
Edit: TypeAlias = LightEdit | AnyCheckpoint | Commit | PrefixChange | Revert | Attempt

LIGHT_EDITS = (ReduceOutput, ClearToolResult, ClearToolInput, ClearThinking, TrimText)
"""The classes of `LightEdit`, for `isinstance`."""

Target: TypeAlias = tuple[str, str]
"""Where a light edit applies: a message id, and within it `result:ID`, `input:ID`, `thinking` or `text:N`."""


def target_of(edit: LightEdit) -> Target:
    """The target of a light edit; of several edits with one target the last wins."""
    match edit:
        case ReduceOutput() | ClearToolResult():
            return edit.message_id, f"result:{edit.tool_use_id}"
        case ClearToolInput():
            return edit.message_id, f"input:{edit.tool_use_id}"
        case ClearThinking():
            return edit.message_id, "thinking"
        case TrimText():
            return edit.message_id, f"text:{edit.block}"
