"""Marks, tools and parameters that Anthropic's API refuses."""

from typing import cast

import pytest

from perdure.kernel.messages import (
    Compaction,
    Extra,
    JsonObject,
    Mark,
    Message,
    Request,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
)
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import check

OK = Text(text="ok")
MESSAGES = (
    Message(id="m0", role="user", content=(OK,), provenance="user"),
    Message(
        id="m1",
        role="assistant",
        content=(Thinking(thinking="", signature="s"), ToolUse(id="a", name="find", input={})),
        provenance="assistant",
    ),
    Message(
        id="m2",
        role="user",
        content=(ToolResult(tool_use_id="a", content=(ToolReference(tool_name="late"),)), OK),
        provenance="tool",
    ),
)
DEFERRED = Extra(dialect="anthropic", fields=(("defer_loading", True),))
FIND, LATE = Tool(name="find"), Tool(name="late", extra=DEFERRED)


def kinds(
    *,
    model: str = "claude-opus-5",
    messages: tuple[Message, ...] = MESSAGES,
    tools: tuple[Tool, ...] = (FIND, LATE),
    marks: tuple[Mark, ...] = (),
    params: object = None,
) -> list[str]:
    request = Request(
        model=model,
        messages=messages,
        system=(OK, OK),
        tools=tools,
        marks=marks,
        params=cast("JsonObject", params or {}),
    )
    return [fault.kind for fault in check(request, lookup(model), "anthropic")]


def test_four_marks_in_falling_life_are_valid() -> None:
    marks = (
        Mark(part="tools", index=1, ttl="1h"),
        Mark(part="system", index=1, ttl="1h"),
        Mark(part="messages", index=0, block=0, ttl="5m"),
        Mark(part="messages", index=2, block=1),
    )

    assert [] == kinds(marks=marks)


def test_a_fifth_mark_is_refused_and_the_automatic_one_counts() -> None:
    marks = tuple(Mark(part="messages", index=0) for _ in range(4))

    assert ["too_many_marks"] == kinds(marks=(*marks, Mark(part="system", index=0)))
    assert ["too_many_marks"] == kinds(marks=marks, params={"cache_control": {"type": "ephemeral"}})


def test_an_hour_comes_before_five_minutes_whatever_the_order_of_the_list() -> None:
    short, long = Mark(part="system", index=0), Mark(part="messages", index=0, ttl="1h")

    assert ["mark_order"] == kinds(marks=(long, short))


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("mark_refused", Mark(part="messages", index=1, block=0)),
        ("mark_nowhere", Mark(part="messages", index=9)),
        ("mark_nowhere", Mark(part="messages", index=0, block=4)),
        ("mark_nowhere", Mark(part="system", index=2)),
        ("mark_nowhere", Mark(part="tools", index=-1)),
    ],
)
def test_a_mark_stands_on_a_block_that_can_carry_it(kind: str, mark: Mark) -> None:
    assert [kind] == kinds(marks=(mark,))


def test_an_automatic_mark_does_not_meet_another_life_on_the_last_block() -> None:
    last = Mark(part="messages", index=2, block=1, ttl="1h")

    assert ["mark_conflict"] == kinds(marks=(last,), params={"cache_control": {"type": "ephemeral"}})
    assert [] == kinds(marks=(last,), params={"cache_control": {"type": "ephemeral", "ttl": "1h"}})


def test_a_deferred_tool_needs_one_that_is_not() -> None:
    assert ["all_tools_deferred"] == kinds(tools=(LATE,))


def test_a_reference_names_a_tool_that_is_declared() -> None:
    assert ["unknown_tool_reference"] == kinds(tools=(FIND,))


def test_a_search_tool_is_never_deferred_and_no_name_comes_twice() -> None:
    search = Tool(name="tool_search_tool_regex", extra=DEFERRED)

    assert ["search_tool_deferred"] == kinds(tools=(FIND, LATE, search))
    assert ["duplicate_tool"] == kinds(tools=(FIND, LATE, FIND))


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("edit_order", {"context_management": {"edits": [{"type": "x"}, {"type": "clear_thinking_20251015"}]}}),
        (
            "trigger_too_low",
            {"context_management": {"edits": [{"type": "compact_20260112", "trigger": {"value": 49_999}}]}},
        ),
        ("compaction_combination", {"compaction": {"type": "summarize"}, "context_management": {"edits": []}}),
        ("compaction_combination", {"compaction": {"type": "summarize"}, "stop_sequences": ["x"]}),
        ("compaction_combination", {"compaction": {"type": "summarize"}, "output_config": {"format": {}}}),
        ("compaction_combination", {"compaction": {"type": "summarize"}, "tool_choice": {"type": "any"}}),
        ("output_too_long", {"max_tokens": 10_000_000}),
        ("output_too_long", {"max_tokens": 1000, "thinking": {"type": "adaptive", "budget_tokens": 1000}}),
    ],
)
def test_parameters_that_exclude_one_another_are_found(kind: str, params: object) -> None:
    assert [kind] == kinds(params=params)


def test_a_model_refuses_forms_of_thinking_and_forced_tools() -> None:
    forced = {"tool_choice": {"type": "tool", "name": "find"}, "thinking": {"type": "disabled"}}

    assert ["thinking_form_refused", "forced_tool_refused"] == kinds(model="claude-opus-5-5", params=forced)
    assert [] == kinds(model="claude-sonnet-4-5", params=forced)


def test_a_signed_block_excludes_threshold_compaction() -> None:
    first = Message(id="c", role="user", content=(Compaction(content="x", signature="s"), OK), provenance="user")
    params = {"context_management": {"edits": [{"type": "compact_20260112"}]}}

    assert ["compaction_combination"] == kinds(messages=(first, *MESSAGES[1:]), params=params)


def test_a_request_for_compaction_may_end_with_an_answer() -> None:
    answer = Message(id="z", role="assistant", content=(OK,), provenance="assistant")

    assert [] == kinds(messages=(*MESSAGES, answer), params={"compaction": {"type": "summarize"}})
