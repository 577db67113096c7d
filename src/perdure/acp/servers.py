"""MCP servers as an editor names them, in the form of the settings.

It knows both forms. It must never start one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from perdure.kernel.errors import UserError
from perdure.kernel.messages import Json, JsonObject

Given = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

LONGEST = 24
"""Characters of a server's name, which becomes a part of the names of its tools."""

_ODD = re.compile(r"[^A-Za-z0-9]+")


def settings_of(given: Sequence[Given] | None) -> dict[str, JsonObject]:
    """The servers, by names that settings can have.

    Raises:
        UserError: one that cannot be reached from here.
    """
    found: dict[str, JsonObject] = {}
    for server in given or ():
        name = _name(server.name, found)
        match server:
            case McpServerStdio():
                environment: dict[str, Json] = {pair.name: pair.value for pair in server.env}
                found[name] = {"command": server.command, "args": [*server.args], "env": environment}
            case HttpMcpServer():
                headers: dict[str, Json] = {pair.name: pair.value for pair in server.headers}
                found[name] = {"url": server.url, "headers": headers}
            case _:
                raise UserError(
                    f"the MCP server {server.name[:80]!r} is reached by {server.type}; Perdure reaches servers that "
                    "are started as a command, or over streamable HTTP"
                )
    return found


def _name(given: str, taken: dict[str, JsonObject]) -> str:
    name = _ODD.sub("-", given).strip("-")[:LONGEST].strip("-") or "server"
    number = 1
    while name in taken:
        number += 1
        name = f"{name[: LONGEST - 4].rstrip('-')}-{number}"
    return name
