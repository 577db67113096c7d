"""The originals that a log tells of, for an index that has to be made anew.

It knows which part of a message each kind of edit takes out of a view. It must never know an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.context import (
    Checkpoint,
    ClearThinking,
    ClearToolInput,
    ClearToolResult,
    Edit,
    NativeCheckpoint,
    Original,
    ReduceOutput,
    Revert,
    TrimText,
)
from perdure.kernel.messages import Block, Message, RedactedThinking, Thinking, Transcript
from perdure.log import SessionLog, state_of


def originals_in(log: SessionLog) -> list[Original]:
    """What the edits on a log's branch took out of the view, in their order. Those without a trace are left out.

    Raises:
        LogDamaged: an entry cannot be read.
    """
    state = state_of(log)
    found: list[Original] = []
    start = 0
    starts: dict[str, int] = {}
    for edit in state.ledger:
        if isinstance(edit, Revert):
            start = min(start, starts.get(edit.edit_id, start))
        elif isinstance(edit, Checkpoint | NativeCheckpoint):
            end = state.transcript.index_of(edit.covers_until)
            if end is not None:
                starts[edit.id] = start
                found.append(_folded(edit, state.transcript[start : end + 1]))
                start = end + 1
        elif (original := _light(edit, state.transcript)) is not None:
            found.append(original)
    return found


def _folded(edit: Checkpoint | NativeCheckpoint, messages: Sequence[Message]) -> Original:
    first = messages[0].id if messages else edit.covers_until
    return Original(
        handle=edit.handle,
        message_id=edit.covers_until,
        what=f"messages {first} to {edit.covers_until}",
        tokens=edit.saved,
        messages=tuple(messages),
    )


def _light(edit: Edit, transcript: Transcript) -> Original | None:
    match edit:
        case ReduceOutput() | ClearToolResult() | ClearToolInput() | ClearThinking() | TrimText():
            place = transcript.index_of(edit.message_id)
            if place is None:
                return None
            content = _taken(edit, transcript[place])
            if not content:
                return None
            what = "thinking of an earlier turn" if isinstance(edit, ClearThinking) else f"part of {edit.message_id}"
            return Original(
                handle=edit.handle, message_id=edit.message_id, what=what, tokens=edit.saved, content=content
            )
        case _:
            return None


def _taken(edit: Edit, message: Message) -> tuple[Block, ...]:
    match edit:
        case ReduceOutput() | ClearToolResult():
            return tuple(result for result in message.tool_results if result.tool_use_id == edit.tool_use_id)
        case ClearToolInput():
            return tuple(use for use in message.tool_uses if use.id == edit.tool_use_id)
        case ClearThinking():
            return tuple(block for block in message.content if isinstance(block, Thinking | RedactedThinking))
        case TrimText(block=place):
            return message.content[place : place + 1]
        case _:
            return ()
