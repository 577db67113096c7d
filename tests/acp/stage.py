"""An editor in front of the server: the protocol library's own client, over the pipes of a process or of a socket.

It knows what an editor does. It must never know what a test asks of it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from acp import spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from perdure.acp import serve
from perdure.acp.pipe import LONGEST, Pipe
from perdure.cli.acp import Rooms
from perdure.project.settings import from_flags

PATIENCE = 30.0


class Editor:
    """What an editor holds, hears and answers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        """Updates, by session."""
        self.asked: list[tuple[str, ToolCallUpdate, list[PermissionOption]]] = []
        self.choose: Callable[[list[PermissionOption]], str | None] = lambda _options: "once"
        self.buffers: dict[str, str] = {}
        self.saved: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self.answers = asyncio.Event()
        """Cleared: the user thinks about a question."""
        self.answers.set()

    def texts(self, session: str, kind: str = "agent_message_chunk") -> str:
        """All text of a kind."""
        return "".join(
            update["content"]["text"]
            for name, update in self.heard
            if name == session and update["sessionUpdate"] == kind
        )

    def updates(self, session: str, *kinds: str) -> list[dict[str, Any]]:
        """Updates of some kinds."""
        return [update for name, update in self.heard if name == session and update["sessionUpdate"] in kinds]

    async def until(self, holds: Callable[[Editor], object]) -> None:
        """Wait until something was heard."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: holds(self))

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        async with self._changed:
            self.heard.append((session_id, update.model_dump(mode="json", by_alias=True, exclude_none=True)))
            self._changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_more: Any
    ) -> RequestPermissionResponse:
        async with self._changed:
            self.asked.append((session_id, tool_call, options))
            self._changed.notify_all()
        await self.answers.wait()
        chosen = self.choose(options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_more: Any) -> ReadTextFileResponse:
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id: str, path: str, content: str, **_more: Any) -> WriteTextFileResponse:
        self.saved[path] = content
        await asyncio.to_thread(Path(path).write_text, content)
        return WriteTextFileResponse()

    def on_connect(self, conn: Any) -> None:
        """Nothing is asked for before the test does."""


CAN = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))


@asynccontextmanager
async def connected(
    environment: dict[str, str], editor: Editor, **flags: int | str
) -> AsyncGenerator[ClientSideConnection]:
    """The server in this process, over a socket; gone when the block ends, with every session closed."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    rooms = Rooms(environment=environment, flags=from_flags(flags))
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(rooms, lambda: _pipe(theirs)))
        connection = ClientSideConnection(cast("Client", editor), writer, reader, use_unstable_protocol=True)
        try:
            await connection.initialize(protocol_version=1, client_capabilities=CAN)
            yield connection
        finally:
            await connection.close()
            writer.close()


@asynccontextmanager
async def spawned(environment: dict[str, str], editor: Editor) -> AsyncGenerator[tuple[ClientSideConnection, Any]]:
    """The server as a process."""
    program = (sys.executable, "-m", "perdure.cli", "acp")
    async with spawn_agent_process(
        cast("Client", editor), *program, env={**environment, "PYTHONWARNINGS": "error"}, use_unstable_protocol=True
    ) as (connection, process):
        await connection.initialize(protocol_version=1, client_capabilities=CAN)
        yield connection, process


def environment_of(top: Path, url: str | None = None) -> dict[str, str]:
    """A home without settings, and a key for the double."""
    found = {"PATH": os.environ["PATH"], "HOME": str(top), "PERDURE_HOME": str(top / "home")}
    return found if url is None else {**found, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}


async def _pipe(end: socket.socket) -> Pipe:
    reader, writer = await asyncio.open_connection(sock=end, limit=LONGEST)
    return Pipe(reader, writer, writer.close)
