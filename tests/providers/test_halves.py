"""A character that a stream cuts in two comes out whole, on the screen and in the message."""

import asyncio
from contextlib import aclosing

import httpx
import pytest

from perdure.kernel.agent import Answered, Ask
from perdure.kernel.messages import JsonObject, Message, Text, ToolUse, text_of
from perdure.kernel.messages.pieces import join_pieces
from perdure.kernel.wire import BlockGrew
from perdure.providers import Edge, HttpModel, anthropic, chat, openai

FIRST, SECOND = r"a\ud83d", r"\ude00b"
WHOLE = "a\U0001f600b"

STREAMS = {
    "anthropic": [
        '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m",'
        '"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{FIRST}"}}}}',
        f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{SECOND}"}}}}',
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
        '{"type":"message_stop"}',
    ],
    "responses": [
        '{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","output":[]}}',
        '{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"message",'
        '"status":"in_progress","role":"assistant","content":[]}}',
        '{"type":"response.content_part.added","item_id":"i","output_index":0,"content_index":0,'
        '"part":{"type":"output_text","text":"","annotations":[]}}',
        f'{{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"{FIRST}"}}',
        f'{{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"{SECOND}"}}',
        '{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","output":[]}}',
    ],
    "chat": [
        f'{{"id":"c","model":"m","choices":[{{"index":0,"delta":{{"role":"assistant","content":"{FIRST}"}}}}]}}',
        f'{{"id":"c","model":"m","choices":[{{"index":0,"delta":{{"content":"{SECOND}"}},"finish_reason":"stop"}}]}}',
        "[DONE]",
    ],
}


def model_of(dialect: str, edge: Edge) -> HttpModel:
    match dialect:
        case "anthropic":
            return anthropic("claude-opus-5-5", api_key="any", url="http://any", edge=edge)
        case "responses":
            return openai("gpt-5", api_key="any", url="http://any/v1", edge=edge)
        case _:
            return chat("gpt-4.1", api_key="any", url="http://any/v1", edge=edge)


@pytest.mark.parametrize("dialect", STREAMS)
def test_halves_of_a_character_are_joined(dialect: str) -> None:
    body = "".join(f"data: {line}\n\n" for line in STREAMS[dialect]).encode()

    def reply(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    async def ask() -> tuple[list[str], str]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(reply), trust_env=False)
        model = model_of(dialect, Edge(client))
        question = Message(id="m0", role="user", content=(Text(text="Hi"),), provenance="user")
        pieces: list[str] = []
        said = ""
        async with client, aclosing(model.stream(Ask(messages=(question,)))) as stream:
            async for event in stream:
                if isinstance(event, BlockGrew):
                    pieces.append(event.piece)
                if isinstance(event, Answered):
                    said = text_of(event.response.message.content)
        return pieces, said

    assert (["a", "\U0001f600b"], WHOLE) == asyncio.run(ask())


def test_arguments_of_a_call_are_joined_too() -> None:
    model = anthropic("claude-opus-5-5", api_key="any")
    decoder = model.codec.stream()
    decoder.feed({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "m"}})
    start: JsonObject = {"type": "tool_use", "id": "t", "name": "write", "input": {}}
    decoder.feed({"type": "content_block_start", "index": 0, "content_block": {**start}})
    for piece in ('{"text":"a\ud83d', '\ude00b"}'):
        delta = {"type": "input_json_delta", "partial_json": piece}
        decoder.feed({"type": "content_block_delta", "index": 0, "delta": {**delta}})
    decoder.feed({"type": "content_block_stop", "index": 0})
    asyncio.run(model.close())

    assert [{"text": WHOLE}] == [
        block.input for block in decoder.response().message.content if isinstance(block, ToolUse)
    ]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [(("a", "b"), "ab"), (("\ud83d", "\ude00"), "\U0001f600"), (("\ud83d", "a"), "\ud83da"), (("é\ude00",), "é\ude00")],
)
def test_a_half_without_its_other_stays_as_it_came(pieces: tuple[str, ...], whole: str) -> None:
    assert whole == join_pieces(pieces)
