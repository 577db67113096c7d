"""What the MCP client asks of a connection to a server, in plain JSON.

It knows shapes and contracts. It must never know the SDK: `perdure.tools.mcp.official` does, which takes over a second
to import, and so is imported by whoever has a server to reach and by nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias, cast

from perdure.kernel.messages import JsonObject
from perdure.kernel.value import value
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp.settings import Server


class ServerGone(ToolFailed):
    """The connection is lost, so that the call had no answer."""


class Connection(Protocol):
    """A server that was reached. Everything that it says is hostile until it was bounded and cleaned."""

    @property
    def instructions(self) -> str:
        """What the server says about itself; may be long."""
        ...

    async def tools(self) -> Sequence[JsonObject]:
        """The tools that it has now, as it describes them: all pages, and no answer from a cache.

        Raises:
            ToolFailed: it gave no list.
        """
        ...

    async def call(self, name: str, arguments: JsonObject) -> JsonObject:
        """Call a tool by the server's own name for it; the result as it came. Cancelling it tells the server.

        Raises:
            ServerGone: the connection is lost.
            ToolFailed: the server refused the call, or answered with what is no result.
        """
        ...


@value
class Notice:
    """What a connection tells while it stands. Neither may be called from another thread."""

    changed: Callable[[], None]
    """The server says that its tools changed."""
    lost: Callable[[], None]
    """The server is gone."""


Connect: TypeAlias = Callable[[Server, Notice], AbstractAsyncContextManager[Connection]]
"""Reaches a server. Entered and left in one task, which may be cancelled meanwhile; leaving it is bounded and leaves no
process behind. What it raises is told to people, with the secrets of the settings taken out."""


def first_of(error: BaseException) -> BaseException:
    """The first error of a group of them, which says what went wrong; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
