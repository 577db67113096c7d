"""Pings keep the cache warm against the strict doubles, and leave no trace in the conversation."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx
import pytest

from perdure.kernel.agent import Agent, Resting, Setup
from perdure.kernel.cache import Pause
from perdure.kernel.messages import JsonObject
from perdure.providers import AnthropicApi, ChatApi, Edge, HttpModel, Ping, anthropic, chat, keep_warm, openai
from perdure.testing.doubles import AnthropicDouble, OpenAIDouble, answer, replies

LONG = "You are careful. " * 3_000
BUDGET: JsonObject = {"type": "enabled", "budget_tokens": 2_000}


@dataclass(slots=True)
class World:
    """A clock that pauses move."""

    now: float = 1_000.0
    waits: list[float] = field(default_factory=list[float])

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def edge(self, double: AnthropicDouble | OpenAIDouble) -> Edge:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=double), trust_env=False)
        return Edge(client, lambda: self.now, self.sleep, random.Random(1))


Make = Callable[[Edge], HttpModel]
MODELS: dict[str, tuple[type[AnthropicDouble | OpenAIDouble], Make]] = {
    "anthropic": (AnthropicDouble, lambda edge: anthropic("claude-opus-5-5", api_key="any", url="http://x", edge=edge)),
    "anthropic with a budget": (
        AnthropicDouble,
        lambda edge: anthropic(
            "claude-sonnet-4-5", api_key="any", url="http://x", api=AnthropicApi(thinking=BUDGET), edge=edge
        ),
    ),
    "responses": (OpenAIDouble, lambda edge: openai("gpt-5", api_key="any", url="http://x/v1", edge=edge)),
    "chat": (
        OpenAIDouble,
        lambda edge: chat(
            "gpt-4.1",
            api_key="any",
            url="http://x/v1",
            api=ChatApi(limit="max_completion_tokens", cache_key=True),
            edge=edge,
        ),
    ),
}


async def rested(agent: Agent, gaps: tuple[float, ...] = (400.0,) * 9) -> Resting:
    await agent.run("Hello.")
    resting = agent.watch.resting()
    assert resting is not None
    return replace(resting, gaps=gaps)


@pytest.mark.parametrize("name", MODELS)
def test_pings_are_legal_read_the_cache_and_leave_the_next_request_as_it_would_have_been(name: str) -> None:
    kind, make = MODELS[name]

    async def live(pinged: bool) -> tuple[list[Ping], bytes, list[int], list[str]]:
        world = World()
        double = kind(replies([answer("Hi."), answer("Hi."), answer("Yes.")]), clock=lambda: world.now)
        edge = world.edge(double)
        agent = Agent(make(edge), Setup(system=LONG, session="s1"))
        resting, told = await rested(agent), list[Ping]()
        if pinged:
            await keep_warm(make(edge), resting, edge, told.append)
        before = [message.id for message in agent.transcript]
        await agent.run("Go on.")
        await edge.client.aclose()
        return told, double.received[-1].raw, [one.status for one in double.received], before

    told, body, statuses, before = asyncio.run(live(pinged=True))
    _, plain, _, untouched = asyncio.run(live(pinged=False))

    assert 1 == len(told)
    assert told[0].usage.cache_read_tokens > 0.8 * told[0].usage.prompt_tokens
    assert ([200, 200, 200], untouched) == (statuses, before)
    assert plain == body


def test_a_kept_cache_is_read_by_the_user_who_comes_back_and_a_lost_one_is_not() -> None:
    async def live(pinged: bool) -> int:
        world = World()
        double = AnthropicDouble(replies([answer("Hi."), answer("Yes.")]), clock=lambda: world.now)
        edge = world.edge(double)
        agent = Agent(MODELS["anthropic"][1](edge), Setup(system=LONG))
        resting = await rested(agent)
        if pinged:
            short = replace(resting, pause=replace(resting.pause, life=300.0))
            await keep_warm(MODELS["anthropic"][1](edge), short, edge, lambda ping: agent.watch.pinged(ping.warm_until))
        # The static prefix is marked for an hour; it too is lost after a day.
        world.now = 1_000.0 + (3_600 + 120)
        await agent.run("Go on.")
        await edge.client.aclose()
        return int(str(double.received[-1].usage["cache_read_input_tokens"]))

    kept, lost = asyncio.run(live(pinged=True)), asyncio.run(live(pinged=False))

    assert (True, 0) == (kept > 8_000, lost)


def test_a_cache_that_was_cold_and_a_machine_that_slept_end_it() -> None:
    async def live(jump: float) -> tuple[int, int]:
        world = World()
        double = AnthropicDouble(replies([answer("Hi.")]), clock=lambda: world.now)
        edge = world.edge(double)
        model = MODELS["anthropic"][1](edge)
        resting = await rested(Agent(model, Setup(system=LONG)), (1_100.0,) * 9)
        world.now += jump
        count = await keep_warm(model, replace(resting, pause=replace(resting.pause, life=300.0)), edge)
        await edge.client.aclose()
        return count, len(double.received) - 1

    assert [(3, 3), (0, 0)] == [asyncio.run(live(0.0)), asyncio.run(live(9_000.0))]


def test_a_provider_that_fails_is_not_asked_again() -> None:
    async def live() -> int:
        def refuse(_request: httpx.Request) -> httpx.Response:
            return httpx.Response(529, json={"error": {"type": "overloaded_error", "message": "no"}})

        world = World()
        client = httpx.AsyncClient(transport=httpx.MockTransport(refuse), trust_env=False)
        edge = Edge(client, lambda: world.now, world.sleep)
        model = MODELS["anthropic"][1](edge)
        agent = Agent(model, Setup(system=LONG))
        await agent.run("Hello.")
        resting = agent.watch.resting()
        assert resting is not None
        pause = Pause(prefix=90_000, started=world.now, life=300.0)
        asked = len(world.waits)
        count = await keep_warm(model, replace(resting, pause=pause, gaps=(400.0,) * 9), edge)
        await client.aclose()
        return count * 100 + len(world.waits) - asked

    assert 1 == asyncio.run(live())
