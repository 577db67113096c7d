"""Server-side context editing: the rules of its request field, and the edits themselves.

It knows tool results and thinking. It must never store anything: like the real API it decides again on each request,
from the whole history. That thinking comes first is documented; that compaction comes last is unverified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import EDITING, THRESHOLD, Asked
from perdure.testing.doubles.anthropic.thinking import KINDS
from perdure.testing.doubles.shape import Body, body_of, content_blocks, items, number

PLACEHOLDER = "[tool result removed]"
"""The real text is not published (unverified)."""

_FIELDS: Mapping[str, frozenset[str]] = {
    "clear_tool_uses_20250919": frozenset(
        {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"}
    ),
    "clear_thinking_20251015": frozenset({"type", "keep"}),
    "compact_20260112": frozenset({"type", "trigger", "pause_after_compaction", "instructions"}),
}


def check_edits(asked: Asked) -> Iterator[str]:
    """Every edit is known, allowed by its beta, once, in order. Wordings beyond the validator are unverified."""
    config = body_of(asked.body.get("context_management"))
    for name in config.keys() - {"edits"}:
        yield f"context_management.{name}: Extra inputs are not permitted"
    kinds = [str(edit.get("type")) for edit in asked.edits]
    for i, (kind, edit) in enumerate(zip(kinds, asked.edits, strict=True)):
        path = f"context_management.edits.{i}"
        needed = THRESHOLD if kind == "compact_20260112" else EDITING
        if kind not in _FIELDS or needed not in asked.betas:
            known = [name for name in _FIELDS if (THRESHOLD if name == "compact_20260112" else EDITING) in asked.betas]
            expected = ", ".join(repr(name) for name in sorted(known))
            yield f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
            continue
        for name in edit.keys() - _FIELDS[kind]:
            yield f"{path}.{kind}.{name}: Extra inputs are not permitted"
        yield from _EDIT_CHECKS[kind](f"{path}.{kind}", edit)
        if kind in kinds[:i]:
            yield f"context_management.edits: `{kind}` may appear only once"
    if "clear_thinking_20251015" in kinds[1:]:
        yield "context_management.edits: `clear_thinking_20251015` must be the first edit"
    if "compact_20260112" in kinds and not asked.model.compacts_at_threshold:
        yield "context_management.edits: `compact_20260112` is not supported for this model"


def check_thinking_edit(asked: Asked) -> Iterator[str]:
    """Thinking is cleared only where there is thinking."""
    clears = any(edit.get("type") == "clear_thinking_20251015" for edit in asked.edits)
    if clears and not asked.thinks:
        # Text as reported for requests with the edit and thinking off.
        yield "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"


def _amount(path: str, value: object, kinds: tuple[str, ...], minimum: int = 1) -> Iterator[str]:
    given = body_of(value)
    if given.get("type") not in kinds:
        expected = ", ".join(repr(kind) for kind in kinds)
        tag = given.get("type")
        yield f"{path}: Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
    elif (count := number(given.get("value"))) is None:
        yield f"{path}.{given['type']}.value: Input should be a valid integer"
    elif count < minimum:
        yield f"{path}.{given['type']}.value: Input should be greater than or equal to {minimum}"
    for name in given.keys() - {"type", "value"}:
        yield f"{path}.{name}: Extra inputs are not permitted"


def _check_clear_tools(path: str, edit: Body) -> Iterator[str]:
    if edit.get("trigger") is not None:
        yield from _amount(f"{path}.trigger", edit["trigger"], ("input_tokens", "tool_uses"))
    if edit.get("keep") is not None:
        # The least value is unverified; keeping none is taken to be legal.
        yield from _amount(f"{path}.keep", edit["keep"], ("tool_uses",), minimum=0)
    if edit.get("clear_at_least") is not None:
        yield from _amount(f"{path}.clear_at_least", edit["clear_at_least"], ("input_tokens",), minimum=0)
    if edit.get("exclude_tools") is not None and not _names(edit["exclude_tools"]):
        yield f"{path}.exclude_tools: Input should be a valid list"
    inputs = edit.get("clear_tool_inputs")
    if not (inputs is None or isinstance(inputs, bool) or _names(inputs)):
        yield f"{path}.clear_tool_inputs: Input should be a valid boolean"


def _check_clear_thinking(path: str, edit: Body) -> Iterator[str]:
    keep = edit.get("keep")
    if keep is None or keep == "all" or body_of(keep).get("type") == "all":
        return
    yield from _amount(f"{path}.keep", keep, ("thinking_turns", "all"))


def _check_compact(path: str, edit: Body) -> Iterator[str]:
    if edit.get("trigger") is not None:
        yield from _amount(f"{path}.trigger", edit["trigger"], ("input_tokens",), minimum=50_000)
    if not isinstance(edit.get("pause_after_compaction", False), bool):
        yield f"{path}.pause_after_compaction: Input should be a valid boolean"
    if not isinstance(edit.get("instructions") or "", str):
        yield f"{path}.instructions: Input should be a valid string"


_EDIT_CHECKS: Mapping[str, Callable[[str, Body], Iterator[str]]] = {
    "clear_tool_uses_20250919": _check_clear_tools,
    "clear_thinking_20251015": _check_clear_thinking,
    "compact_20260112": _check_compact,
}


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[object]", value))


@value
class Edited:
    """Messages as the model sees them, and what was done to them."""

    messages: list[Body]
    applied: tuple[Body, ...] = ()


def clear_thinking(asked: Asked, messages: list[Body]) -> tuple[list[Body], int]:
    """Remove old thinking, by the edit or as the model does by itself. Also returns how many turns the edit cleared."""
    edit = next((e for e in asked.edits if e.get("type") == "clear_thinking_20251015"), None)
    keep = None if edit is None else edit.get("keep")
    if keep == "all" or body_of(keep).get("type") == "all":
        return messages, 0
    if keep is not None:
        turns = [i for i, message in enumerate(messages) if _thinks(message)]
        old = turns[: -(number(body_of(keep).get("value")) or 1)]
        return [_without_thinking(m) if i in set(old) else m for i, m in enumerate(messages)], len(old)
    if asked.model.keeps_all_thinking:
        return messages, 0
    start = max((i for i, message in enumerate(messages) if _typed(message)), default=0)
    old = [i for i, message in enumerate(messages[:start]) if _thinks(message)]
    cleared = [_without_thinking(m) if i < start else m for i, m in enumerate(messages)]
    return cleared, len(old) if edit is not None else 0


def clear_tool_uses(edit: Body, messages: list[Body], tokens: Callable[[list[Body]], int]) -> Edited:
    """Replace the oldest tool results once the prompt exceeds the trigger."""
    trigger = body_of(edit.get("trigger")) or {"type": "input_tokens", "value": 100_000}
    before = tokens(messages)
    calls = _calls(messages)
    reached = len(calls) if trigger.get("type") == "tool_uses" else before
    keep = number(body_of(edit.get("keep")).get("value")) if edit.get("keep") is not None else 3
    excluded, names = set(items(edit.get("exclude_tools"))), _names_of_calls(messages)
    old = [call for call in calls[: max(0, len(calls) - (keep or 0))] if names.get(call) not in excluded]
    if reached <= (number(trigger.get("value")) or 0) or not old:
        return Edited(messages=messages)
    edited = _cleared(messages, set(old), edit.get("clear_tool_inputs"))
    saved = before - tokens(edited)
    if saved < (number(body_of(edit.get("clear_at_least")).get("value")) or 0):
        return Edited(messages=messages)
    applied = {
        "type": "clear_tool_uses_20250919",
        "cleared_tool_uses": len(old),
        "cleared_input_tokens": saved,
    }
    return Edited(messages=edited, applied=(applied,))


def _names_of_calls(messages: list[Body]) -> dict[str, str]:
    return {
        str(block.get("id")): str(block.get("name"))
        for message in messages
        for block in content_blocks(message.get("content"))
        if block.get("type") == "tool_use"
    }


def _calls(messages: list[Body]) -> list[str]:
    """Answered calls, oldest first. Server tools are left alone here (their results differ in form)."""
    return [
        str(block.get("tool_use_id"))
        for message in messages
        for block in content_blocks(message.get("content"))
        if block.get("type") == "tool_result"
    ]


def _cleared(messages: list[Body], calls: set[str], inputs: object) -> list[Body]:
    # A list of names is in the SDK's types; that it names tools is unverified.
    named = set(items(inputs))

    def clear(block: Body) -> Body:
        if block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
            return {**block, "content": PLACEHOLDER}
        chosen = inputs is True or block.get("name") in named
        if block.get("type") == "tool_use" and block.get("id") in calls and chosen:
            return {**block, "input": {}}
        return block

    return [{**m, "content": [clear(block) for block in content_blocks(m.get("content"))]} for m in messages]


def _thinks(message: Body) -> bool:
    blocks = content_blocks(message.get("content"))
    return message.get("role") == "assistant" and any(block.get("type") in KINDS for block in blocks)


def _typed(message: Body) -> bool:
    blocks = content_blocks(message.get("content"))
    return message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in blocks)


def _without_thinking(message: Body) -> Body:
    blocks = content_blocks(message.get("content"))
    return {**message, "content": [block for block in blocks if block.get("type") not in KINDS]}
