"""A server's process, spoken to by lines of JSON through its pipes.

It knows processes, and that a server's output may be anything: lines that are no JSON are passed over, a line without
an end ends the connection, and what it writes to stderr goes to a bounded file. It must never know what a message says.
Needs the extra `mcp`.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

import anyio
import mcp_types
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from perdure.kernel.value import record
from perdure.tools.mcp.settings import StdioServer

LINE = 16 * 1024 * 1024
"""Bytes of a line: ten pictures, and less than what would fill memory."""
KEPT = 1024 * 1024
"""Bytes kept of what a process writes to stderr."""
LAST = 3
"""Lines of it that are told when the process fails."""
FLUSH = 0.5
"""Seconds in which what was said last has to reach the process."""
PATIENCE = 2.0
"""Seconds that a process has to end by itself once its input is closed, and again once it was asked to end."""
LOOK = 0.01
"""Seconds between two looks at whether a process has ended: waiting for it would also wait for whoever holds its
pipes."""

Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]


@record()
class Mutterings:
    """What a process wrote to stderr: whole in a file up to a bound, and the last of it here."""

    path: Path
    last: deque[str] = field(default_factory=lambda: deque[str](maxlen=LAST))

    async def take(self, stream: ByteReceiveStream) -> None:
        """Read until it ends. The file is written anew by each process, and is for the user alone."""
        room = KEPT
        with suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for chunk in stream:
                    room -= os.write(file, chunk[:room])
                    self.last.extend(
                        line.strip()[:180] for line in chunk.decode("utf-8", "replace").splitlines() if line.strip()
                    )
        finally:
            os.close(file)


@asynccontextmanager
async def piped(
    server: StdioServer, mutterings: Mutterings, lost: Callable[[], None]
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Start a server's process, and end it with the context: within seconds, with everything that it started.

    Raises:
        OSError: it cannot be started.
    """
    process = await anyio.open_process(
        [server.command, *server.args], env=dict(server.environment), cwd=server.cwd, start_new_session=True
    )
    # Nothing is awaited before the group is entered, or a cancellation in between would leave the process behind.
    said, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    flushed = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_hear, process, said, lost)
        group.start_soon(_say, process, to_say, flushed)
        if process.stderr is not None:
            group.start_soon(mutterings.take, process.stderr)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                with anyio.move_on_after(FLUSH):
                    await flushed.wait()
                await _end(process)
            group.cancel_scope.cancel()
            for stream in (incoming, outgoing, said, to_say):
                stream.close()


async def _hear(
    process: Process, said: MemoryObjectSendStream[SessionMessage | Exception], lost: Callable[[], None]
) -> None:
    """Pass on each line that is a message, until the process has no more to say."""
    if process.stdout is None:
        return
    pending: list[bytes] = []
    size = 0
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with said:
            async for chunk in process.stdout:
                first, *rest = chunk.split(b"\n")
                pending.append(first)
                size += len(first)
                for line in rest:
                    await _pass_on(b"".join(pending), said)
                    pending, size = [line], len(line)
                if size > LINE:
                    break
    lost()
    # A process that cannot write does not read either: what it still says is thrown away until it ends.
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            await process.stdout.receive()


async def _pass_on(line: bytes, said: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        # Servers print greetings and warnings where only messages belong.
        return
    await said.send(SessionMessage(message))


async def _say(process: Process, to_say: MemoryObjectReceiveStream[SessionMessage], flushed: anyio.Event) -> None:
    try:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for message in to_say:
                if process.stdin is not None:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(line.encode() + b"\n")
    finally:
        flushed.set()


async def _end(process: Process) -> None:
    """Close its input, wait, ask, and kill: the process, and whatever it started and left behind."""
    if process.stdin is not None:
        with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            await process.stdin.aclose()
    await _until(lambda: process.returncode is not None)
    for asked in (signal.SIGTERM, signal.SIGKILL):
        # The group has the number of its leader, also when that has ended.
        if not _signal(process.pid, asked):
            break
        await _until(lambda: process.returncode is not None and not _signal(process.pid, 0))
    with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        await process.aclose()


async def _until(over: Callable[[], bool]) -> None:
    with anyio.move_on_after(PATIENCE):
        # The event of a process's end is the one of its pipes too, which a grandchild may hold open.
        while not over():  # noqa: ASYNC110
            await anyio.sleep(LOOK)


def _signal(group: int, number: int) -> bool:
    """Whether there was anybody to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
