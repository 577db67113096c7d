"""Bodies that nobody should send: every one gets an answer in its protocol's form, and none is a failure of ours."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, cast

import httpx
import pytest
from starlette.types import Message

from perdure.gateway import Config, Gateway, Parts, Route
from perdure.gateway.app import CALLS
from perdure.kernel.messages import Json, encode_json
from perdure.testing.doubles import AnthropicDouble

MODEL = "claude-sonnet-4-6"
ANSWER = encode_json({
    "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 1, "output_tokens": 1},
})  # fmt: skip
USAGE: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
CHOICE: Json = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
SAID: Json = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
ANSWERS: dict[str, bytes] = {
    "/v1/messages": ANSWER,
    "/v1/chat/completions": encode_json({"id": "c", "object": "x", "model": "m", "choices": [CHOICE], "usage": USAGE}),
    "/v1/responses": encode_json({"id": "r", "object": "response", "status": "completed", "output": [SAID]}),
}
USE: Json = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
SEEDS: dict[str, Json] = {
    "/v1/messages": {
        "model": MODEL,
        "max_tokens": 100,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2_000},
        "context_management": {
            "edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 0}}]
        },
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x" * 100}]},
        ],
    },
    "/v1/chat/completions": {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "r", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "r", "parameters": {}}}],
    },
    "/v1/responses": {
        "model": MODEL,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "call_id": "1", "name": "r", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "x"},
        ],
        "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
    },
}
FORGED: Json = {"type": "compaction", "content": "x", "signature": "pdc1.x", "encrypted_content": "pdc2.a.b"}
WILD: list[Json] = [
    FORGED,
    [FORGED],
    None,
    True,
    -1,
    10**40,
    1.5,
    "",
    "\ud800",
    "x" * 1_000,
    [],
    {},
    [[]],
    {"type": "text"},
    [None, 1],
]


def mutated(dice: random.Random, value: Json) -> Json:
    """The value with one part of it replaced, taken out or doubled."""
    if dice.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return dice.choice(WILD)
    if isinstance(value, dict):
        key = dice.choice(list(value))
        if dice.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: mutated(dice, value[key])}
    place = dice.randrange(len(value))
    if dice.random() < 0.15:
        return [*value, value[place]]
    return [*value[:place], mutated(dice, value[place]), *value[place + 1 :]]


async def post(gateway: Gateway, path: str, body: bytes) -> tuple[int, bytes]:
    told: list[Message] = []
    waiting = [cast("Message", {"type": "http.request", "body": body})]

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: Message) -> None:
        told.append(message)

    headers = [(b"x-api-key", b"any"), (b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    await gateway(scope, receive, send)
    return told[0]["status"], b"".join(message.get("body", b"") for message in told[1:])


@pytest.mark.parametrize("native", ["never", "prefer"])
@pytest.mark.parametrize("path", list(SEEDS))
def test_no_mutated_body_makes_the_gateway_fail(path: str, native: Any) -> None:
    async def instant(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(ANSWERS[path]), headers={"content-type": "application/json"})

    dialect: Any = {"/v1/messages": "anthropic", "/v1/responses": "responses"}.get(path, "chat")

    async def attack() -> list[tuple[int, bytes, bytes]]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(instant))
        route = Route(dialect=dialect, auto=native == "never", recall=True, native=native, window=50_000)
        gateway = Gateway(Config(open=True, routes=(route,)), Parts(client=client))
        dice = random.Random(f"{path} {native}")
        bad: list[tuple[int, bytes, bytes]] = []
        for _ in range(400):
            body = SEEDS[path]
            for _ in range(dice.randrange(1, 4)):
                body = mutated(dice, body)
            if isinstance(body, dict) and dice.random() < 0.9:
                # Most get as far as they can.
                body = {**body, "model": MODEL}
            raw = encode_json(body)
            if dice.random() < 0.1:
                raw = raw[: dice.randrange(len(raw) + 1)]
            status, answered = await post(gateway, path, raw)
            if status == 500 or b"Traceback" in answered or (status != 200 and b'"error"' not in answered):
                bad.append((status, raw, answered))
        await gateway.close()
        return bad

    assert [] == asyncio.run(attack())


@pytest.mark.parametrize(
    "raw",
    [b"", b"[" * 100_000, b'{"model":"' + b"x" * 10, b"\xff\xfe\x00", b'{"model": NaN}', b"null", b'{"model":1e999}'],
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    async def ask() -> int:
        gateway = Gateway(Config(open=True))
        status, _ = await post(gateway, "/v1/messages", raw)
        await gateway.close()
        return status

    assert 400 == asyncio.run(ask())


async def at_once(_: float) -> None:
    """No pause for who shows no key."""


def test_the_description_names_what_can_be_called_and_nothing_else(front: Callable[..., Any]) -> None:
    url = front(AnthropicDouble(), config={"key": "sesame"}, parts=Parts(pause=at_once)).url
    with httpx.Client(base_url=url) as client:
        described: dict[str, Any] = client.get("/openapi.json").json()["paths"]
        statuses = {
            (path, method): client.request(method, path, json={}, headers={"x-api-key": "sesame"}).status_code
            for path in described
            for method in ("get", "post")
        }
        shut = {path for path in described if client.get(path).status_code == 401}

    assert CALLS.keys() <= described.keys()
    assert {(path, method) for path, methods in described.items() for method in methods if method != "parameters"} == {
        key for key, status in statuses.items() if status in (200, 400, 403) or key == ("/v1/models/{model}", "get")
    }
    assert shut == {path for path, methods in described.items() if all(one.get("security") for one in ways(methods))}


def ways(methods: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for name, value in methods.items() if name != "parameters"]
