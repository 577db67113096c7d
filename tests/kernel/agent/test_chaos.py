"""Whatever a provider does, a run ends in a state, every request is valid, and nothing that the user said is lost."""

import asyncio
import random
from dataclasses import replace
from typing import get_args

import httpx
import pytest

from perdure.kernel.agent import Agent, AgentTool, Bounds, EndState, Event, Setup
from perdure.kernel.messages import JsonObject, Tool, text_of
from perdure.kernel.models import ModelProfile, lookup
from perdure.providers import Edge, HttpModel, anthropic
from perdure.testing.doubles import AnthropicDouble
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.models import chaos_faults, chaos_model, chaos_script

SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
SAID = ("Rename the flag to --depth.", "Never touch the lock file.", "Use at most 3 retries.")
ENDS = set(get_args(EndState)) - {"broken"}


def tools(dice: random.Random) -> tuple[AgentTool, ...]:
    def read(_given: JsonObject) -> str:
        return "\n".join(f"line {n} of something" for n in range(dice.choice((0, 3, 60, 900))))

    def fall(_given: JsonObject) -> str:
        raise OSError("it broke")

    kinds = (("read", read, True), ("write", read, False), ("fall", fall, True))
    return tuple(
        AgentTool(definition=Tool(name=name, description=name, schema=SCHEMA), run=run, beside=beside)
        for name, run, beside in kinds
    )


def small(name: str, window: int) -> ModelProfile:
    profile = lookup(name)
    return replace(profile, window=replace(profile.window, tokens=window, max_output=1_500))


async def live(model: HttpModel, dice: random.Random) -> tuple[Agent, list[str]]:
    """Three things are said; in between somebody interrupts or adds a word."""
    agent = Agent(model, Setup(system="Be careful.", tools=tools(dice), bounds=Bounds(turns=12)))
    steered: list[str] = []

    def listen(event: Event) -> None:
        if event.name in ("tool_start", "message_delta", "usage"):
            match dice.randrange(120):
                case 0:
                    agent.interrupt()
                case 1:
                    steered.append(f"By the way, number {len(steered)}.")
                    agent.steer(steered[-1])
                case _:
                    pass

    states: list[str] = []
    for text in SAID:
        async with asyncio.timeout(30):
            states.append((await agent.run(text, listen)).state)
    # What was added when the last run ended is read with the next one.
    async with asyncio.timeout(30):
        states.append((await agent.run("Finish.", lambda _event: None)).state)
    said = [text_of(message.content) for message in agent.transcript if message.is_typed]
    missing = [text for text in (*SAID, *steered) if said.count(text) != 1]
    return agent, [f"lost {text!r}" for text in missing] + [
        f"ended as {state!r}" for state in states if state not in ENDS
    ]


def against_madness(seed: int) -> list[str]:
    """What went wrong behind a connection that breaks every rule; requests are judged by the checker."""
    dice = random.Random(seed)
    profile = small("claude-sonnet-4-5", dice.choice((6_000, 12_000, 30_000)))

    async def go() -> list[str]:
        model, transport = chaos_model(seed, profile, ["read", "write", "fall"])
        _, wrong = await live(model, dice)
        await model.close()
        return wrong + transport.faults

    return asyncio.run(go())


def against_the_double(seed: int) -> list[str]:
    """What went wrong against a strict double with a small window; requests are judged by the double."""
    dice = random.Random(seed)
    name = dice.choice(("claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-4-6"))
    window = dice.choice((8_000, 16_000, 30_000))
    row = replace(MODELS[name], window=window, max_output=1_500)
    double = AnthropicDouble(chaos_script(seed), clock=lambda: 1_000.0, models={name: row})
    double.faults.extend(chaos_faults(seed, 200))

    async def sleep(_seconds: float) -> None: ...

    async def go() -> list[str]:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=double), trust_env=False)
        edge = Edge(client, lambda: 1_000.0, sleep, random.Random(seed))
        model = anthropic(small(name, window), api_key="any", url="http://double", edge=edge)
        _, wrong = await live(model, dice)
        await model.close()
        return wrong

    wrong = asyncio.run(go())
    refused = [f"{received.answer}" for received in double.received if received.status in (400, 404, 413)]
    return wrong + refused


@pytest.mark.parametrize("seed", range(25))
def test_no_stream_however_broken_makes_a_request_invalid_or_a_run_endless(seed: int) -> None:
    assert [] == against_madness(seed)


@pytest.mark.parametrize("seed", [*range(14), 55])
def test_a_strict_provider_with_a_small_window_accepts_every_request(seed: int) -> None:
    assert [] == against_the_double(seed)
