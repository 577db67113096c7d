"""System blocks stand by rate of change, tools only grow, and marks stand where they pay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.cache import Head, PrefixChain
from perdure.kernel.messages import Mark, Message, Text, Tool
from perdure.kernel.models import lookup
from perdure.kernel.prompt import System, grow, overlay_block, overlay_parts, request_of, system_of
from perdure.kernel.wire import ANTHROPIC
from perdure.kernel.wire.validity import check

CLAUDE = lookup("claude-opus-5")
BASE, ROLE, GIT, DYNAMIC = "base " * 900, "role " * 900, "git " * 20, "servers " * 20
TOOLS = (Tool(name="read", schema={"type": "object"}), Tool(name="bash", schema={"type": "object"}))
HELLO = (Message(id="u", role="user", content=(Text(text="Hello."),), provenance="user"),)


def marks_of(system: System) -> list[tuple[str, int, str | None]]:
    head = Head(profile=CLAUDE, tools=TOOLS, system=system.blocks, params={"max_tokens": 100})
    request = request_of(system, PrefixChain(head, HELLO), HELLO)

    assert () == check(request, CLAUDE, "anthropic")
    return [(mark.part, mark.index, mark.ttl) for mark in request.marks]


def test_the_base_and_the_last_block_that_stays_are_marked_for_an_hour_and_what_changes_is_not() -> None:
    system = system_of(base=BASE, role=ROLE, snapshot=GIT, dynamic=DYNAMIC)

    assert (True, True, True, False) == system.static
    assert [("system", 0, "1h"), ("system", 2, "1h")] == marks_of(system)[:2]


def test_without_a_snapshot_the_mark_stands_on_the_role() -> None:
    assert [("system", 0, "1h"), ("system", 1, "1h")] == marks_of(system_of(base=BASE, role=ROLE))[:2]


def test_an_override_stands_alone_and_is_marked() -> None:
    system = system_of(role=ROLE)

    assert (Text(text=ROLE),) == system.blocks
    assert ("system", 0, "1h") == marks_of(system)[0]


def test_blocks_that_are_smaller_together_than_the_model_caches_get_no_mark() -> None:
    assert [] == marks_of(system_of(base="You work.", role="You lead."))


def test_a_base_too_small_for_a_mark_is_cached_together_with_the_role() -> None:
    assert ("system", 1, "1h") == marks_of(system_of(base="You work.", role=ROLE))[0]


def test_what_changes_is_not_marked_even_where_it_stands_alone() -> None:
    assert ["messages"] == [part for part, _, _ in marks_of(system_of(dynamic=DYNAMIC * 100))]


def test_empty_texts_make_no_blocks() -> None:
    assert System(blocks=(), static=()) == system_of(base=" ", role="", snapshot="\n")


@given(st.permutations(["plan", "mcp b", "mcp a"]))
def test_overlays_have_the_same_bytes_in_whichever_order_they_came(keys: list[str]) -> None:
    overlays = {key: f"about {key}" for key in keys}

    assert "# mcp a\n\nabout mcp a\n\n# mcp b\n\nabout mcp b\n\n# plan\n\nabout plan" == overlay_block(overlays)
    assert ["overlay mcp a", "overlay mcp b", "overlay plan"] == [each.key for each in overlay_parts(overlays)]


def test_an_overlay_that_says_nothing_has_no_place_in_the_block() -> None:
    assert "" == overlay_block({"plan": " "})


def late(name: str, description: str = "late") -> Tool:
    return Tool(name=name, description=description, schema={"type": "object"})


NAMES = st.lists(st.sampled_from(["read", "bash", "mcp__a", "mcp__b", "mcp__c"]), max_size=5)


@given(NAMES, NAMES, st.booleans())
def test_a_list_of_tools_only_grows_at_its_end(first: list[str], second: list[str], deferred: bool) -> None:
    once = grow(TOOLS, [late(name) for name in first], deferred=deferred)
    twice = grow(once, [late(name, "described anew") for name in second], deferred=deferred)

    assert (TOOLS, once) == (once[: len(TOOLS)], twice[: len(once)])
    assert {*first, *second, "read", "bash"} == {tool.name for tool in twice}
    assert len(twice) == len({tool.name for tool in twice})


@pytest.mark.parametrize("order", [["mcp__a", "mcp__b"], ["mcp__b", "mcp__a"]])
def test_tools_that_arrive_together_stand_by_name_however_they_came(order: list[str]) -> None:
    grown = grow(TOOLS, [late(name) for name in order], deferred=False)

    assert ["read", "bash", "mcp__a", "mcp__b"] == [tool.name for tool in grown]


def test_a_deferred_tool_costs_no_token_of_the_prompt_and_is_sent_as_such() -> None:
    grown = grow(TOOLS, [late("mcp__a")], deferred=True)
    before = PrefixChain(Head(profile=CLAUDE, tools=TOOLS))
    after = PrefixChain(Head(profile=CLAUDE, tools=grown))
    system = System(blocks=(), static=())

    assert (before.tokens, len(before)) == (after.tokens, before.common(after))
    assert b'"defer_loading":true' in ANTHROPIC.encode_request(request_of(system, after, ()))


def test_the_frontier_and_the_last_block_are_marked_behind_the_system() -> None:
    messages = tuple(
        Message(id=f"u{number}", role="user", content=(Text(text="word " * 50),), provenance="user")
        for number in range(3)
    )
    system = system_of(base=BASE, role=ROLE)
    chain = PrefixChain(Head(profile=CLAUDE, system=system.blocks), messages)

    marks = request_of(system, chain, messages, frontier=1).marks

    assert (Mark(part="messages", index=1), Mark(part="messages", index=2)) == marks[2:]
