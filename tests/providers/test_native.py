"""What providers do themselves, asked of the strict doubles."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

import pytest

from perdure.kernel.agent import Agent, AgentTool, Answered, Ask, Failure, Setup
from perdure.kernel.context import Settings
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Compaction, JsonObject, Message, Text, Tool
from perdure.providers import AnthropicApi, HttpModel, Native, ResponsesApi, anthropic, openai
from perdure.providers.anthropic import MEMORY_TOOL, compact, count_tokens, deferred, tool_search
from perdure.providers.openai import compact as compact_window
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Turn, answer, replies, serve

T = TypeVar("T")
SCHEMA: JsonObject = {"type": "object", "properties": {}}
READ = AgentTool(definition=Tool(name="read", description="Reads.", schema=SCHEMA), run=lambda _given: "text " * 200)


def said(*texts: str) -> tuple[Message, ...]:
    return tuple(
        Message(
            id=f"m{place}",
            role="assistant" if place % 2 else "user",
            content=(Text(text=text),),
            provenance="assistant" if place % 2 else "user",
        )
        for place, text in enumerate(texts)
    )


def with_anthropic(
    double: AnthropicDouble, work: Callable[[HttpModel], Awaitable[T]], api: AnthropicApi | None = None
) -> T:
    async def go(url: str) -> T:
        model = anthropic("claude-opus-5-5", api_key="any", url=url, api=api)
        try:
            return await work(model)
        finally:
            await model.close()

    with serve(double) as url:
        return asyncio.run(go(url))


async def answer_of(model: HttpModel, ask: Ask) -> Message:
    async with aclosing(model.stream(ask)) as stream:
        events = [event async for event in stream]
    last = events[-1]
    assert isinstance(last, Answered), last
    return last.response.message


def test_the_provider_counts_a_request_as_it_would_be_sent() -> None:
    double = AnthropicDouble()
    ask = Ask(messages=said("How long is this?"), tools=(READ.definition,), max_tokens=100)
    counted = with_anthropic(double, lambda model: count_tokens(model, ask))

    assert isinstance(counted, int)
    assert (True, 200) == (counted > 5, double.received[0].status)


def test_a_compaction_on_demand_stands_first_and_unchanged_in_the_next_request() -> None:
    double = AnthropicDouble()

    async def work(model: HttpModel) -> Message:
        past = said("Fix the bug. " * 50, "I fixed it. " * 50, "Now test it.", "It works.")
        made = await compact(model, Ask(messages=past, max_tokens=4_000), "Keep names.")
        assert not isinstance(made, Failure), made
        later = (replace(made.message, id="c"), said("Go on.")[0])
        return await answer_of(model, Ask(messages=later, max_tokens=1_000))

    assert (Text(text="Go on."),) == with_anthropic(double, work).content
    assert [200, 200] == [received.status for received in double.received]
    assert all("compact-2026-09-04" in received.headers["anthropic-beta"] for received in double.received)


def test_a_summary_that_did_not_come_is_a_failure() -> None:
    double = AnthropicDouble(summarise=lambda _body: Turn(parts=(Call(name="read"),)))
    ask = Ask(messages=said("One.", "Two."), tools=(READ.definition,), max_tokens=4_000)
    made = with_anthropic(double, lambda model: compact(model, ask))

    assert isinstance(made, Failure)


def test_context_editing_puts_thinking_first_and_declares_its_beta() -> None:
    edits: tuple[JsonObject, ...] = ({"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"})
    double = AnthropicDouble(replies([answer("Hi.")]))
    api = AnthropicApi(native=Native(edits=edits, diagnostics=True), betas=("brand-new-beta",))
    with_anthropic(double, lambda model: answer_of(model, Ask(messages=said("Hi"), max_tokens=500)), api)
    received = double.received[0]

    assert (200, ["clear_thinking_20251015", "clear_tool_uses_20250919"]) == (
        received.status,
        [edit["type"] for edit in received.body["context_management"]["edits"]],
    )
    assert (
        "context-management-2025-06-27,cache-diagnosis-2026-04-07,brand-new-beta" == received.headers["anthropic-beta"]
    )


def test_threshold_compaction_goes_through_the_loop_and_its_block_goes_back() -> None:
    double = AnthropicDouble(replies([Turn(parts=(Call(name="read"),)), answer("Done.")]))
    api = AnthropicApi(native=Native(compact_at=50_000))

    async def work(model: HttpModel) -> str:
        # One owner: where the provider compacts, the engine does not.
        settings = Settings(clear_growth=None, fold_growth=None)
        return (await Agent(model, Setup(tools=(READ,), settings=settings)).run("A long story. " * 20_000)).state

    assert "done" == with_anthropic(double, work, api)
    assert [200, 200] == [received.status for received in double.received]
    assert any(block["type"] == "compaction" for block in double.received[0].answer["content"])
    assert b'"type":"compaction"' in double.received[1].raw


def test_typed_memory_and_deferred_tools_are_accepted() -> None:
    double = AnthropicDouble(replies([answer("Hi.")]))
    tools = (MEMORY_TOOL, tool_search(), deferred(READ.definition))
    with_anthropic(double, lambda model: answer_of(model, Ask(messages=said("Hi"), tools=tools, max_tokens=500)))

    assert (200, True) == ((received := double.received[0]).status, received.body["tools"][2]["defer_loading"])


@pytest.mark.parametrize(
    ("model", "native"),
    [
        ("claude-sonnet-4-5", Native(compact_at=150_000)),
        ("claude-opus-5-5", Native(compact_at=49_999)),
        ("gpt-5", Native(edits=({"type": "clear_tool_uses_20250919"},))),
    ],
)
def test_what_a_model_does_not_offer_is_refused_before_anything_is_sent(model: str, native: Native) -> None:
    with pytest.raises(InvalidSetting):
        anthropic(model, api_key="any", api=AnthropicApi(native=native))


def with_openai(double: OpenAIDouble, work: Callable[[HttpModel], Awaitable[T]], api: ResponsesApi | None = None) -> T:
    async def go(url: str) -> T:
        model = openai("gpt-5", api_key="any", url=f"{url}/v1", api=api)
        try:
            return await work(model)
        finally:
            await model.close()

    with serve(double) as url:
        return asyncio.run(go(url))


def test_the_window_that_openai_compacts_goes_on_whole() -> None:
    double = OpenAIDouble()

    async def work(model: HttpModel) -> Message:
        window = await compact_window(model, Ask(messages=said("Fix it.", "Fixed."), session="s"))
        assert not isinstance(window, Failure), window
        later = (*window.messages, replace(said("Go on.")[0], id="n"))
        return await answer_of(model, Ask(messages=later, session="s", max_tokens=500))

    assert [Text] == [type(block) for block in with_openai(double, work).content]
    assert ([200, 200], "s") == ([got.status for got in double.received], double.received[0].body["prompt_cache_key"])


def test_openai_compacts_by_itself_and_its_item_is_carried() -> None:
    double = OpenAIDouble(replies([Turn(parts=(Call(name="read"),)), answer("Done.")]))

    async def work(model: HttpModel) -> Agent:
        agent = Agent(model, Setup(tools=(READ,), session="s"))
        await agent.run("A long story. " * 2_000)
        return agent

    agent = with_openai(double, work, ResponsesApi(compact_at=2_000))
    carried = [block for message in agent.transcript for block in message.content if isinstance(block, Compaction)]

    assert ([200, 200], True) == ([received.status for received in double.received], bool(carried))
