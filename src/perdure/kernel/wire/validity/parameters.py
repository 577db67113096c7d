"""What a request asks for beside its messages: marks, tools, thinking, native compaction, and what excludes what.

It knows Anthropic's tables of limits and combinations. It must never know how calls pair with results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from perdure.kernel.messages import (
    Block,
    Json,
    JsonObject,
    Mark,
    RedactedThinking,
    Request,
    Text,
    Thinking,
    Tool,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire.validity.facts import Facts
from perdure.kernel.wire.validity.faults import Fault, at

LOWEST_TRIGGER = 50_000
"""Input tokens (Anthropic, compaction guide, 2026-09)."""

_PARTS = {"tools": 0, "system": 1, "messages": 2}

T = TypeVar("T")


def parameter_faults(request: Request, facts: Sequence[Facts], profile: ModelProfile) -> Iterator[Fault]:
    """Faults of everything but the messages themselves, under Anthropic's rules."""
    for index, block in enumerate(request.system):
        if isinstance(block, Text) and not block.text.strip():
            yield Fault(kind="empty_text", where=f"system.{index}", message="system text blocks must be non-empty")
    yield from _mark_faults(request, profile)
    yield from _tool_faults(request, facts)
    yield from _thinking_faults(request.params, profile)
    yield from _edit_faults(request, facts)
    if _object(request.params, "compaction"):
        yield from _compaction_faults(request.params)


def _mark_faults(request: Request, profile: ModelProfile) -> Iterator[Fault]:
    automatic = _object(request.params, "cache_control")
    count = len(request.marks) + (1 if automatic else 0)
    allowed = profile.cache.max_marks
    if count > allowed:
        yield Fault(
            kind="too_many_marks",
            where="cache_control" if automatic else _place(request.marks[-1]),
            message=f"a maximum of {allowed} blocks with cache_control may be provided; found {count}",
        )
    short: Mark | None = None
    for mark in sorted(request.marks, key=_order):
        if mark.ttl != "1h":
            short = short or mark
        elif short is not None:
            yield Fault(
                kind="mark_order",
                where=_place(mark),
                message=f"a mark of one hour comes behind one of five minutes at {_place(short)}",
            )
        yield from _target_faults(request, mark)
    if automatic and request.messages:
        last = (len(request.messages) - 1, len(request.messages[-1].content) - 1)
        for mark in request.marks:
            wanted = automatic.get("ttl") or "5m"
            if mark.part == "messages" and (mark.index, mark.block) == last and (mark.ttl or "5m") != wanted:
                yield Fault(
                    kind="mark_conflict",
                    where=_place(mark),
                    message="the last block has a mark of another life than the automatic one",
                )


def _order(mark: Mark) -> tuple[int, int, int]:
    return _PARTS[mark.part], mark.index, mark.block


def _place(mark: Mark) -> str:
    return at(mark.index, mark.block) if mark.part == "messages" else f"{mark.part}.{mark.index}"


def _target_faults(request: Request, mark: Mark) -> Iterator[Fault]:
    """A mark stands on something, and neither on thinking nor on empty text."""
    target: Block | Tool | None = None
    if mark.index >= 0 and mark.block >= 0:
        match mark.part:
            case "tools":
                target = _pick(request.tools, mark.index)
            case "system":
                target = _pick(request.system, mark.index)
            case "messages":
                message = _pick(request.messages, mark.index)
                target = None if message is None else _pick(message.content, mark.block)
    if target is None:
        yield Fault(kind="mark_nowhere", where=_place(mark), message="the mark stands on nothing")
    elif isinstance(target, Thinking | RedactedThinking) or (isinstance(target, Text) and not target.text.strip()):
        yield Fault(
            kind="mark_refused",
            where=_place(mark),
            message="cache_control cannot be set on thinking or on empty text",
        )


def _pick(items: tuple[T, ...], index: int) -> T | None:
    return items[index] if index < len(items) else None


