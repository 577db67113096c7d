"""HTTP on the client's side: a body read within its limits, an answer sent, and a client that leaves noticed.

It knows ASGI. It must never know what a body means. Whoever answers is cancelled when the client leaves, so that its
connection upstream closes too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import anyio
from starlette.types import Message, Receive, Scope, Send

from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import JsonObject, encode_json

Chunks: TypeAlias = AsyncGenerator[bytes, None]

Hold: TypeAlias = Callable[[int], None]
"""Told of bytes that are kept; refuses them where there is no room."""

LONGEST_NUMBER = 18
"""Digits of a length: a longer one is no length, and takes long to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer: its whole body, or the pieces as they come."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    chunks: Chunks | None = None


def json_reply(value: JsonObject, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A JSON answer."""
    return Reply(
        status=status, headers={"content-type": "application/json", **(headers or {})}, body=encode_json(value)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Names in lower case; of several with one name, joined."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Who hears how an answer went."""

    left: Callable[[], None]
    """Its client left before it was whole."""
    failed: Callable[[BaseException], None]
    """It broke off on our side, after its head was sent: the connection closes, which tells the client."""


async def answer(
    arrived: Arrived, receive: Receive, send: Send, handle: Callable[[Arrived], Awaitable[Reply]], watcher: Watcher
) -> None:
    """Have a request answered, and stop when its client leaves."""
    done = False
    try:
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                if not done:
                    watcher.left()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            reply = await handle(arrived)
            await send_reply(reply, send)
            done = True
            group.cancel_scope.cancel()
    # Whatever it was, the client sees its connection close, and the log says where.
    except* Exception as failures:  # noqa: BLE001
        watcher.failed(failures.exceptions[0])


async def send_reply(reply: Reply, send: Send) -> None:
    """Send an answer."""
    headers = dict(reply.headers)
    if reply.chunks is None:
        headers["content-length"] = str(len(reply.body))
    start: Message = {
        "type": "http.response.start",
        "status": reply.status,
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()
        ],
    }
    if reply.chunks is None:
        await send(start)
        await send({"type": "http.response.body", "body": reply.body})
        return
    async with aclosing(reply.chunks) as chunks:
        await send(start)
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def arrive(scope: Scope, receive: Receive, *, most: int, seconds: float, hold: Hold) -> Arrived:
    """Read a request. Its bytes take up room until `hold` gives it back.

    Raises:
        CallRefused: its body is too large, or did not arrive in time, or there is no room for it now.
    """
    headers = headers_of(scope)
    told = headers.get("content-length", "")
    if told.isdecimal() and (len(told) > LONGEST_NUMBER or int(told) > most):
        raise _too_large(most)
    body = b""
    with anyio.move_on_after(seconds) as limit:
        body = await _read(receive, most, hold)
    if limit.cancelled_caught:
        raise CallRefused(f"the request's body did not arrive within {seconds:g} seconds", status=408)
    return Arrived(
        method=scope["method"],
        path=scope["path"],
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=headers,
        body=body,
    )


def again(body: bytes, receive: Receive) -> Receive:
    """What tells a body that was read already, and then what comes behind it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def told() -> Message:
        return waiting.pop() if waiting else await receive()

    return told


def address_of(scope: Scope) -> str:
    """Where a request came from: the client's address, or that of the proxy before it."""
    client: object = scope.get("client")
    return str(cast("tuple[object, ...]", client)[0]) if isinstance(client, tuple) and client else ""


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request: names in lower case; of several with one name, joined."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _read(receive: Receive, most: int, hold: Hold) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallRefused("the client left before its request was whole", status=400)
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise _too_large(most)
        hold(len(piece))
        pieces.append(piece)
        if not message.get("more_body"):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(most: int) -> CallRefused:
    return CallRefused(f"the request is larger than {most} bytes, which is the most that is taken", status=413)
