"""The two pipes to an editor, a message to a line.

It knows bytes, lines and what makes a line no message; such a line is answered with an error, and the next one is read.
It must never know a method.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from perdure.kernel.errors import InvalidJson, UserError
from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json

LONGEST = 64 * 1024 * 1024
"""Bytes of a message: images come in base64."""

PARSE, INVALID, INTERNAL = -32700, -32600, -32603
"""Codes of JSON-RPC 2.0."""


class Pipe:
    """Messages in and out. `acp.Connection` reads and writes them here."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hang_up: Callable[[], None]) -> None:
        """A pipe. `hang_up` ends what the reader reads."""
        self._reader, self._writer, self._hang_up = reader, writer, hang_up
        self.sent: Callable[[JsonObject], None] = _nothing
        """Told of each message once it stands in the pipe, so that something may follow an answer."""

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; waits where the editor does not read."""
        try:
            line = encode_json(cast("JsonObject", message))
        except (InvalidJson, TypeError, ValueError):
            # A library's report on what was wrong may hold objects that no JSON has.
            line = encode_json(_error(cast("Json", message.get("id")), INTERNAL, "The answer is no JSON"))
        self._writer.write(line + b"\n")
        self.sent(cast("JsonObject", message))
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None once the editor has gone."""
        while (line := await self._line()) is not None:
            if not line.strip():
                continue
            try:
                message = decode_json(line)
            except InvalidJson as error:
                await self.send(_error(None, PARSE, f"The line is no JSON: {error}"))
                continue
            wrong = _wrong_with(message)
            if wrong:
                await self.send(_error(_id_of(message), INVALID, wrong))
            elif isinstance(message, dict):
                return message
        return None

    async def close(self) -> None:
        """Nothing is read any more."""
        self.end()

    def end(self) -> None:
        """As if the editor had gone."""
        self._hang_up()

    async def _line(self) -> bytes | None:
        """A line, or a word on one that is too long; None at the end."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial or None
        except asyncio.LimitOverrunError as error:
            await self._skip(error)
            return b"(a message that is too long)"
        except OSError:
            return None

    async def _skip(self, error: asyncio.LimitOverrunError) -> None:
        """Read over the rest of a line that nobody can hold."""
        with suppress(asyncio.IncompleteReadError):
            while True:
                await self._reader.readexactly(error.consumed)
                try:
                    await self._reader.readuntil(b"\n")
                except asyncio.LimitOverrunError as again:
                    error = again
                else:
                    return


async def standard_pipe() -> Pipe:
    """The pipes that the editor gave. Whatever else writes to standard output from here on, goes to standard error.

    Raises:
        UserError: they are none.
    """
    if not all(_is_pipe(number) for number in (0, 1)):
        raise UserError(
            "an editor starts `perdure acp` and speaks with it through pipes; docs/acp.md says how it is set up"
        )
    taken, given = os.dup(0), os.dup(1)
    # Children inherit 0 and 1: none may read a message, or write between two.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST)
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(taken, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(given, "wb", 0))
    return Pipe(reader, asyncio.StreamWriter(transport, protocol, None, loop), reading.close)


def _is_pipe(number: int) -> bool:
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _nothing(_message: JsonObject) -> None:
    """Nobody listens."""


def _wrong_with(message: Json) -> str:
    """Why something is no message; empty where it is one."""
    if not isinstance(message, dict):
        return "A message is an object, one to a line"
    if "method" not in message:
        return "" if "result" in message or "error" in message else "A message has a method, or a result"
    if not isinstance(message["method"], str):
        return "The method is no text"
    if not isinstance(message.get("id", 0), str | int | None):
        return "The id is neither a text nor a number"
    if not isinstance(message.get("params", {}), dict | None):
        return "The params are no object"
    return ""


def _id_of(message: Json) -> Json:
    given = message.get("id") if isinstance(message, dict) else None
    return given if isinstance(given, str | int) else None


def _error(about: Json, code: int, words: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": about, "error": {"code": code, "message": words}}
