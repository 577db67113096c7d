"""Rendering: transcript and ledger in, view out.

It knows what each kind of edit does to the messages. It must never run a strategy, ask a clock or count tokens: the
same transcript and ledger give the same view, after a resume, a fork or a retry, on any machine. A `Renderer` remembers
its last view and extends it while the ledger stands still; that this equals a fresh `render` is a property test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from perdure.kernel.context.edits import (
    AnyCheckpoint,
    Checkpoint,
    ClearToolInput,
    ClearToolResult,
    LightEdit,
    NativeCheckpoint,
    ReduceOutput,
    TrimText,
)
from perdure.kernel.context.ledger import InForce, Ledger
from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Block,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
)
from perdure.kernel.value import value
from perdure.kernel.wire.responses import unpaired


@value
class View:
    """What the model is shown: messages as edited, in order."""

    messages: Transcript
    head: int
    """How many leading messages of system or developer are fixed overhead; no edit touches them."""
    summary: int | None
    """Position of the checkpoint's message, or None where nothing is folded."""
    tail: int
    """Position in the view of the first message behind checkpoint and `after`."""
    tail_start: int
    """Position in the transcript of that same message."""


def render(transcript: Transcript, ledger: Ledger) -> View:
    """The view of a transcript under a ledger.

    Raises:
        InvalidMessage: a checkpoint covers a message that the transcript does not hold.
    """
    return _render(transcript, ledger.in_force, render_message, opening_of)


def _render(
    transcript: Transcript,
    in_force: InForce,
    shown: Callable[[Message, InForce], Message | None],
    opened: Callable[[AnyCheckpoint | None], tuple[Message, ...]],
) -> View:
    head = head_of(transcript)
    start = _tail_start(transcript, in_force.checkpoint, head)
    opening = transcript[:head] + opened(in_force.checkpoint)
    tail = (rendered for message in transcript[start:] if (rendered := shown(message, in_force)) is not None)
    return View(
        messages=Transcript((*opening, *tail)),
        head=head,
        summary=head if in_force.checkpoint else None,
        tail=len(opening),
        tail_start=start,
    )


class Renderer:
    """Renders one growing session: equal to `render`, in the time of what is new."""

    def __init__(self) -> None:
        self._in_force: InForce | None = None
        self._seen = 0
        self._last: Message | None = None
        self._view: View | None = None
        self._edited: dict[str, tuple[Message, tuple[LightEdit, ...], Message | None]] = {}
        self._opening: tuple[AnyCheckpoint | None, tuple[Message, ...]] = (None, ())

    def view(self, transcript: Transcript, ledger: Ledger) -> View:
        """The view of a transcript under a ledger.

        Raises:
            InvalidMessage: a checkpoint covers a message that the transcript does not hold.
        """
        view = self._extended(transcript, ledger)
        if view is None:
            view = _render(transcript, ledger.in_force, self._message, self._opened)
        self._in_force, self._seen, self._view = ledger.in_force, len(transcript), view
        self._last = transcript[-1] if len(transcript) else None
        return view

    def _extended(self, transcript: Transcript, ledger: Ledger) -> View | None:
        """The remembered view with the new messages behind it, if that is all that happened."""
        view = self._view
        if view is None or ledger.in_force is not self._in_force or len(transcript) < self._seen:
            return None
        if self._seen <= view.head or transcript[self._seen - 1] is not self._last:
            return None
        in_force = ledger.in_force
        new = (self._message(message, in_force) for message in transcript[self._seen :])
        return replace(view, messages=view.messages.append(*(message for message in new if message is not None)))

    def _message(self, message: Message, in_force: InForce) -> Message | None:
        """An edited message is the same value as long as its edits are: what is kept with it, such as its encoding and
        its place in the cache's chain, then outlives the edits of others."""
        lights = in_force.lights.get(message.id)
        if lights is None:
            return message
        edits = tuple(lights.values())
        known = self._edited.get(message.id)
        if known is None or known[0] is not message or known[1] != edits:
            known = self._edited[message.id] = (message, edits, render_message(message, in_force))
        return known[2]

    def _opened(self, checkpoint: AnyCheckpoint | None) -> tuple[Message, ...]:
        if checkpoint is not self._opening[0]:
            self._opening = (checkpoint, opening_of(checkpoint))
        return self._opening[1]


def head_of(transcript: Transcript) -> int:
    """How many messages at the beginning are of system or developer, and so belong to the fixed overhead."""
    for index, message in enumerate(transcript):
        if message.role not in ("system", "developer"):
            return index
    return len(transcript)


def opening_of(checkpoint: AnyCheckpoint | None) -> tuple[Message, ...]:
    """What stands in the place of the folded prefix: the summary's message, and what is told again behind it."""
    match checkpoint:
        case None:
            return ()
        case Checkpoint():
            body: Block = Text(text=checkpoint.content)
            role = "user"
        case NativeCheckpoint():
            body = checkpoint.block
            role = "assistant"
    summary = Message(
        id=f"checkpoint-{checkpoint.id}",
        role=role,
        content=(body,),
        provenance="harness",
        time=checkpoint.reason.time,
    )
    return (summary, *checkpoint.after)


def render_message(message: Message, in_force: InForce) -> Message | None:
    """One message as edited, or None where the edits leave nothing of it."""
    edits = in_force.lights.get(message.id)
    if edits is None:
        return message
    content = tuple(
        block
        for index, given in enumerate(message.content)
        if (block := _render_block(given, index, edits)) is not None
    )
    if content == message.content:
        return message
    if "thinking" in edits:
        content = unpaired(content)
    return replace(message, content=content, plain=message.plain and len(content) == 1) if content else None


def _render_block(block: Block, index: int, edits: Mapping[str, LightEdit]) -> Block | None:
    match block:
        case ToolResult():
            match edits.get(f"result:{block.tool_use_id}"):
                case ReduceOutput(content=content) | ClearToolResult(content=content):
                    return replace(block, content=content)
                case _:
                    return block
        case ToolUse():
            match edits.get(f"input:{block.id}"):
                case ClearToolInput(input=given):
                    return replace(block, input=given, raw_input=None)
                case _:
                    return block
        case Thinking() | RedactedThinking():
            return None if "thinking" in edits else block
        case Text():
            match edits.get(f"text:{index}"):
                case TrimText(content=content):
                    return replace(block, text=content)
                case _:
                    return block
        case _:
            return block


def _tail_start(transcript: Transcript, checkpoint: AnyCheckpoint | None, head: int) -> int:
    if checkpoint is None:
        return head
    last = transcript.index_of(checkpoint.covers_until)
    if last is None:
        raise InvalidMessage(
            f"the checkpoint {checkpoint.id!r} covers up to the message {checkpoint.covers_until!r}, "
            f"which this transcript does not hold; it belongs to another session or branch"
        )
    return max(head, last + 1)
