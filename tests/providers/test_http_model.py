"""Models over real HTTP on loopback, against the strict doubles."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import httpx
import pytest

from perdure.kernel.agent import Answered, Ask, Failure, ModelEvent, Retrying
from perdure.kernel.messages import Message, Text
from perdure.kernel.wire import BlockGrew
from perdure.providers import AnthropicApi, ChatApi, Edge, HttpModel, Patience, anthropic, chat, openai
from perdure.testing.doubles import (
    AnthropicDouble,
    Cut,
    ErrorInStream,
    Fault,
    OpenAIDouble,
    Overloaded,
    RateLimited,
    Say,
    ServerError,
    Slow,
    Think,
    Turn,
    answer,
    replies,
    serve,
)

Double = AnthropicDouble | OpenAIDouble
Make = Callable[[str, Edge], HttpModel]


def of_anthropic(url: str, edge: Edge) -> HttpModel:
    return anthropic("claude-opus-5-5", api_key="any", url=url, edge=edge)


def of_responses(url: str, edge: Edge) -> HttpModel:
    return openai("gpt-5", api_key="any", url=f"{url}/v1", edge=edge)


def of_chat(url: str, edge: Edge) -> HttpModel:
    api = ChatApi(limit="max_completion_tokens", cache_key=True)
    return chat("gpt-4.1", api_key="any", url=f"{url}/v1", api=api, edge=edge)


EACH = pytest.mark.parametrize(
    ("make", "double"),
    [(of_anthropic, AnthropicDouble), (of_responses, OpenAIDouble), (of_chat, OpenAIDouble)],
    ids=["anthropic", "responses", "chat"],
)


def said(text: str) -> Ask:
    message = Message(id="m0", role="user", content=(Text(text=text),), provenance="user")
    return Ask(messages=(message,), max_tokens=1_000, session="s1")


def ask(double: Double, make: Make, question: Ask, waits: list[float] | None = None) -> list[ModelEvent]:
    """All events of one question; pauses are noted and not slept."""

    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    async def all_events(url: str) -> list[ModelEvent]:
        model = make(url, Edge(clock=lambda: 100.0, sleep=sleep, dice=random.Random(1)))
        try:
            async with aclosing(model.stream(question)) as stream:
                return [event async for event in stream]
        finally:
            await model.close()

    with serve(double) as url:
        return asyncio.run(all_events(url))


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.piece for event in events if isinstance(event, BlockGrew) and event.kind == "text")


def last_answer(events: list[ModelEvent]) -> Message:
    last = events[-1]
    assert isinstance(last, Answered), last
    return last.response.message


@EACH
def test_an_answer_streams_and_ends_whole(make: Make, double: type[Double]) -> None:
    events = ask(double(replies([answer("Hello there.")])), make, said("Hi"))

    assert ("Hello there.", "Hello there.") == (
        text_of(events),
        "".join(block.text for block in last_answer(events).content if isinstance(block, Text)),
    )


@EACH
def test_our_own_bytes_are_the_body(make: Make, double: type[Double]) -> None:
    server = double(replies([answer("Hello.")]))
    question = said("Ünïcode ✓ and \u2028 more")
    ask(server, make, question)
    model = make("http://127.0.0.1", Edge())
    asyncio.run(model.close())

    assert model.codec.encode_request(model.request(question)) == server.received[0].raw


@EACH
def test_half_a_character_leaves_as_a_mark_since_providers_take_such_a_body_for_no_json(
    make: Make, double: type[Double]
) -> None:
    server = double(replies([answer("Hello.")]))
    ask(server, make, said("half \udcff, \\ud800 told of, \\\ud83d end"))
    sent = server.received[0].raw

    assert b"half \xef\xbf\xbd, \\\\ud800 told of, \\\\\xef\xbf\xbd end" in sent


@EACH
@pytest.mark.parametrize(
    "fault", [Overloaded(), ServerError(), RateLimited(retry_after=3), Cut(after=2), ErrorInStream(after=3)]
)
def test_a_failure_that_passes_is_retried_with_the_same_bytes(make: Make, double: type[Double], fault: Fault) -> None:
    server = double(replies([answer("Hello."), answer("Hello.")]))
    server.faults.append(fault)
    waits: list[float] = []
    events = ask(server, make, said("Hi"), waits)

    assert (1, 1, True) == (
        len(waits),
        sum(isinstance(event, Retrying) for event in events),
        server.received[0].raw == server.received[1].raw and isinstance(events[-1], Answered),
    )


@EACH
def test_a_retry_after_shown_output_says_that_the_output_is_void(make: Make, double: type[Double]) -> None:
    server = double(replies([answer("One two three four five six seven."), answer("Again.")]))
    server.faults.append(Cut(after=3))
    events = ask(server, make, said("Hi"))
    place = next(index for index, event in enumerate(events) if isinstance(event, Retrying))
    retry = events[place]

    assert isinstance(retry, Retrying)
    assert (place > 0, "Again.") == (retry.shown, text_of(events[place:]))


@EACH
def test_retries_end(make: Make, double: type[Double]) -> None:
    server = double()
    server.faults.extend([Overloaded()] * 20)
    events = ask(server, make, said("Hi"))
    last = events[-1]

    assert isinstance(last, Failure)
    assert ("overloaded", Patience().tries) == (last.kind, len(server.received))


@EACH
def test_a_spending_cap_is_not_a_hang(make: Make, double: type[Double]) -> None:
    server = double()
    server.faults.extend([RateLimited(retry_after=None)] * 20)
    last = ask(server, make, said("Hi"))[-1]

    assert isinstance(last, Failure)
    assert last.kind in ("rate_limit", "billing")


@EACH
def test_a_request_over_the_window_is_an_overflow_and_not_retried(make: Make, double: type[Double]) -> None:
    server = double()
    last = ask(server, make, said("many words and more " * 300_000))[-1]

    assert isinstance(last, Failure)
    assert ("overflow", 1) == (last.kind, len(server.received))


@EACH
def test_a_long_silence_with_keep_alives_is_no_failure(make: Make, double: type[Double]) -> None:
    server = double(replies([answer("Late.")]))
    server.faults.append(Slow(wait=lambda: None))

    assert "Late." == text_of(ask(server, make, said("Hi")))


@EACH
def test_nobody_at_the_address_is_a_network_failure(make: Make, double: type[Double]) -> None:
    async def events() -> list[ModelEvent]:
        async def sleep(_seconds: float) -> None: ...

        model = make("http://127.0.0.1:9", Edge(sleep=sleep))
        async with aclosing(model.stream(said("Hi"))) as stream:
            found = [event async for event in stream]
        await model.close()
        return found

    last = asyncio.run(events())[-1]

    assert isinstance(last, Failure)
    assert "network" == last.kind


def test_a_whole_answer_comes_back_equal_from_a_stream_and_from_a_body() -> None:
    turn = Turn(parts=(Think(text="Hm."), Say(text="Look.")))

    def asked(stream: bool) -> Message:
        def make(url: str, edge: Edge) -> HttpModel:
            api = AnthropicApi(more={"stream": stream})
            return anthropic("claude-opus-5-5", api_key="any", url=url, api=api, edge=edge)

        return last_answer(ask(AnthropicDouble(replies([turn])), make, said("Hi")))

    assert asked(stream=True).content == asked(stream=False).content


async def a_page(_scope: object, _receive: object, send: Callable[[dict[str, object]], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"<html>Sign in</html>"})


def test_a_page_instead_of_an_answer_is_no_stream_that_broke_off_and_is_not_asked_for_again() -> None:
    async def all_events() -> list[ModelEvent]:
        edge = Edge(client=httpx.AsyncClient(transport=httpx.ASGITransport(app=a_page)))
        model = of_chat("http://proxy", edge)
        async with aclosing(model.stream(said("Hi"))) as stream:
            return [event async for event in stream]

    events = asyncio.run(all_events())

    assert [Failure] == [type(event) for event in events]
    assert "http://proxy/v1 answered with a web page" in str(events[0])
