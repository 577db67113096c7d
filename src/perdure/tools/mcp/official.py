"""MCP servers reached with the official SDK: through a process's pipes, or over streamable HTTP.

It knows the SDK. It must never be imported by what runs without a server, since the SDK takes over a second to import:
`perdure.tools.mcp.loading` imports it in a thread. Everything that a server says leaves here as plain JSON, and what
the SDK raises as one of two errors. Needs the extra `mcp`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from perdure.guard.plain import clip, one_line
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, decode_object
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp.pipe import LINE, Mutterings, piped
from perdure.tools.mcp.ports import Connect, Connection, Notice, ServerGone, first_of
from perdure.tools.mcp.settings import HttpServer, Server, StdioServer

PAGES = 20
"""Pages of a list of tools that are read: a list without an end must not hang a session."""
AGAIN = 30.0
"""Seconds until a server is listened to again whose stream broke off, as proxies have it."""
REACH = 10.0
"""Seconds to reach an address."""

_GONE = frozenset({mcp_types.CONNECTION_CLOSED})
_ENDED = "Session terminated"
"""What the SDK says for HTTP's 404 within a session (streamable_http.py, 2.3): the server has forgotten us."""


def connector(logs: Path) -> Connect:
    """The way to reach servers. What their processes write to stderr is kept in a folder, a file for each."""
    # Without a handler the SDK's warnings would go to the terminal, in the middle of somebody's screen.
    logging.getLogger("mcp").addHandler(logging.NullHandler())

    @asynccontextmanager
    async def connect(server: Server, notice: Notice) -> AsyncGenerator[Connection]:
        match server:
            case StdioServer():
                mutterings = Mutterings(logs / f"mcp-{server.name}.log")
                try:
                    async with _spoken_to(Client(piped(server, mutterings, notice.lost), cache=None), notice) as spoken:
                        yield spoken
                except* MCPError as errors:
                    last = " / ".join(mutterings.last) or "it wrote nothing to stderr"
                    raise ToolFailed(f"{first_of(errors)}; its last words: {last}") from errors
            case HttpServer():
                async with _http(server) as http:
                    transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=LINE)
                    async with _spoken_to(Client(transport, cache=None), notice) as spoken:
                        yield spoken

    return connect


class Spoken:
    """A connection over an SDK's client."""

    def __init__(self, client: Client, notice: Notice) -> None:
        self._client, self._notice = client, notice

    @property
    def instructions(self) -> str:
        """What the server says about itself."""
        return self._client.instructions or ""

    async def tools(self) -> Sequence[JsonObject]:
        """All pages of its tools."""
        found: list[JsonObject] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
            found.extend(_plain(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in page.tools)
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    async def call(self, name: str, arguments: JsonObject) -> JsonObject:
        """Call a tool."""
        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            said = clip(one_line(error.message), 2_000)
            if error.code in _GONE or error.message == _ENDED:
                raise ServerGone(said) from error
            raise ToolFailed(f"The server refused the call ({error.code}): {said}") from error
        except (httpx2.HTTPError, OSError) as error:
            raise ServerGone(type(error).__name__) from error
        # The SDK checks results against schemas with several libraries, whose errors have no common name.
        except Exception as error:
            raise ToolFailed(f"The server's answer is no result ({type(error).__name__}).") from error
        return _plain(result.model_dump_json(by_alias=True, exclude_none=True))


@asynccontextmanager
async def _spoken_to(client: Client, notice: Notice) -> AsyncGenerator[Spoken]:
    async def hear(message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            notice.changed()

    client.message_handler = hear
    client.client_info = mcp_types.Implementation(name="perdure", version="1")
    async with client, asyncio.TaskGroup() as group:
        watching = group.create_task(_watch(client, notice))
        try:
            yield Spoken(client, notice)
        finally:
            watching.cancel()


async def _watch(client: Client, notice: Notice) -> None:
    """Since 2026-07-28 a server tells of changes only to whoever listens. What it said while nobody could is made up
    for by asking anew, which also finds out that it is gone."""
    heard = client.protocol_version in MODERN_PROTOCOL_VERSIONS
    while heard:
        heard = False
        try:
            async with client.listen(tools_list_changed=True) as changes:
                heard = True
                async for _ in changes:
                    notice.changed()
        # Servers without changes refuse to be listened to, each in its own way, and streams break off in many.
        except Exception:  # noqa: BLE001, S110
            pass
        if heard:
            await asyncio.sleep(AGAIN)
            notice.changed()


@asynccontextmanager
async def _http(server: HttpServer) -> AsyncGenerator[httpx2.AsyncClient]:
    timeout = httpx2.Timeout(REACH, read=server.seconds + REACH)
    hooks = {"response": [_bound]}
    async with httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, event_hooks=hooks) as client:
        yield client


async def _bound(response: httpx2.Response) -> None:
    """Events have a bound of their own in the SDK; a body that is read whole has it here."""
    if "text/event-stream" not in response.headers.get("content-type", "") and isinstance(
        response.stream, httpx2.AsyncByteStream
    ):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off where it is too long."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = LINE
        async for chunk in self._stream:
            room -= len(chunk)
            if room < 0:
                raise httpx2.StreamError(f"the answer is longer than {LINE:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._stream.aclose()


def _plain(text: str) -> JsonObject:
    try:
        return decode_object(text)
    except InvalidJson as error:
        raise ToolFailed("The server's answer is no JSON that a request could hold.") from error
