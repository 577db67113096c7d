"""An interruption reaches the socket: the provider is not left to go on with an answer that nobody reads."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import pytest

from perdure.kernel.agent import Agent, Event
from perdure.kernel.messages import text_of
from perdure.providers import Edge, HttpModel, anthropic, chat, openai

SOON = 1.0
"""Seconds."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BEGUN = {
    "anthropic": (
        b'data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],'
        b'"model":"m","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Once upon"}}\n\n'
    ),
    "responses": (
        b'data: {"type":"response.created","response":{"id":"r","object":"response","status":"in_progress",'
        b'"output":[]}}\n\n'
        b'data: {"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"message",'
        b'"status":"in_progress","role":"assistant","content":[]}}\n\n'
        b'data: {"type":"response.content_part.added","item_id":"i","output_index":0,"content_index":0,'
        b'"part":{"type":"output_text","text":"","annotations":[]}}\n\n'
        b'data: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,'
        b'"delta":"Once upon"}\n\n'
    ),
    "chat": (
        b'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":'
        b'{"role":"assistant","content":"Once upon"},"finish_reason":null}]}\n\n'
    ),
}
MAKE: dict[str, Callable[[str, Edge], HttpModel]] = {
    "anthropic": lambda url, edge: anthropic("claude-opus-5-5", api_key="any", url=url, edge=edge),
    "responses": lambda url, edge: openai("gpt-5", api_key="any", url=f"{url}/v1", edge=edge),
    "chat": lambda url, edge: chat("gpt-4.1", api_key="any", url=f"{url}/v1", edge=edge),
}


@dataclass(slots=True)
class Slow:
    """A server that begins an answer and never ends it, and notes when the client hangs up."""

    begun: bytes
    """Empty: it does not even answer."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if self.begun:
            writer.write(HEAD + b"%x\r\n%b\r\n" % (len(self.begun), self.begun))
            await writer.drain()
        self.asked.set()
        while await reader.read(65_536):
            pass
        self.left.set()
        writer.close()


async def interrupted(make: Callable[[str, Edge], HttpModel], begun: bytes) -> tuple[str, float, str]:
    """The state of the run, the seconds from the interruption until the server saw the end, and what was kept."""
    slow = Slow(begun)
    server = await asyncio.start_server(slow.serve, "127.0.0.1", 0)
    edge = Edge()
    model = make(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", edge)
    agent, shown = Agent(model), asyncio.Event()

    def listen(event: Event) -> None:
        if event.name == "message_delta":
            shown.set()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        run = group.create_task(agent.run("Tell me a story.", listen))
        await (shown if begun else slow.asked).wait()
        since = monotonic()
        agent.interrupt()
        end = await run
        await slow.left.wait()
        spent = monotonic() - since
    await model.close()
    server.close()
    await server.wait_closed()
    last = agent.transcript[-1]
    return end.state, spent, text_of(last.content) if last.role == "assistant" else ""


@pytest.mark.parametrize("dialect", BEGUN)
def test_an_interruption_in_an_answer_closes_the_connection_at_once(dialect: str) -> None:
    state, spent, kept = asyncio.run(interrupted(MAKE[dialect], BEGUN[dialect]))

    assert ("interrupted", "Once upon") == (state, kept)
    assert spent < SOON


@pytest.mark.parametrize("dialect", BEGUN)
def test_so_does_one_before_the_first_byte_of_it(dialect: str) -> None:
    state, spent, kept = asyncio.run(interrupted(MAKE[dialect], b""))

    assert ("interrupted", "") == (state, kept)
    assert spent < SOON
