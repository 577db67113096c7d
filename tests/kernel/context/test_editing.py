"""Context editing with the providers' parameters."""

import pytest

from perdure.kernel.context import (
    ClearThinkingTurns,
    ClearToolResult,
    ClearToolUses,
    EditingRule,
    Engine,
    Projection,
    Trigger,
    drive,
    editing_rules,
    with_window,
)
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk

MODEL = with_window(lookup("claude-sonnet-4-6"), 200_000)
NOW = Trigger(unit="tool_uses", value=0)


def edited(talk: Talk, *rules: EditingRule) -> Projection:
    return drive(Engine(MODEL).edit_context(talk.transcript, rules, None), ScriptedPorts())


def cleared(sent: Projection) -> list[str]:
    return [edit.tool_use_id for edit in sent.edits if isinstance(edit, ClearToolResult)]


@pytest.mark.parametrize(
    ("uses", "keep", "left"), [(2, 3, []), (3, 3, []), (4, 3, ["call_0"]), (2, 0, ["call_0", "call_1"])]
)
def test_the_newest_uses_stay(uses: int, keep: int, left: list[str]) -> None:
    talk = Talk().typed("go on").rounds(uses, 3_000)

    assert left == cleared(edited(talk, ClearToolUses(trigger=NOW, keep=keep)))


def test_nothing_is_cleared_before_the_trigger() -> None:
    talk = Talk().typed("go on").rounds(10, 3_000)

    assert [] == cleared(edited(talk, ClearToolUses()))
    assert [] == cleared(edited(talk, ClearToolUses(trigger=Trigger(unit="tool_uses", value=10))))
    assert 7 == len(cleared(edited(talk, ClearToolUses(trigger=Trigger(unit="tool_uses", value=9)))))


def test_clear_at_least_is_a_floor_and_no_bound() -> None:
    talk = Talk().typed("go on").rounds(10, 3_000)

    assert [] == cleared(edited(talk, ClearToolUses(trigger=NOW, clear_at_least=50_000)))
    assert 7 == len(cleared(edited(talk, ClearToolUses(trigger=NOW, clear_at_least=1_000))))


def test_excluded_tools_stay() -> None:
    talk = Talk().typed("go on").rounds(3, 3_000, tool="memory").rounds(3, 3_000)

    sent = edited(talk, ClearToolUses(trigger=NOW, keep=0, exclude_tools=frozenset({"memory"})))

    assert ["call_3", "call_4", "call_5"] == cleared(sent)


def test_inputs_go_where_that_is_asked() -> None:
    talk = Talk().typed("go on").called({"path": "a.py", "content": "x = 1\n" * 900}).answered("ok " * 900)

    plain = edited(talk, ClearToolUses(trigger=NOW, keep=0))
    both = edited(talk, ClearToolUses(trigger=NOW, keep=0, clear_tool_inputs=True))

    assert ["ClearToolResult"] == [type(edit).__name__ for edit in plain.edits]
    assert {"ClearToolResult", "ClearToolInput"} == {type(edit).__name__ for edit in both.edits}
    assert {"path": "a.py"}.items() <= both.messages[1].tool_uses[0].input.items()


def test_thinking_of_all_but_the_newest_turns_goes() -> None:
    talk = Talk().typed("go on")
    for number in range(4):
        talk.said("well", thought=f"thought {number}").typed("more")

    sent = edited(talk, ClearThinkingTurns(keep=1))

    assert [1, 1, 1, 2] == [len(message.content) for message in sent.messages if message.role == "assistant"]


def test_what_was_cleared_stays_and_only_what_is_new_is_added() -> None:
    talk, engine, rule = Talk().typed("go on").rounds(6, 3_000), Engine(MODEL), ClearToolUses(trigger=NOW)
    drive(engine.edit_context(talk.transcript, (rule,), None), ScriptedPorts())

    second = drive(engine.edit_context(talk.rounds(2, 3_000).transcript, (rule,), None), ScriptedPorts())

    assert ["call_3", "call_4"] == cleared(second)


def test_the_providers_own_list_is_understood() -> None:
    given = [
        {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}},
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 30_000},
            "keep": {"type": "tool_uses", "value": 4},
            "clear_at_least": {"type": "input_tokens", "value": 5_000},
            "exclude_tools": ["web_search"],
            "clear_tool_inputs": True,
        },
    ]

    assert editing_rules(given, keeps_thinking=False) == (
        ClearThinkingTurns(keep=2),
        ClearToolUses(
            trigger=Trigger(value=30_000),
            keep=4,
            clear_at_least=5_000,
            exclude_tools=frozenset({"web_search"}),
            clear_tool_inputs=True,
        ),
    )


@pytest.mark.parametrize(
    "given",
    [
        {"type": "clear_everything"},
        {"type": "clear_tool_uses_20250919", "kept": 3},
        {"type": "clear_tool_uses_20250919", "keep": {"type": "input_tokens", "value": 3}},
        {"type": "clear_tool_uses_20250919", "exclude_tools": "bash"},
        {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}},
    ],
)
def test_what_the_provider_would_refuse_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidSetting):
        editing_rules([given], keeps_thinking=False)
