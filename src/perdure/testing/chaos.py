"""Whole runs under chaos, in every dialect: what goes wrong in them is returned, and it should be nothing.

It knows an agent, its user, who interrupts and adds words, and two kinds of providers: one that breaks every rule, and
a strict double with a small window. It must never know why something went wrong.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import httpx

from perdure.kernel.agent import Agent, AgentTool, Bounds, EndState, Event, Setup
from perdure.kernel.messages import JsonObject, Tool, text_of
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES, Codec, Dialect
from perdure.providers import ChatApi, Edge, HttpModel, anthropic, chat, openai
from perdure.testing.doubles import AnthropicDouble, OpenAIDouble
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.openai.models import OPENAI_MODELS
from perdure.testing.models import ChaosTransport, chaos_faults, chaos_script

Behind: TypeAlias = Literal["mad", "strict"]
"""`mad`: streams with missing, repeated, swapped and broken events; requests are judged by the validity checker.
`strict`: a double that refuses what the real provider refuses, and fails now and then."""

KINDS: tuple[tuple[Behind, Dialect], ...] = tuple(
    (behind, dialect) for behind in get_args(Behind) for dialect in get_args(Dialect)
)

PATIENCE = 30.0
"""Seconds after which a run is said to hang."""

SAID = ("Rename the flag to --depth.", "Never touch the lock file.", "Use at most 3 retries.")
ENDS = frozenset(get_args(EndState)) - {"broken"}
TOOLS = ("read", "write", "fall")

_CODECS: dict[Dialect, Codec] = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT}
_MAD: dict[Dialect, str] = {"anthropic": "claude-sonnet-4-5", "responses": "gpt-5", "chat": "gpt-4.1"}
_STRICT: dict[Dialect, tuple[str, ...]] = {
    "anthropic": ("claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-4-6"),
    "responses": ("gpt-5", "gpt-5.1", "gpt-4.1"),
    "chat": ("gpt-4.1", "gpt-4o"),
}
_SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}


@value
class ChaosRun:
    """One conversation under chaos; the same for the same values."""

    behind: Behind
    dialect: Dialect
    seed: int

    def wrong(self) -> list[str]:
        """What went wrong: invalid requests, requests over the window, hangs, lost words of the user's, ends without a
        name."""
        return asyncio.run(_mad(self) if self.behind == "mad" else _strict(self))


async def _mad(run: ChaosRun) -> list[str]:
    dice = random.Random(run.seed)
    profile = small(_MAD[run.dialect], dice.choice((6_000, 12_000, 30_000)))
    transport = ChaosTransport(run.seed, profile, TOOLS, _CODECS[run.dialect])
    model = _model(run.dialect, profile, _edge(run, transport))
    wrong = await _live(model, dice)
    return wrong + transport.faults


async def _strict(run: ChaosRun) -> list[str]:
    dice = random.Random(run.seed)
    name, window = dice.choice(_STRICT[run.dialect]), dice.choice((8_000, 16_000, 30_000))
    double = _double(run, name, window)
    double.faults.extend(chaos_faults(run.seed, 200))
    model = _model(run.dialect, small(name, window), _edge(run, httpx.ASGITransport(app=double)))
    wrong = await _live(model, dice)
    return wrong + [f"{seen.answer}" for seen in double.received if _is_refusal(seen.status, seen.answer)]


def _double(run: ChaosRun, name: str, window: int) -> AnthropicDouble | OpenAIDouble:
    script = chaos_script(run.seed)
    if run.dialect == "anthropic":
        row = replace(MODELS[name], window=window, max_output=1_500)
        return AnthropicDouble(script, clock=lambda: 1_000.0, models={name: row})
    other = replace(OPENAI_MODELS[name], window=window, max_output=1_500)
    return OpenAIDouble(script, clock=lambda: 1_000.0, models={name: other})


def _is_refusal(status: int, answer: JsonObject) -> bool:
    """Whether a request was wrong or too long; the Responses API says the latter in a stream that began well."""
    error = answer.get("error")
    told = status == 200 and isinstance(error, dict) and error.get("code") == "context_length_exceeded"
    return told or status in (400, 404, 413, 422)


def small(name: str, window: int) -> ModelProfile:
    """What is known of a model, with another window and short answers."""
    profile = lookup(name)
    return replace(profile, window=replace(profile.window, tokens=window, max_output=1_500))


def _edge(run: ChaosRun, transport: httpx.AsyncBaseTransport) -> Edge:
    async def sleep(_seconds: float) -> None:
        """No time passes."""

    client = httpx.AsyncClient(transport=transport, trust_env=False)
    return Edge(client, lambda: 1_000.0, sleep, random.Random(run.seed))


def _model(dialect: Dialect, profile: ModelProfile, edge: Edge) -> HttpModel:
    match dialect:
        case "anthropic":
            return anthropic(profile, api_key="any", url="http://chaos", edge=edge)
        case "responses":
            return openai(profile, api_key="any", url="http://chaos/v1", edge=edge)
        case _:
            api = ChatApi(limit="max_completion_tokens", cache_key=True)
            return chat(profile, api_key="any", url="http://chaos/v1", api=api, edge=edge)


async def _live(model: HttpModel, dice: random.Random) -> list[str]:
    """Three things are said; in between somebody interrupts or adds a word. What was wrong with it."""
    agent = Agent(model, Setup(system="Be careful.", tools=_tools(dice), bounds=Bounds(turns=12)))
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
    try:
        # What was added when the last run ended is read with the next one.
        for text, heard in (*((text, listen) for text in SAID), ("Finish.", None)):
            async with asyncio.timeout(PATIENCE):
                states.append((await agent.run(text, heard or (lambda _event: None))).state)
    except TimeoutError:
        states.append("hung")
    finally:
        await model.close()
    said = [text_of(message.content) for message in agent.transcript if message.is_typed]
    lost = [f"lost {text!r}" for text in (*SAID, *steered) if said.count(text) != 1]
    return lost + [f"ended as {state!r}" for state in states if state not in ENDS]


def _tools(dice: random.Random) -> tuple[AgentTool, ...]:
    def read(_given: JsonObject) -> str:
        return "\n".join(f"line {n} of something" for n in range(dice.choice((0, 3, 60, 900))))

    def fall(_given: JsonObject) -> str:
        raise OSError("it broke")

    return tuple(
        AgentTool(definition=Tool(name=name, description=name, schema=_SCHEMA), run=run, beside=name != "write")
        for name, run in zip(TOOLS, (read, read, fall), strict=True)
    )
