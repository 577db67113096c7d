"""One server, for as long as a session lasts: reached in the background, reached again when it is lost.

It knows when to try and when to rest. It must never know how a server is reached. One task enters and leaves each
connection, since the SDK's contexts belong to the task that entered them; calls come from any task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeAlias

from perdure.guard.plain import clip, one_line
from perdure.kernel.messages import JsonObject
from perdure.kernel.value import value
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp.described import Remote, cleaned, instructions_of, remotes_of
from perdure.tools.mcp.ports import Connect, Connection, Notice, ServerGone, first_of
from perdure.tools.mcp.settings import Server, hide

State: TypeAlias = Literal["starting", "ready", "lost", "resting", "closed"]
"""`lost`: reached again after a pause. `resting`: it failed too often in a row, and is tried again when called."""

PROBLEM = 600
"""Characters told of what went wrong."""


@value
class Pace:
    """Bounds, in seconds, and how often a server is tried."""

    connect: float = 30.0
    """To reach a server and read its tools."""
    first: float = 1.0
    """Pause after the first failure; each further one doubles it."""
    longest: float = 30.0
    """The longest pause."""
    tries: int = 5
    """Failures in a row after which a server rests."""
    steady: float = 60.0
    """How long a server has to stay for its loss to be the first of a row again: one that comes and falls over at once
    would be started for ever."""


class Link:
    """A server and the tools that it had last."""

    def __init__(self, server: Server, pace: Pace, changed: Callable[[], None]) -> None:
        self.server = server
        self.state: State = "starting"
        self.problem = ""
        """What went wrong last, without secrets; empty where all is well."""
        self.remotes: tuple[Remote, ...] = ()
        """What it offered when it was last asked."""
        self.instructions = ""
        self.settled = asyncio.Event()
        """It was reached once, or could not be."""
        self._pace, self._changed = pace, changed
        self._connection: Connection | None = None
        self._tried, self._wanted, self._stir = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._closing = self._stale = self._lost = False

    def close(self) -> None:
        """Let go of the server soon."""
        self._closing = True
        self._stir.set()
        self._wanted.set()

    async def live(self, connect: Connect) -> None:
        """Keep the server reached until it is closed. Raises nothing that a server caused."""
        failures = 0
        while not self._closing:
            began = asyncio.get_running_loop().time()
            try:
                await self._session(connect)
            # A server, its process and the SDK between us raise whatever they like.
            except Exception as error:  # noqa: BLE001
                self.problem = self._told(error)
                if self.state != "ready":
                    self._tried.set()
            lasted = asyncio.get_running_loop().time() - began
            failures = 1 if self.state == "ready" and lasted >= self._pace.steady else failures + 1
            self._gone(failures)
            if not self._closing:
                await self._pause(failures)
        self.state = "closed"
        self.settled.set()

    async def call(self, remote: Remote, arguments: JsonObject) -> JsonObject:
        """Call a tool; a server that is lost is waited for.

        Raises:
            ToolFailed: it cannot be reached, does not answer in time, has no such tool any more, or refused.
        """
        connection = await self._reached()
        if remote.tool not in {each.tool for each in self.remotes}:
            raise ToolFailed(
                f"The MCP server {self.server.name!r} no longer offers {remote.tool!r}. Do not call it again; "
                "search for another tool, or do without."
            )
        try:
            async with asyncio.timeout(self.server.seconds):
                return await connection.call(remote.tool, arguments)
        except TimeoutError as error:
            raise ToolFailed(
                f"{remote.tool!r} of the MCP server {self.server.name!r} did not answer within {self.server.seconds:g} "
                "seconds. The call was cancelled; what it did until then is unknown."
            ) from error
        except ServerGone as error:
            self._drop()
            raise ToolFailed(
                f"The MCP server {self.server.name!r} went away before it answered ({self._told(error)}); what the "
                "call did until then is unknown. It is reached again for the next call."
            ) from error
        except ToolFailed as error:
            raise ToolFailed(self._told(error)) from error

    async def _session(self, connect: Connect) -> None:
        """Reach the server, and stay until it is lost or closed."""
        self._lost = self._stale = False
        self._stir.clear()
        notice = Notice(changed=self._note_change, lost=self._drop)
        async with asyncio.timeout(self._pace.connect) as bound, connect(self.server, notice) as connection:
            await self._read(connection)
            bound.reschedule(None)
            self._connection, self.state, self.problem = connection, "ready", ""
            self._tried.set()
            self.settled.set()
            self._changed()
            while not (self._closing or self._lost):
                if self._stale:
                    self._stale = False
                    async with asyncio.timeout(self._pace.connect):
                        await self._read(connection)
                    self._changed()
                await self._stir.wait()
                self._stir.clear()

    async def _read(self, connection: Connection) -> None:
        self.remotes = remotes_of(self.server.name, await connection.tools())
        self.instructions = instructions_of(connection.instructions)

    async def _reached(self) -> Connection:
        """The connection; where there is none, the outcome of the next try is waited for."""
        if self._connection is None and not self._closing:
            self._tried.clear()
            self._wanted.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.connect):
                    await self._tried.wait()
        if self._connection is None:
            why = f": {self.problem}" if self.problem else ""
            raise ToolFailed(
                f"The MCP server {self.server.name!r} cannot be reached{why}. Do without, or tell the user."
            )
        return self._connection

    async def _pause(self, failures: int) -> None:
        """Rest before the next try, unless somebody calls."""
        wait = None
        if failures <= self._pace.tries:
            wait = min(self._pace.longest, self._pace.first * 2 ** (failures - 1))
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wanted.wait()
        self._wanted.clear()

    def _gone(self, failures: int) -> None:
        self._connection = None
        self.state = "resting" if failures > self._pace.tries else "lost"
        self.settled.set()
        self._changed()

    def _note_change(self) -> None:
        self._stale = True
        self._stir.set()

    def _drop(self) -> None:
        """The connection is no longer any good."""
        self._lost = True
        self._connection = None
        self._stir.set()

    def _told(self, error: BaseException) -> str:
        error = first_of(error)
        said = cleaned(str(error)) if not isinstance(error, TimeoutError) else "it did not answer in time"
        named = said if isinstance(error, ToolFailed | TimeoutError) else f"{type(error).__name__}: {said}"
        return clip(one_line(hide(named, self.server)), PROBLEM)
