"""Marks stand where the rules say, on every request there may be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.cache import EMPTY, Head, PrefixChain, plan_marks, price, rolling_mark
from perdure.kernel.messages import Block, Mark, Message, Text, Thinking, Tool, ToolResult, ToolUse
from perdure.kernel.models import ModelProfile, lookup

CLAUDE = lookup("claude-opus-5")
TOOLS = (Tool(name="read", schema={}), Tool(name="grep", schema={}))
SYSTEM = (Text(text="You work on code. " * 300), Text(text="You lead. " * 300), Text(text="branch main " * 300))
STATIC = (True, True, True)


def message(name: str, *blocks: Block) -> Message:
    return Message(id=name, role="user", content=blocks, provenance="user")


def told(name: str, count: int) -> Message:
    return message(name, *(Text(text=f"{name}-{index} " * 50) for index in range(count)))


def chain_over(*messages: Message, system: Sequence[Text] = SYSTEM, profile: ModelProfile = CLAUDE) -> PrefixChain:
    return PrefixChain(Head(profile=profile, tools=TOOLS, system=tuple(system)), messages)


def test_a_request_is_marked_at_its_base_its_static_end_its_frontier_and_its_last_block() -> None:
    chain = chain_over(told("m0", 2), told("m1", 3), told("m2", 2))

    expected = (
        Mark(part="system", index=0, ttl="1h"),
        Mark(part="system", index=2, ttl="1h"),
        Mark(part="messages", index=1, block=2),
        Mark(part="messages", index=2, block=1),
    )

    assert expected == plan_marks(chain, STATIC, frontier=1, previous=None)


def test_the_last_static_block_is_the_one_before_the_first_that_changes() -> None:
    marks = plan_marks(chain_over(), (True, True, False), frontier=None, previous=None)

    assert (Mark(part="system", index=0, ttl="1h"), Mark(part="system", index=1, ttl="1h")) == marks


def test_a_block_that_changes_is_never_marked_even_where_it_is_the_only_one() -> None:
    marks = plan_marks(chain_over(system=SYSTEM[:1]), (False,), frontier=None, previous=None)

    assert () == tuple(mark for mark in marks if mark.part == "system")


def test_a_single_static_block_gets_a_single_mark() -> None:
    marks = plan_marks(chain_over(system=SYSTEM[:1]), (True,), frontier=None, previous=None)

    assert (Mark(part="system", index=0, ttl="1h"),) == marks


def test_without_system_blocks_the_last_tool_is_marked() -> None:
    heavy = Tool(name="grep", description="Searches. " * 500, schema={})
    chain = PrefixChain(Head(profile=CLAUDE, tools=(TOOLS[0], heavy)), (told("m0", 1),))

    marks = plan_marks(chain, (), frontier=None, previous=None)

    assert (Mark(part="tools", index=1, ttl="1h"), Mark(part="messages", index=0)) == marks


def test_places_before_the_minimum_get_no_mark() -> None:
    short = (Text(text="You work."), SYSTEM[1])

    marks = plan_marks(chain_over(told("m0", 1), system=short), (True, True), frontier=None, previous=None)

    assert (Mark(part="system", index=1, ttl="1h"), Mark(part="messages", index=0)) == marks


def test_the_rolling_mark_steps_back_over_thinking_and_empty_text() -> None:
    last = message(
        "m1", ToolUse(id="t1", name="read", input={}), Thinking(thinking="so", signature="A"), Text(text=" ")
    )

    marks = plan_marks(chain_over(told("m0", 1), last), STATIC, frontier=None, previous=None)

    assert Mark(part="messages", index=1, block=0) == rolling_mark(marks)


def test_a_message_without_a_place_for_a_mark_leaves_it_to_the_one_before() -> None:
    last = message("m1", Thinking(thinking="so", signature="A"))

    marks = plan_marks(chain_over(told("m0", 2), last), STATIC, frontier=None, previous=None)

    assert Mark(part="messages", index=0, block=1) == rolling_mark(marks)


@pytest.mark.parametrize(("since", "marked"), [(1, False), (18, False), (19, True), (60, True)])
def test_where_more_than_18_blocks_came_the_frontiers_mark_stands_where_the_rolling_mark_stood(
    since: int, marked: bool
) -> None:
    chain = chain_over(told("m0", 1), told("m1", 1), told("m2", since))
    previous = Mark(part="messages", index=1)

    marks = plan_marks(chain, STATIC, frontier=0, previous=previous)

    assert [previous if marked else Mark(part="messages", index=0)] == [
        mark for mark in marks[:-1] if mark.part == "messages"
    ]


def test_both_stand_where_a_mark_is_left_over() -> None:
    chain = chain_over(told("m0", 1), told("m1", 1), told("m2", 30), system=SYSTEM[:1])
    previous = Mark(part="messages", index=1)

    marks = plan_marks(chain, (True,), frontier=0, previous=previous)

    assert [Mark(part="messages", index=0), previous] == [mark for mark in marks[:-1] if mark.part == "messages"]


def test_a_previous_mark_that_no_longer_exists_is_let_go() -> None:
    marks = plan_marks(
        chain_over(told("m0", 40)), STATIC, frontier=None, previous=Mark(part="messages", index=7, block=2)
    )

    assert 3 == len(marks)


def test_without_a_long_life_on_offer_nothing_asks_for_one() -> None:
    profile = replace(CLAUDE, cache=replace(CLAUDE.cache, lives=CLAUDE.cache.lives[:1]))

    marks = plan_marks(chain_over(told("m0", 1), profile=profile), STATIC, frontier=None, previous=None)

    assert {None} == {mark.ttl for mark in marks}


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5.6-sol", "qwen3-coder"])
def test_where_the_provider_caches_by_itself_there_are_no_marks(model: str) -> None:
    chain = chain_over(told("m0", 1), profile=lookup(model))

    assert () == plan_marks(chain, STATIC, frontier=0, previous=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    chain: PrefixChain
    static: tuple[bool, ...]
    frontier: int | None
    previous: Mark | None


SIZES = st.sampled_from([0, 1, 400, 9_000])
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    SIZES.map(lambda size: Text(text="a" * size)),
    SIZES.map(lambda size: Thinking(thinking="b" * size, signature="A")),
    SIZES.map(lambda size: ToolResult(tool_use_id="t", content="c" * size)),
)
MODELS = st.sampled_from([CLAUDE, lookup("claude-opus-4-6"), lookup("claude-sonnet-4-5"), lookup("gpt-5.6-sol")])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    system = draw(st.lists(SIZES.map(lambda size: Text(text="s" * size)), max_size=4))
    contents = draw(st.lists(st.lists(BLOCKS, min_size=1, max_size=6), max_size=4))
    messages = [message(f"m{index}", *content) for index, content in enumerate(contents)]
    count = len(messages)
    return Case(
        chain=chain_over(*messages, system=system, profile=draw(MODELS)),
        static=tuple(draw(st.lists(st.booleans(), min_size=len(system), max_size=len(system)))),
        frontier=draw(st.none() | st.integers(-1, count + 1)),
        previous=draw(
            st.none() | st.builds(Mark, part=st.just("messages"), index=st.integers(0, 6), block=st.integers(0, 8))
        ),
    )


def planned(case: Case) -> tuple[Mark, ...]:
    return plan_marks(case.chain, case.static, frontier=case.frontier, previous=case.previous)


def places(case: Case) -> list[int]:
    found = [case.chain.position_of(mark) for mark in planned(case)]
    return [place for place in found if place is not None]


@given(case=cases())
def test_there_are_never_more_marks_than_the_model_allows(case: Case) -> None:
    assert len(planned(case)) <= min(4, case.chain.head.profile.cache.max_marks)


@given(case=cases())
def test_marks_stand_in_prefix_order_each_on_a_block_of_its_own(case: Case) -> None:
    assert len(planned(case)) == len(places(case))
    assert sorted(set(places(case))) == places(case)


@given(case=cases())
def test_no_mark_stands_on_thinking_or_empty_text_or_below_the_minimum(case: Case) -> None:
    least = case.chain.head.profile.cache.min_tokens

    assert all(case.chain.markable(place) and case.chain.tokens_through(place) >= least for place in places(case))


@given(case=cases())
def test_an_hour_never_stands_behind_five_minutes(case: Case) -> None:
    lives = [mark.ttl for mark in planned(case)]

    assert sorted(lives, key=lambda ttl: ttl != "1h") == lives


@given(case=cases())
def test_no_system_block_that_changes_nor_one_behind_it_is_marked(case: Case) -> None:
    steady = case.static.index(False) if False in case.static else len(case.static)

    assert all(mark.index < steady for mark in planned(case) if mark.part == "system")


@given(case=cases(), more=st.integers(1, 60))
def test_the_next_request_reads_all_that_the_last_one_marked_however_much_came_since(case: Case, more: int) -> None:
    marks = planned(case)
    before, cache = price(EMPTY, case.chain, marks, 1_000.0)
    longer = case.chain.then([told("more", more)])

    after, _ = price(
        cache, longer, plan_marks(longer, case.static, frontier=case.frontier, previous=rolling_mark(marks)), 1_100.0
    )

    rolling = rolling_mark(marks)
    position = case.chain.position_of(rolling) if rolling else None
    assert position is None or case.chain.tokens_through(position) <= after.read
    assert before.prompt_tokens <= after.prompt_tokens
