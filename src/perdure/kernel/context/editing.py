"""Context editing as users of the providers know it, as light edits of ours.

It knows the parameters and defaults of `clear_tool_uses` and `clear_thinking` (Anthropic, context editing, 2026-10).
It must never forget what it cleared: the provider works its set out anew at each request, so that its boundary moves
and the prefix with it; here an edit once made stays, and only what is new is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.edits import ClearToolInput, ClearToolResult
from perdure.kernel.context.lighten import thinking_proposal
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.context.strategies.tool_results import clear_result, propose_input
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Json, Message, RedactedThinking, Thinking, ToolResult, ToolUse, freeze_object
from perdure.kernel.value import value


@value
class Trigger:
    """When clearing begins: once the request exceeds this."""

    unit: Literal["input_tokens", "tool_uses"] = "input_tokens"
    value: int = 100_000


@value
class ClearToolUses:
    """`clear_tool_uses_20250919`: the oldest results go, all but the newest `keep`."""

    trigger: Trigger = Trigger()
    keep: int = 3
    """Newest uses, with their results, that stay."""
    clear_at_least: int | None = None
    """Tokens; where fewer can be cleared nothing is. A floor, and never a bound."""
    exclude_tools: frozenset[str] = frozenset()
    clear_tool_inputs: bool = False
    """Whether arguments go as well."""
    clear_inputs_of: frozenset[str] = frozenset()
    """Where not those of all tools: the names of those whose arguments go."""


@value
class ClearThinkingTurns:
    """`clear_thinking_20251015`: thinking goes, but that of the newest `keep` assistant turns that have any."""

    keep: int | Literal["all"] = 1


EditingRule: TypeAlias = ClearToolUses | ClearThinkingTurns


def editing_rules(given: Sequence[Mapping[str, object]], *, keeps_thinking: bool) -> tuple[EditingRule, ...]:
    """The rules of a request's `context_management.edits`.

    Args:
        given: The list as the provider's documentation has it.
        keeps_thinking: Whether the model keeps all thinking where `keep` is left out.

    Raises:
        InvalidSetting: an unknown kind or field, a value out of range, or `clear_thinking` behind another edit.
    """
    rules: list[EditingRule] = []
    for place, item in enumerate(given):
        fields = freeze_object(item)
        kind = fields.pop("type", None)
        match kind:
            case "clear_tool_uses_20250919":
                rules.append(_tool_uses(fields))
            case "clear_thinking_20251015":
                if place:
                    raise InvalidSetting("clear_thinking_20251015 must be the first of the edits")
                rules.append(_thinking(fields, keeps_thinking))
            case _:
                raise InvalidSetting(
                    f"no context edit {kind!r}; there are clear_tool_uses_20250919 and clear_thinking_20251015"
                )
    return tuple(rules)


def propose_editing(situation: Situation, rule: EditingRule, size: int) -> tuple[Proposal, ...]:
    """What a rule clears in a request of `size` tokens; nothing where it is not triggered or frees too little."""
    match rule:
        case ClearThinkingTurns():
            return tuple(_old_thinking(situation, rule))
        case ClearToolUses():
            if not _triggered(situation, rule.trigger, size):
                return ()
            proposals = tuple(_old_uses(situation, rule))
            freed = sum(proposal.saved for proposal in proposals)
            return proposals if freed >= (rule.clear_at_least or 1) else ()


def _triggered(situation: Situation, trigger: Trigger, size: int) -> bool:
    if trigger.unit == "input_tokens":
        return size > trigger.value
    return sum(len(shown.tool_uses) for _, shown, _ in situation.viewed()) > trigger.value


def _old_uses(situation: Situation, rule: ClearToolUses) -> Iterator[Proposal]:
    calls = call_names(situation.transcript)
    results = [result.tool_use_id for _, shown, _ in situation.viewed() for result in shown.tool_results]
    kept = frozenset(results[max(0, len(results) - rule.keep) :] if rule.keep else ())
    for place, shown, original in situation.viewed():
        if rule.clear_tool_inputs or rule.clear_inputs_of:
            yield from _old_inputs(situation, rule, (place, original), kept, shown)
        for result in shown.tool_results:
            call = calls.get(result.tool_use_id)
            if result.tool_use_id not in kept and not (call and call.name in rule.exclude_tools):
                yield from _cleared(situation, place, original, result, call)


def _cleared(
    situation: Situation, place: int, original: Message, result: ToolResult, call: ToolUse | None
) -> Iterator[Proposal]:
    edit = situation.in_force.lights.get(original.id, {}).get(f"result:{result.tool_use_id}")
    if isinstance(edit, ClearToolResult):
        return
    proposal = clear_result(situation, place, original, result, describe_call(call) if call else "a tool result")
    if proposal is not None:
        yield proposal


def _old_inputs(
    situation: Situation,
    rule: ClearToolUses,
    where: tuple[int, Message],
    kept: frozenset[str],
    shown: Message,
) -> Iterator[Proposal]:
    place, original = where
    edits = situation.in_force.lights.get(original.id, {})
    for use in shown.tool_uses:
        named = rule.clear_tool_inputs or use.name in rule.clear_inputs_of
        if not named or use.id in kept or use.name in rule.exclude_tools:
            continue
        if isinstance(edits.get(f"input:{use.id}"), ClearToolInput):
            continue
        if (proposal := propose_input(situation, place, original, use)) is not None:
            yield proposal


def _old_thinking(situation: Situation, rule: ClearThinkingTurns) -> Iterator[Proposal]:
    if rule.keep == "all":
        return
    thinking = [
        (place, shown, original)
        for place, shown, original in situation.viewed()
        if any(isinstance(block, Thinking | RedactedThinking) for block in shown.content)
    ]
    for place, shown, original in thinking[: max(0, len(thinking) - rule.keep)]:
        yield thinking_proposal(situation, place, shown, original)


def _tool_uses(fields: dict[str, Json]) -> ClearToolUses:
    trigger = _counted(fields.pop("trigger", None), "trigger", ("input_tokens", "tool_uses"))
    keep = _counted(fields.pop("keep", None), "keep", ("tool_uses",))
    least = _counted(fields.pop("clear_at_least", None), "clear_at_least", ("input_tokens",))
    excluded = _names(fields.pop("exclude_tools", None), "exclude_tools")
    inputs = fields.pop("clear_tool_inputs", None)
    _nothing_left(fields, "clear_tool_uses_20250919")
    default = ClearToolUses()
    return ClearToolUses(
        trigger=Trigger(unit="tool_uses" if trigger[0] == "tool_uses" else "input_tokens", value=trigger[1])
        if trigger
        else default.trigger,
        keep=keep[1] if keep else default.keep,
        clear_at_least=least[1] if least else None,
        exclude_tools=excluded,
        clear_tool_inputs=inputs is True,
        clear_inputs_of=frozenset() if isinstance(inputs, bool) else _names(inputs, "clear_tool_inputs"),
    )


def _thinking(fields: dict[str, Json], keeps_thinking: bool) -> ClearThinkingTurns:
    keep = fields.pop("keep", None)
    _nothing_left(fields, "clear_thinking_20251015")
    if keep is None:
        return ClearThinkingTurns(keep="all" if keeps_thinking else 1)
    if keep in ("all", {"type": "all"}):
        return ClearThinkingTurns(keep="all")
    turns = _counted(keep, "keep", ("thinking_turns",))
    if turns is None or turns[1] < 1:
        raise InvalidSetting("keep of clear_thinking_20251015 counts at least one thinking turn")
    return ClearThinkingTurns(keep=turns[1])


def _counted(value: Json, name: str, units: tuple[str, ...]) -> tuple[str, int] | None:
    """An object like `{"type": "input_tokens", "value": 5000}`."""
    if value is None:
        return None
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        unit, number = value["type"], value["value"]
        if unit in units and isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return str(unit), number
    raise InvalidSetting(f"{name} must be an object with a type of {' or '.join(units)} and a value of at least 0")


def _names(value: Json, name: str) -> frozenset[str]:
    if value is None:
        return frozenset()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return frozenset(str(item) for item in value)
    raise InvalidSetting(f"{name} must be a list of tool names")


def _nothing_left(fields: dict[str, Json], kind: str) -> None:
    if fields:
        raise InvalidSetting(f"{kind} has no field {', '.join(repr(name) for name in fields)}")
