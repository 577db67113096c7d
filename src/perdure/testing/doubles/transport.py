"""HTTP as both doubles speak it: bodies in, JSON and event streams out, and connections that break.

It knows ASGI. It must never know what a body means.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from perdure.kernel.messages import encode_json
from perdure.testing.doubles.shape import Body

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a request."""


async def read_body(request: Request) -> bytes:
    """The body, read no further than a little past the limit."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        if size <= MAX_BODY:
            chunks.append(chunk)
            size += len(chunk)
    return b"".join(chunks)


def decode_body(raw: bytes) -> Body | None:
    """The body if it is a JSON object, else None."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast("Body", value) if isinstance(value, dict) else None


def json_response(value: object, *, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(encode_json(cast("Body", value)), status_code=status, media_type="application/json")


class CutResponse(Response):
    """An answer of which half arrives before the connection closes, as uvicorn does when an application ends early."""

    def __init__(self, body: bytes | memoryview) -> None:
        super().__init__(bytes(body), media_type="application/json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send half (ASGI)."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})


class EventStream(Response):
    """Server-sent events, or the first of them before the connection closes."""

    def __init__(
        self, chunks: AsyncIterator[bytes], *, headers: Mapping[str, str] | None = None, cut_after: int | None = None
    ) -> None:
        super().__init__(None, media_type="text/event-stream", headers={"cache-control": "no-cache", **(headers or {})})
        del self.headers["content-length"]
        self._chunks, self._cut_after = chunks, cut_after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events (ASGI)."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sent = 0
        async for chunk in self._chunks:
            if sent == self._cut_after:
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            sent += 1
        await send({"type": "http.response.body", "body": b"", "more_body": False})
