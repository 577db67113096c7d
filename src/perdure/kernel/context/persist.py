"""Edits as JSON objects that a log keeps, and back: equal, whatever kind.

It knows every field of every kind of edit. It must never know a file. A checkpoint stays a typed value on its way, so
that the next one continues from it and never from parsed text.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.kernel.context.checkpoint.document import CheckpointDocument, from_json, to_json
from perdure.kernel.context.edits import (
    Attempt,
    Checkpoint,
    ClearThinking,
    ClearToolInput,
    ClearToolResult,
    Commit,
    Edit,
    NativeCheckpoint,
    PrefixChange,
    Reason,
    ReduceOutput,
    Revert,
    TrimText,
)
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Compaction, Json, JsonObject
from perdure.kernel.messages.fields import Fields
from perdure.kernel.messages.persist import block_from_json, block_to_json, message_from_json, message_to_json


def edit_to_json(edit: Edit) -> JsonObject:
    """The edit as a JSON object with a `kind` of its own, which `edit_from_json` turns back into an equal one."""
    return {"kind": _KINDS[type(edit)], "id": edit.id, "reason": _reason_to_json(edit.reason), **_told(edit)}


def edit_from_json(given: Json) -> Edit:
    """The edit that `edit_to_json` wrote.

    Raises:
        InvalidJson: an unknown kind, or a field of another kind than it writes; the message names it.
    """
    fields = Fields(given, "the edit")
    kind = fields.text("kind")
    make = _MAKERS.get(kind)
    if make is None:
        raise InvalidJson(f"there is no edit of the kind {kind!r}; a newer version may have written it")
    return make(fields)


def _told(edit: Edit) -> JsonObject:
    """What one kind of edit holds beyond its id and reason."""
    match edit:
        case ReduceOutput() | ClearToolResult():
            return {
                "message_id": edit.message_id,
                "tool_use_id": edit.tool_use_id,
                "content": edit.content,
                "handle": edit.handle,
                "saved": edit.saved,
            }
        case ClearToolInput():
            return {
                "message_id": edit.message_id,
                "tool_use_id": edit.tool_use_id,
                "input": edit.input,
                "handle": edit.handle,
                "saved": edit.saved,
            }
        case ClearThinking():
            return {"message_id": edit.message_id, "handle": edit.handle, "saved": edit.saved}
        case TrimText():
            return {
                "message_id": edit.message_id,
                "block": edit.block,
                "content": edit.content,
                "handle": edit.handle,
                "saved": edit.saved,
            }
        case Checkpoint() | NativeCheckpoint():
            return _checkpoint_to_json(edit)
        case Commit() | Revert():
            return {"edit_id": edit.edit_id}
        case PrefixChange():
            return {"part": edit.part, "overhead": edit.overhead, "rewritten": edit.rewritten}
        case Attempt():
            return {"outcome": edit.outcome, "detail": edit.detail, "rests_until": edit.rests_until}


def _checkpoint_to_json(edit: Checkpoint | NativeCheckpoint) -> JsonObject:
    body: JsonObject = (
        {"content": edit.content, "split_turn": edit.split_turn}
        if isinstance(edit, Checkpoint)
        else {"block": block_to_json(edit.block)}
    )
    return {
        "covers_until": edit.covers_until,
        **body,
        "document": to_json(edit.document),
        "after": [message_to_json(message) for message in edit.after],
        "provisional": edit.provisional,
        "handle": edit.handle,
        "tokens_before": edit.tokens_before,
        "saved": edit.saved,
    }


def _reason_to_json(reason: Reason) -> JsonObject:
    return {"rung": reason.rung, "why": reason.why, "at": reason.at, "time": reason.time, "batch": reason.batch}


def _reason(fields: Fields) -> Reason:
    inner = Fields(fields.object("reason"), "'reason' of the edit")
    return Reason(
        rung=inner.one_of(
            "rung",
            "entry_reduction",
            "tool_result_microcompact",
            "light_trim",
            "session_memory",
            "full_summary",
            "extractive",
            "native",
            "editing",
            "asked",
        ),
        why=inner.one_of(
            "why", "entry", "cold", "clear_point", "fold_point", "threshold", "overflow", "asked", "bound_thinking"
        ),
        at=inner.number("at"),
        time=inner.time("time"),
        batch=inner.text("batch"),
    )


def _reduce_output(fields: Fields) -> ReduceOutput:
    return ReduceOutput(
        id=fields.text("id"),
        reason=_reason(fields),
        message_id=fields.text("message_id"),
        tool_use_id=fields.text("tool_use_id"),
        content=fields.text("content"),
        handle=fields.text("handle"),
        saved=fields.number("saved"),
    )


def _clear_tool_result(fields: Fields) -> ClearToolResult:
    return ClearToolResult(
        id=fields.text("id"),
        reason=_reason(fields),
        message_id=fields.text("message_id"),
        tool_use_id=fields.text("tool_use_id"),
        content=fields.text("content"),
        handle=fields.text("handle"),
        saved=fields.number("saved"),
    )


def _clear_tool_input(fields: Fields) -> ClearToolInput:
    return ClearToolInput(
        id=fields.text("id"),
        reason=_reason(fields),
        message_id=fields.text("message_id"),
        tool_use_id=fields.text("tool_use_id"),
        input=fields.object("input"),
        handle=fields.text("handle"),
        saved=fields.number("saved"),
    )


def _clear_thinking(fields: Fields) -> ClearThinking:
    return ClearThinking(
        id=fields.text("id"),
        reason=_reason(fields),
        message_id=fields.text("message_id"),
        handle=fields.text("handle"),
        saved=fields.number("saved"),
    )


def _trim_text(fields: Fields) -> TrimText:
    return TrimText(
        id=fields.text("id"),
        reason=_reason(fields),
        message_id=fields.text("message_id"),
        block=fields.number("block"),
        content=fields.text("content"),
        handle=fields.text("handle"),
        saved=fields.number("saved"),
    )


def _checkpoint(fields: Fields) -> Checkpoint:
    return Checkpoint(
        id=fields.text("id"),
        reason=_reason(fields),
        covers_until=fields.text("covers_until"),
        content=fields.text("content"),
        document=_document(fields),
        after=fields.each("after", message_from_json),
        provisional=fields.truth("provisional"),
        split_turn=fields.truth("split_turn"),
        handle=fields.text("handle"),
        tokens_before=fields.number("tokens_before"),
        saved=fields.number("saved"),
    )


def _native_checkpoint(fields: Fields) -> NativeCheckpoint:
    block = block_from_json(fields.value("block"))
    return NativeCheckpoint(
        id=fields.text("id"),
        reason=_reason(fields),
        covers_until=fields.text("covers_until"),
        block=block if isinstance(block, Compaction) else fields.refuse("block", "a block of compaction"),
        document=_document(fields),
        after=fields.each("after", message_from_json),
        provisional=fields.truth("provisional"),
        handle=fields.text("handle"),
        tokens_before=fields.number("tokens_before"),
        saved=fields.number("saved"),
    )


def _document(fields: Fields) -> CheckpointDocument:
    return from_json(fields.object("document"))


def _prefix_change(fields: Fields) -> PrefixChange:
    return PrefixChange(
        id=fields.text("id"),
        reason=_reason(fields),
        part=fields.one_of("part", "tools", "system", "model"),
        overhead=fields.number("overhead"),
        rewritten=fields.number("rewritten"),
    )


def _attempt(fields: Fields) -> Attempt:
    return Attempt(
        id=fields.text("id"),
        reason=_reason(fields),
        outcome=fields.one_of("outcome", "model_failed", "model_succeeded", "skipped", "no_progress"),
        detail=fields.text("detail"),
        rests_until=fields.number("rests_until"),
    )


_KINDS: dict[type[Edit], str] = {
    ReduceOutput: "reduce_output",
    ClearToolResult: "clear_tool_result",
    ClearToolInput: "clear_tool_input",
    ClearThinking: "clear_thinking",
    TrimText: "trim_text",
    Checkpoint: "checkpoint",
    NativeCheckpoint: "native_checkpoint",
    Commit: "commit",
    PrefixChange: "prefix_change",
    Revert: "revert",
    Attempt: "attempt",
}

_MAKERS: dict[str, Callable[[Fields], Edit]] = {
    "reduce_output": _reduce_output,
    "clear_tool_result": _clear_tool_result,
    "clear_tool_input": _clear_tool_input,
    "clear_thinking": _clear_thinking,
    "trim_text": _trim_text,
    "checkpoint": _checkpoint,
    "native_checkpoint": _native_checkpoint,
    "commit": lambda fields: Commit(id=fields.text("id"), reason=_reason(fields), edit_id=fields.text("edit_id")),
    "prefix_change": _prefix_change,
    "revert": lambda fields: Revert(id=fields.text("id"), reason=_reason(fields), edit_id=fields.text("edit_id")),
    "attempt": _attempt,
}
