"""What a request reads and writes: the providers' rules, one sentence each, and what holds whatever happens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.cache import (
    EMPTY,
    Bill,
    Head,
    Parts,
    PrefixChain,
    PromptCache,
    bill,
    bill_of,
    chain_of,
    marks_of,
    price,
    price_request,
    readable,
    warmth,
)
from perdure.kernel.messages import JsonObject, Mark, Message, Request, Text, Thinking, Tool, Ttl, Usage
from perdure.kernel.models import ModelProfile, lookup

CLAUDE = lookup("claude-opus-5")
GPT = lookup("gpt-5.1")
GPT_BILLED = lookup("gpt-5.6-sol")
UNCACHED = lookup("gpt-5-pro")
NOW = 1_000_000.0


def message(index: int, blocks: int = 1, letter: str = "a") -> Message:
    content = tuple(Text(text=f"{letter}{index}-{block}") for block in range(blocks))
    return Message(id=f"m{index}", role="user", content=content, provenance="user")


def chain_over(*sizes: int, profile: ModelProfile = CLAUDE, letter: str = "a") -> PrefixChain:
    """A chain of one tool, one system block and messages of one block each, with these tokens per position."""
    head = Head(profile=profile, tools=(Tool(name="read", schema={}),), system=(Text(text="You work on code."),))
    messages = [message(index, letter=letter) for index in range(len(sizes) - 2)]
    return PrefixChain(head, messages).counted(sizes)


def on(position: int, ttl: Ttl | None = None) -> Mark:
    """A mark by position in the chains of `chain_over`."""
    part = ("tools", "system")[position] if position < 2 else "messages"
    return Mark(part=part, index=max(0, position - 2) if position >= 2 else 0, ttl=ttl)


def split(cost: Bill) -> tuple[int, int, int, int]:
    return cost.read, cost.written, cost.written_long, cost.fresh


def send(
    *requests: tuple[PrefixChain, Sequence[Mark], float], cache: PromptCache = EMPTY
) -> list[tuple[int, int, int, int]]:
    """The split of each request: read, written, written for long, fresh."""
    bills: list[tuple[int, int, int, int]] = []
    for chain, marks, now in requests:
        cost, cache = price(cache, chain, marks, now)
        bills.append(split(cost))
    return bills


SHORT = (1_000, 2_000, 300, 400)
LONG = (*SHORT, 50, 60)


def test_what_is_written_at_a_mark_is_read_by_the_next_request() -> None:
    first, second = chain_over(*SHORT), chain_over(*LONG)

    assert [(0, 3_700, 0, 0), (3_700, 110, 0, 0)] == send((first, [on(3)], NOW), (second, [on(5)], NOW + 60))


def test_what_follows_the_last_mark_is_neither_read_nor_written() -> None:
    chain = chain_over(*LONG)

    assert [(0, 3_000, 0, 810), (3_000, 0, 0, 810)] == send((chain, [on(1)], NOW), (chain, [on(1)], NOW + 1))


def test_without_marks_nothing_is_cached() -> None:
    chain = chain_over(*LONG)

    assert [(0, 0, 0, 3_810)] * 2 == send((chain, [], NOW), (chain, [], NOW + 1))


def test_equal_content_that_was_not_marked_is_not_found() -> None:
    chain = chain_over(*LONG)

    assert (0, 3_000, 0, 810) == send((chain, [on(5)], NOW), (chain, [on(1)], NOW + 1))[1]


def test_an_entry_lives_from_the_start_of_its_request_and_not_a_moment_longer() -> None:
    chain = chain_over(*SHORT)
    alive, dead = NOW + 299.9, NOW + 300.0

    assert (3_700, 0, 0, 0) == send((chain, [on(3)], NOW), (chain, [on(3)], alive))[1]
    assert (0, 3_700, 0, 0) == send((chain, [on(3)], NOW), (chain, [on(3)], dead))[1]


def test_each_hit_gives_the_entry_its_whole_life_again() -> None:
    chain = chain_over(*SHORT)

    assert (3_700, 0, 0, 0) == send(*((chain, [on(3)], NOW + 200.0 * step) for step in range(9)))[-1]


def test_an_hour_lasts_an_hour() -> None:
    chain = chain_over(*LONG)
    marks = [on(1, "1h"), on(5)]

    assert [(0, 810, 3_000, 0), (3_000, 810, 0, 0)] == send((chain, marks, NOW), (chain, marks, NOW + 3_000))


def test_a_hit_by_a_five_minute_mark_leaves_an_hour_entry_its_hour() -> None:
    chain = chain_over(*SHORT)

    assert (3_700, 0, 0, 0) == send(
        (chain, [on(3, "1h")], NOW), (chain, [on(3)], NOW + 10), (chain, [on(3)], NOW + 3_600)
    )[2]


def test_an_hours_writes_come_before_the_five_minutes_ones() -> None:
    chain = chain_over(*LONG)

    assert [(0, 0, 1_000, 2_810)] == send((chain, [on(0, "1h")], NOW))
    assert [(0, 810, 3_000, 0)] == send((chain, [on(0, "1h"), on(1, "1h"), on(5)], NOW))


@pytest.mark.parametrize(("blocks", "found"), [(18, True), (19, True), (20, False), (25, False)])
def test_a_mark_looks_back_over_twenty_positions_itself_included(blocks: int, found: bool) -> None:
    first = chain_over(1_000, 2_000, 300)
    second = chain_over(1_000, 2_000, 300, *[10] * blocks)

    read = send((first, [on(2)], NOW), (second, [on(2 + blocks)], NOW + 1))[1][0]

    assert (3_300 if found else 0) == read


def test_a_second_mark_where_the_last_request_ended_finds_what_the_lookback_misses() -> None:
    first = chain_over(1_000, 2_000, 300)
    second = chain_over(1_000, 2_000, 300, *[10] * 40)

    assert (3_300, 400, 0, 0) == send((first, [on(2)], NOW), (second, [on(2), on(42)], NOW + 1))[1]


def test_a_prefix_below_the_minimum_is_silently_not_cached() -> None:
    least = CLAUDE.cache.min_tokens
    under, enough = chain_over(100, least - 101, 5_000), chain_over(100, least - 100, 5_000)

    assert [(0, 0, 0, under.tokens)] * 2 == send((under, [on(1)], NOW), (under, [on(1)], NOW + 1))
    assert (least, 0, 0, 5_000) == send((enough, [on(1)], NOW), (enough, [on(1)], NOW + 1))[1]


def test_an_edit_leaves_what_stands_before_it() -> None:
    first, edited = chain_over(*LONG), chain_over(*LONG, letter="b")
    marks = [on(1), on(5)]

    assert (3_000, 810, 0, 0) == send((first, marks, NOW), (edited, marks, NOW + 1))[1]


def test_models_do_not_share_entries() -> None:
    other = chain_over(*SHORT, profile=lookup("claude-fable-5"))

    assert (0, 3_700, 0, 0) == send((chain_over(*SHORT), [on(3)], NOW), (other, [on(3)], NOW + 1))[1]


def test_old_branches_stay_warm_beside_the_new_one() -> None:
    one, other = chain_over(*LONG), chain_over(*LONG, letter="b")
    marks = [on(5)]

    assert (3_810, 0, 0, 0) == send((one, marks, NOW), (other, marks, NOW + 1), (one, marks, NOW + 2))[2]


def request_with(params: JsonObject, *marks: Mark) -> Request:
    blocks = (Text(text="word " * 2_000), Thinking(thinking="so", signature="A"))
    messages = (Message(id="m0", role="user", content=blocks, provenance="user"),)
    return Request(model="claude-opus-5", messages=messages, params=params, marks=marks)


def test_automatic_caching_marks_the_last_block_that_may_carry_a_mark() -> None:
    request = request_with({"cache_control": {"type": "ephemeral", "ttl": "1h"}})

    cost, cache = price_request(EMPTY, request, CLAUDE, NOW)

    assert (0, 0, cost.written_long) == (cost.read, cost.written, cost.prompt_tokens - cost.fresh)
    assert 0 < cost.fresh < 50
    assert cost.written_long == price_request(cache, request, CLAUDE, NOW + 3_000)[0].read


def test_automatic_caching_adds_nothing_to_a_mark_that_stands_there() -> None:
    mark = Mark(part="messages", index=0)
    request = request_with({"cache_control": {"type": "ephemeral"}}, mark)

    assert (mark,) == marks_of(request, chain_of(request, CLAUDE))


# OpenAI: no marks.


def test_openai_reads_the_longest_common_prefix_in_steps_of_128() -> None:
    first = chain_over(1_000, 100, 300, profile=GPT)
    second = chain_over(1_000, 100, 300, 77, profile=GPT)

    assert [(0, 0, 0, 1_400), (1_280, 0, 0, 197)] == send((first, [], NOW), (second, [], NOW + 1))


def test_openai_caches_nothing_below_1024_tokens() -> None:
    under, enough = chain_over(500, 523, profile=GPT), chain_over(500, 524, profile=GPT)

    assert (0, 0, 0, 1_023) == send((under, [], NOW), (under, [], NOW + 1))[1]
    assert (1_024, 0, 0, 0) == send((enough, [], NOW), (enough, [], NOW + 1))[1]


def test_openai_forgets_after_its_life_and_a_hit_renews_it() -> None:
    chain, life = chain_over(*SHORT, profile=GPT), GPT.cache.lives[0].seconds

    renewed = send(*((chain, (), NOW + (life - 1.0) * step) for step in range(5)))

    assert (3_584, 0, 0, 116) == renewed[-1]
    assert (0, 0, 0, 3_700) == send((chain, [], NOW), (chain, [], NOW + life))[1]


def test_openai_reads_up_to_an_edit() -> None:
    first, edited = chain_over(*LONG, profile=GPT), chain_over(*LONG, profile=GPT, letter="b")

    assert (2_944, 0, 0, 866) == send((first, [], NOW), (edited, [], NOW + 1))[1]


def test_openai_bills_writes_where_the_model_does_and_reads_whole_prompts() -> None:
    first, second = chain_over(*SHORT, profile=GPT_BILLED), chain_over(*LONG, profile=GPT_BILLED)

    assert [(0, 3_700, 0, 0), (3_700, 110, 0, 0)] == send((first, [], NOW), (second, [], NOW + 1))


def test_a_model_without_a_cache_pays_for_all_of_it_each_time() -> None:
    chain = chain_over(*SHORT, profile=UNCACHED)

    assert [(0, 0, 0, 3_700)] * 2 == send((chain, [], NOW), (chain, [], NOW + 1))


# Money.


def test_a_bill_is_priced_by_the_models_multipliers() -> None:
    assert CLAUDE.prices is not None
    cost = bill(Parts(read=1_000, written=200, written_long=100, fresh=50, output=10), CLAUDE)
    dollars = CLAUDE.prices

    assert pytest.approx(100 + 250 + 200 + 50 + 10 * dollars.output / dollars.input) == cost.units
    assert pytest.approx(cost.units * dollars.input / 1e6) == cost.usd
    assert 1_350 == cost.prompt_tokens


def test_a_long_prompts_every_token_costs_more() -> None:
    profile = lookup("claude-sonnet-4-5")
    assert profile.prices is not None
    limit = profile.prices.above[0].start
    at, over = bill(Parts(fresh=limit), profile), bill(Parts(fresh=limit + 1), profile)

    assert at.usd is not None
    assert over.usd is not None
    assert over.usd > 1.9 * at.usd
    assert pytest.approx(1) == over.units - at.units


def test_a_model_without_prices_is_priced_in_units_alone() -> None:
    cost = bill(Parts(read=1_000, fresh=50, output=10), replace(CLAUDE, prices=None))

    assert (None, pytest.approx(150)) == (cost.usd, cost.units)


def test_a_providers_usage_is_billed_by_the_same_prices() -> None:
    usage = Usage(
        input_tokens=50, cache_read_tokens=1_000, cache_write_tokens=300, cache_write_1h_tokens=100, output_tokens=10
    )

    assert bill(Parts(read=1_000, written=200, written_long=100, fresh=50, output=10), CLAUDE) == bill_of(usage, CLAUDE)


# What holds whatever happens.

PROFILES = st.sampled_from([CLAUDE, GPT, GPT_BILLED, lookup("claude-haiku-4-5")])
GAPS = st.sampled_from([1.0, 250.0, 400.0, 4_000.0])


@st.composite
def work(draw: st.DrawFn) -> list[tuple[PrefixChain, list[Mark], float]]:
    """Requests that grow, are edited and pause, with marks anywhere."""
    profile = draw(PROFILES)
    sizes = draw(st.lists(st.integers(1, 3_000), min_size=2, max_size=8))
    now, letter, requests = NOW, "a", list[tuple[PrefixChain, list[Mark], float]]()
    for _ in range(draw(st.integers(1, 4))):
        sizes = sizes + draw(st.lists(st.integers(1, 2_000), max_size=8))
        letter = draw(st.sampled_from([letter, letter, "a", "b"]))
        places = draw(st.lists(st.integers(0, len(sizes) - 1), max_size=4, unique=True))
        hours = draw(st.integers(0, len(places)))
        marks = [on(place, "1h" if rank < hours else None) for rank, place in enumerate(sorted(places))]
        requests.append((chain_over(*sizes, profile=profile, letter=letter), marks, now))
        now += draw(GAPS)
    return requests


@given(requests=work())
def test_the_parts_of_a_bill_add_up_to_the_prompt(requests: list[tuple[PrefixChain, list[Mark], float]]) -> None:
    for (chain, _, _), parts in zip(requests, send(*requests), strict=True):
        assert chain.tokens == sum(parts)
        assert min(parts) >= 0


@given(requests=work())
def test_pricing_leaves_the_cache_before_it_as_it_was(requests: list[tuple[PrefixChain, list[Mark], float]]) -> None:
    cache = EMPTY
    for chain, marks, now in requests:
        before = dict(cache.entries), cache.held
        cost, after = price(cache, chain, marks, now)

        assert before == (dict(cache.entries), cache.held)
        assert cost.read == readable(cache, chain, marks, now)
        cache = after


@given(requests=work(), more=st.lists(st.integers(1, 2_000), max_size=18), wait=st.floats(0, 299))
def test_a_request_that_extends_the_last_reads_all_that_it_left_while_it_is_warm(
    requests: list[tuple[PrefixChain, list[Mark], float]], more: list[int], wait: float
) -> None:
    cache = EMPTY
    for request in requests:
        _, cache = price(cache, *request)
    chain, _, start = requests[-1]
    last = len(chain) - 1
    before, cache = price(cache, chain, [on(last)], start)
    sizes = [chain.tokens_through(at) - (chain.tokens_through(at - 1) if at else 0) for at in range(last + 1)]
    grown = chain.then([message(last + index, letter="new") for index in range(len(more))])

    after, _ = price(cache, grown.counted([*sizes, *more]), [on(last + len(more))], start + wait)

    assert before.read + before.written <= after.read or chain.tokens < chain.head.profile.cache.min_tokens


@given(requests=work())
def test_more_than_a_day_later_all_is_cold(requests: list[tuple[PrefixChain, list[Mark], float]]) -> None:
    cache = EMPTY
    for request in requests:
        _, cache = price(cache, *request)
    chain, marks, now = requests[-1]

    assert 0 == readable(cache, chain, marks, now + 90_000)


def test_the_state_does_not_grow_with_the_number_of_requests() -> None:
    cache = EMPTY
    for step in range(1_000):
        _, cache = price(cache, chain_over(1_000, 2_000, 300, letter=f"{step}"), [on(2)], NOW + 10 * step)

    assert len(cache.entries) <= 200


@pytest.mark.parametrize(("now", "expected"), [(NOW, 300.0), (NOW + 100, 200.0), (NOW + 300, 0.0), (NOW + 9_999, 0.0)])
def test_warmth_is_what_is_left_of_the_life_of_the_last_request(now: float, expected: float) -> None:
    assert expected == warmth(NOW, now, 300)


def test_before_the_first_request_all_is_cold() -> None:
    assert 0.0 == warmth(None, NOW, 300)