def _tool_faults(request: Request, facts: Sequence[Facts]) -> Iterator[Fault]:
    names: set[str] = set()
    for index, tool in enumerate(request.tools):
        if tool.name in names:
            yield Fault(kind="duplicate_tool", where=f"tools.{index}", message=f"the tool {tool.name!r} came before")
        names.add(tool.name)
        if tool.deferred and tool.name.startswith("tool_search_tool"):
            yield Fault(
                kind="search_tool_deferred", where=f"tools.{index}", message="the search tool cannot be deferred itself"
            )
    if request.tools and all(tool.deferred for tool in request.tools):
        yield Fault(
            kind="all_tools_deferred",
            where="tools",
            message="at least one tool must have defer_loading=false: all tools cannot be deferred",
        )
    for index, fact in enumerate(facts):
        for position, name in fact.references:
            if name not in names:
                yield Fault(
                    kind="unknown_tool_reference",
                    where=at(index, position),
                    message=f"tool reference {name!r} not found in available tools",
                )


def _thinking_faults(params: JsonObject, profile: ModelProfile) -> Iterator[Fault]:
    thinking = _object(params, "thinking")
    form = thinking.get("type")
    if form in profile.thinking.refused:
        yield Fault(
            kind="thinking_form_refused",
            where="thinking.type",
            message=f"the model {profile.id!r} refuses thinking of type {form!r}",
        )
    limit, budget = params.get("max_tokens"), thinking.get("budget_tokens")
    if isinstance(limit, int) and isinstance(budget, int) and limit <= budget:
        yield Fault(
            kind="output_too_long",
            where="thinking.budget_tokens",
            message="max_tokens must be greater than thinking.budget_tokens",
        )
    most = profile.window.max_output
    if isinstance(limit, int) and most is not None and limit > most:
        yield Fault(
            kind="output_too_long", where="max_tokens", message=f"max_tokens: {limit} > {most}, the most of this model"
        )
    if _forced(params) and not profile.features.forced_tool:
        yield Fault(
            kind="forced_tool_refused",
            where="tool_choice",
            message=f"the model {profile.id!r} cannot be made to call a tool",
        )


def _edit_faults(request: Request, facts: Sequence[Facts]) -> Iterator[Fault]:
    edits = _object(request.params, "context_management").get("edits")
    for index, edit in enumerate(edits if isinstance(edits, list) else ()):
        kind = edit.get("type") if isinstance(edit, dict) else None
        if not isinstance(edit, dict) or not isinstance(kind, str):
            continue
        where = f"context_management.edits.{index}"
        if kind.startswith("clear_thinking") and index > 0:
            yield Fault(kind="edit_order", where=where, message=f"{kind!r} must be the first edit")
        if not kind.startswith("compact_"):
            continue
        trigger = _object(edit, "trigger").get("value")
        if isinstance(trigger, int) and trigger < LOWEST_TRIGGER:
            yield Fault(
                kind="trigger_too_low",
                where=where,
                message=f"the trigger of a compaction is at least {LOWEST_TRIGGER} input tokens, not {trigger}",
            )
        if any(fact.signed for fact in facts):
            yield Fault(
                kind="compaction_combination",
                where=where,
                message="threshold compaction cannot run on a request that carries a signed compaction block",
            )


def _compaction_faults(params: JsonObject) -> Iterator[Fault]:
    """What a request for compaction on demand cannot carry beside it (Anthropic, 2026-09)."""
    output = _object(params, "output_config")
    beside = {
        "context_management": params.get("context_management") is not None,
        "stop_sequences": bool(params.get("stop_sequences")),
        "output_config.format": output.get("format") is not None,
        "output_config.task_budget.remaining": _object(output, "task_budget").get("remaining") is not None,
        "tool_choice": _forced(params),
    }
    for where, present in beside.items():
        if present:
            yield Fault(
                kind="compaction_combination", where=where, message=f"`compaction` cannot be combined with `{where}`"
            )


def _forced(params: JsonObject) -> bool:
    return _object(params, "tool_choice").get("type") in ("any", "tool")


def _object(value: JsonObject, key: str) -> JsonObject:
    found: Json = value.get(key)
    return found if isinstance(found, dict) else {}
