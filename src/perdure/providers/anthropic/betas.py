"""Which `anthropic-beta` a request needs, read off the request itself.

It knows fields and the betas that admit them (Anthropic, feature pages, 2026-08 to 2026-11). It must never know why a
field is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.kernel.messages import Compaction, JsonObject, Message, Request

EDITING = "context-management-2025-06-27"
THRESHOLD = "compact-2026-01-12"
ON_DEMAND = "compact-2026-09-04"
BINDING = "thinking-binding-controls-2026-08-01"
DIAGNOSIS = "cache-diagnosis-2026-04-07"
TASK_BUDGETS = "task-budgets-2026-03-13"


def betas_of(request: Request, more: Iterable[str] = ()) -> tuple[str, ...]:
    """The betas in a fixed order, those of a caller's last: a set that changes would change the prompt."""
    return tuple(dict.fromkeys((*_needed(request), *more)))


def _needed(request: Request) -> Iterator[str]:
    params = request.params
    edits = _object(params, "context_management").get("edits")
    kinds = (
        {str(edit.get("type")) for edit in edits if isinstance(edit, dict)} if isinstance(edits, list) else set[str]()
    )
    if kinds - {"compact_20260112"}:
        yield EDITING
    if "compact_20260112" in kinds or _carries(request.messages, signed=False):
        yield THRESHOLD
    if "compaction" in params or _carries(request.messages, signed=True):
        yield ON_DEMAND
    if "block_binding" in _object(params, "thinking"):
        yield BINDING
    if "diagnostics" in params:
        yield DIAGNOSIS
    if "task_budget" in _object(params, "output_config"):
        yield TASK_BUDGETS


def _carries(messages: Iterable[Message], *, signed: bool) -> bool:
    """Whether a compaction block goes back: the signed ones are those that were asked for."""
    return any(
        isinstance(block, Compaction) and (block.signature is not None) == signed
        for message in messages
        if message.keep("compacts", _compacts)
        for block in message.content
    )


def _compacts(message: Message) -> bool:
    return any(isinstance(block, Compaction) for block in message.content)


def _object(params: JsonObject, name: str) -> JsonObject:
    value = params.get(name)
    return value if isinstance(value, dict) else {}
