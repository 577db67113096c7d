"""The other side: requests to upstreams and their answers, byte for byte.

It knows headers, connections and whose key goes where. It must never change a body, and never show the gateway's own
key to an upstream or an upstream's to a client.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import field

import anyio
import httpx

from perdure.gateway.config import Route
from perdure.gateway.door import Reply
from perdure.kernel.errors import CallRefused, UserError
from perdure.kernel.messages import JsonObject, decode_object
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect
from perdure.providers.sse import EventReader

HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "host", "content-length", "accept-encoding", "expect", "cookie", "set-cookie", "forwarded",
    "x-forwarded-for", "x-real-ip",
})  # fmt: skip
"""Headers of one connection (RFC 9110, 7.6.1), and those that say where a client is or who it is elsewhere."""

AUTHORIZING = frozenset({"authorization", "x-api-key"})

VERSION = "2023-06-01"
"""`anthropic-version`, where the client named none."""

PATHS: Mapping[Dialect, str] = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
}


@value
class Outgoing:
    """A request to an upstream."""

    route: Route
    path: str
    body: bytes
    headers: Mapping[str, str] = field(repr=False)
    query: str = ""


class Upstreams:
    """Sends requests. One pool of connections for all routes."""

    def __init__(self, client: httpx.AsyncClient, sent: Callable[[], None]) -> None:
        """Send with this client; `sent` is told of each request."""
        self._client, self._sent = client, sent

    async def open(self, outgoing: Outgoing) -> httpx.Response:
        """Send a request and wait for the head of its answer, whose body is to be read or closed.

        Raises:
            CallRefused: nothing came back.
        """
        query = f"?{outgoing.query}" if outgoing.query else ""
        request = self._client.build_request(
            "POST",
            f"{outgoing.route.origin}{outgoing.path}{query}",
            content=outgoing.body,
            headers={**outgoing.headers, "content-type": "application/json", "accept-encoding": "identity"},
        )
        self._sent()
        try:
            return await self._client.send(request, stream=True)
        except httpx.TimeoutException as error:
            raise CallRefused("the upstream did not answer in time", status=504) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CallRefused(f"the upstream cannot be reached ({type(error).__name__})", status=502) from error

    async def whole(self, outgoing: Outgoing) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request and read the whole answer.

        Raises:
            CallRefused: it did not come, or broke off.
        """
        response = await self.open(outgoing)
        try:
            return response.status_code, lower(response.headers), await response.aread()
        except httpx.HTTPError as error:
            raise CallRefused(f"the upstream's answer broke off ({type(error).__name__})", status=502) from error
        finally:
            await close(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


async def close(response: httpx.Response) -> None:
    """Close an answer, also while everything is being cancelled: else the upstream would go on with it."""
    with anyio.CancelScope(shield=True):
        await response.aclose()


def lower(headers: httpx.Headers) -> dict[str, str]:
    """Headers with names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def onward(headers: Mapping[str, str], route: Route, spent: frozenset[str], *, same: bool) -> dict[str, str]:
    """The headers of a request as they go on: with the route's key, or the caller's own.

    `same` is whether the upstream speaks the client's dialect; else what is particular to that stays behind.
    """
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    kept = {
        name: value
        for name, value in headers.items()
        if name not in HOP and name not in spent and name not in named and not name.startswith("perdure-")
    }
    if not same:
        kept = {name: value for name, value in kept.items() if name in AUTHORIZING or name == "user-agent"}
        shown = kept.pop("x-api-key", "") or kept.pop("authorization", "").partition(" ")[2]
        kept.pop("authorization", None)
        if shown:
            kept |= authorizing(route.dialect, shown)
    if route.key is not None:
        kept = {name: value for name, value in kept.items() if name not in AUTHORIZING}
        kept |= authorizing(route.dialect, route.key)
    if route.dialect == "anthropic":
        kept.setdefault("anthropic-version", VERSION)
    return kept


def authorizing(dialect: Dialect, key: str) -> dict[str, str]:
    """The header that holds a key."""
    return {"x-api-key": key} if dialect == "anthropic" else {"authorization": f"Bearer {key}"}


def homeward(response: httpx.Response) -> dict[str, str]:
    """The headers of an answer as the client gets them."""
    return {
        name: value for name, value in lower(response.headers).items() if name not in HOP and name != "content-encoding"
    }


def relayed(response: httpx.Response, seen: Callable[[JsonObject], None] | None, broken: bytes) -> Reply:
    """An answer on its way to the client, byte for byte.

    `seen` is told each event of a stream, or the whole of another answer. `broken` ends a stream that broke off.
    """
    streamed = "event-stream" in response.headers.get("content-type", "")
    headers = homeward(response)
    if not streamed and (length := response.headers.get("content-length")):
        headers["content-length"] = length
    return Reply(status=response.status_code, headers=headers, chunks=_bytes(response, seen, streamed, broken))


async def _bytes(
    response: httpx.Response, seen: Callable[[JsonObject], None] | None, streamed: bool, broken: bytes
) -> AsyncGenerator[bytes, None]:
    reader = EventReader()
    whole = bytearray()
    try:
        async with aclosing(aiter_raw(response)) as chunks:
            async for chunk in chunks:
                yield chunk
                if seen is not None and streamed:
                    _tell(reader, chunk, seen)
                elif seen is not None:
                    whole += chunk
        if seen is not None and not streamed:
            _tell_whole(bytes(whole), seen)
    except httpx.HTTPError:
        if streamed:
            yield broken
        else:
            raise
    finally:
        await close(response)


def aiter_raw(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The bytes of an answer as they come; the generator that this is may be closed."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        async for chunk in response.aiter_raw():
            yield chunk

    return pieces()


def _tell(reader: EventReader, chunk: bytes, seen: Callable[[JsonObject], None]) -> None:
    """Events beside the bytes: what makes no sense here may still do so to the client, who gets it anyway."""
    try:
        for event in reader.feed(chunk):
            seen(event)
    except UserError:
        return


def _tell_whole(body: bytes, seen: Callable[[JsonObject], None]) -> None:
    try:
        seen(decode_object(body))
    except UserError:
        return
