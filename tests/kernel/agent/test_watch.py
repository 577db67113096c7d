"""What the loop says of the provider's cache."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import httpx
import pytest

from perdure.kernel.agent import Agent, AgentTool, CacheBreak, CompactionEnd, Event, Setup, UsageSeen
from perdure.kernel.agent.requests import choose_life
from perdure.kernel.agent.watch import first_difference
from perdure.kernel.messages import JsonObject, Message, Request, Text, Tool
from perdure.kernel.models import lookup
from perdure.kernel.wire import ANTHROPIC
from perdure.providers import Edge, anthropic
from perdure.testing.doubles import AnthropicDouble, Call, Say, Turn, answer, replies, serve

PROFILE = lookup("claude-opus-5-5")


@pytest.mark.parametrize(
    ("gaps", "life"),
    [
        ([5.0] * 20, "5m"),
        ([], "5m"),
        ([5.0, 5.0, 900.0, 5.0, 1_200.0], "1h"),
        ([5.0, 90_000.0, 5.0], "5m"),
    ],
)
def test_the_life_of_a_mark_follows_from_the_pauses_and_the_price(gaps: Sequence[float], life: str) -> None:
    assert life == choose_life(gaps, prefix=100_000, grown=2_000, profile=PROFILE)


def test_a_long_life_is_not_bought_for_a_prefix_that_hardly_costs_anything() -> None:
    assert "5m" == choose_life([5.0] * 30 + [900.0], prefix=2_000, grown=5_000, profile=PROFILE)


def test_a_provider_that_has_one_life_gets_no_other() -> None:
    assert "5m" == choose_life([900.0] * 9, prefix=100_000, grown=1, profile=lookup("gpt-5"))


def said(number: int, text: str) -> Message:
    return Message(id=f"m{number}", role="user", content=(Text(text=text),), provenance="user")


def request(*texts: str, system: str = "s") -> Request:
    messages = tuple(said(number, text) for number, text in enumerate(texts))
    return Request(model="m", messages=messages, system=(Text(text=system),))


def test_the_first_part_that_differs_is_named_with_its_byte() -> None:
    before, after = request("one", "two"), request("one", "tWo", "three")
    where, byte = first_difference(ANTHROPIC, before, after)
    old, new = ANTHROPIC.encode_request(before), ANTHROPIC.encode_request(after)

    assert ("messages[1].content[0]", True) == (where, byte is not None)
    assert (old[:byte], b"w", b"W") == (new[:byte], old[byte or 0 :][:1], new[byte or 0 :][:1])


def test_a_request_that_goes_on_differs_nowhere() -> None:
    assert ("", None) == first_difference(ANTHROPIC, request("one"), request("one", "two"))


def test_a_changed_system_block_is_found() -> None:
    assert "system[0]" == first_difference(ANTHROPIC, request("one"), request("one", system="t"))[0]


def events_of(times: list[float], turns: list[Turn]) -> list[Event]:
    """One run whose calls start at these times, against a double with a cache of its own that lives by them."""
    schema: JsonObject = {"type": "object", "properties": {}}
    read = AgentTool(definition=Tool(name="read", description="Reads.", schema=schema), run=lambda _given: "some text")
    clock = times[0]

    def listen(event: Event) -> None:
        nonlocal clock
        events.append(event)
        if event.name == "tool_end":
            times.pop(0)
            clock = times[0]

    async def go(url: str) -> None:
        edge = Edge(clock=lambda: clock)
        model = anthropic("claude-opus-5-5", api_key="any", url=url, edge=edge)
        await Agent(model, Setup(system="Rules. " * 4_000, tools=(read,))).run("Begin.", listen)
        await model.close()

    events: list[Event] = []
    with serve(AnthropicDouble(replies(turns), clock=lambda: clock)) as url:
        asyncio.run(go(url))
    return events


def calls(number: int) -> list[Turn]:
    turn = Turn(parts=(Say(text="Look."), Call(name="read")))
    return [*[turn] * number, answer("Done.")]


def test_the_prediction_equals_what_a_provider_with_a_cache_of_its_own_counts() -> None:
    events = events_of([0.0, 10.0, 20.0, 30.0], calls(3))
    usages = [event for event in events if isinstance(event, UsageSeen)]

    assert [event.usage.cache_read_tokens for event in usages] == [event.predicted_read for event in usages]
    assert not any(isinstance(event, CacheBreak) for event in events)


def test_a_pause_beyond_the_life_of_the_cache_is_named_as_the_cause() -> None:
    events = events_of([0.0, 10.0, 20_000.0], calls(2))
    breaks = [event for event in events if isinstance(event, CacheBreak)]

    assert [("expired", "", None)] == [(event.reading.cause, event.where, event.byte) for event in breaks]


def test_requests_of_one_run_each_extend_the_last() -> None:
    double = AnthropicDouble(replies(calls(4)))
    schema: JsonObject = {"type": "object", "properties": {}}
    read = AgentTool(definition=Tool(name="read", schema=schema), run=lambda _given: "text")

    async def go(url: str) -> None:
        model = anthropic("claude-opus-5-5", api_key="any", url=url)
        await Agent(model, Setup(tools=(read,))).run("Begin.")
        await model.close()

    with serve(double) as url:
        asyncio.run(go(url))
    bare = [
        ANTHROPIC.encode_request(replace(ANTHROPIC.decode_request(received.raw), marks=(), params={}))
        for received in double.received
    ]

    assert 5 == len(bare)
    assert all(later.startswith(earlier[:-2]) for earlier, later in pairwise(bare))


def test_what_is_marked_for_an_hour_is_not_cleared_as_cold_after_a_quarter_of_one() -> None:
    """Pauses of fifteen minutes choose the long life; until that is known, one pause finds the cache cold."""
    now = [1_000.0]
    big = "\n".join(f"line {number} of a result that stays" for number in range(900))
    call = Turn(parts=(Say(text="Look."), Call(name="read")))
    double = AnthropicDouble(
        replies([turn for _ in range(18) for turn in (call, answer("Done."))]), clock=lambda: now[0]
    )
    read = AgentTool(
        definition=Tool(name="read", description="read", schema={"type": "object", "properties": {}}),
        run=lambda _given: big,
    )
    reasons: list[list[str]] = []

    async def live() -> None:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=double), trust_env=False)
        model = anthropic("claude-opus-5-5", api_key="any", url="http://any", edge=Edge(client, lambda: now[0]))
        agent = Agent(model, Setup(system="Be careful. " * 3_000, tools=(read,)))
        for number in range(18):
            seen: list[Event] = []
            await agent.run(f"Read it, number {number}.", seen.append)
            reasons.append([event.reason for event in seen if isinstance(event, CompactionEnd)])
            now[0] += 900.0
        await client.aclose()

    asyncio.run(live())

    assert [] == [found for found in reasons[3:] if "cold" in found]
    assert 3_600.0 == model_life(double)


def model_life(double: AnthropicDouble) -> float:
    """Seconds of the last request's rolling mark."""
    return 3_600.0 if b'"ttl":"1h"' in double.received[-1].raw[-400:] else 300.0
