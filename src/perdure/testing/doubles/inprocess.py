"""Asking a double without a socket.

It knows ASGI through httpx. It must never know what is asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import cast

import httpx
from starlette.types import ASGIApp

from perdure.kernel.messages import encode_json
from perdure.kernel.value import value
from perdure.testing.doubles.shape import Body

ANTHROPIC_HEADERS: Mapping[str, str] = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
OPENAI_HEADERS: Mapping[str, str] = {"authorization": "Bearer any"}


@value
class Answered:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        """The JSON object that came back."""
        return cast("Body", json.loads(self.raw))

    @property
    def events(self) -> list[Body]:
        """The events of a stream, without OpenAI's closing `[DONE]`."""
        lines = [line.removeprefix("data: ") for line in self.raw.decode().splitlines() if line.startswith("data: ")]
        return [cast("Body", json.loads(line)) for line in lines if line != "[DONE]"]


def post(app: ASGIApp, path: str, body: Body | bytes, headers: Mapping[str, str]) -> Answered:
    """Send one request and wait for the whole answer. Not for use inside a running event loop."""

    async def ask() -> Answered:
        # The transport alone: a client would load certificates each time, for nothing.
        content = body if isinstance(body, bytes) else encode_json(body)
        request = httpx.Request("POST", f"http://double{path}", content=content, headers=dict(headers))
        response = await httpx.ASGITransport(app=app).handle_async_request(request)
        return Answered(status=response.status_code, headers=dict(response.headers), raw=await response.aread())

    return asyncio.run(ask())
