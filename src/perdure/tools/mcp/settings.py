"""MCP servers as the settings name them: a command of this machine, or an address.

It knows what a server is made of, and what a setting may not say. It must never start one. The values of headers and
of `env` are secrets: they stay out of every text that is made from a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Json, JsonObject, kind_of
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

CALL = 120.0
"""Seconds of a call, unless `timeout` says otherwise."""
LONGEST_CALL = 3_600.0

INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""What a server's process gets of the environment beside what its `env` gives: no key of anybody's."""

HIDDEN = "[hidden]"
SHORTEST_SECRET = 6
"""Characters of a value under which it is no secret, and would blot out common words."""

_NAME = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?![_]))*")
_VARIABLE = pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_KEYS = frozenset({"command", "args", "env", "url", "headers", "timeout"})


@value
class StdioServer:
    """A server that is started as a process and spoken to through its pipes."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """All that the process gets."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that no text may hold."""
    cwd: Path
    seconds: float = CALL
    """Bound on a call."""


@value
class HttpServer:
    """A server at an address, spoken to over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that no text may hold."""
    seconds: float = CALL
    """Bound on a call."""


Server: TypeAlias = StdioServer | HttpServer


def servers_of(given: Mapping[str, Json], environment: Mapping[str, str], cwd: Path) -> tuple[Server, ...]:
    """The servers that settings name, by name: `{command, args, env}` or `{url, headers}`, with `timeout` in seconds.

    `${NAME}` in a value of `args`, `env`, `url` or `headers` stands for a variable of the environment.

    Raises:
        InvalidSetting: a server that is none.
    """
    return tuple(_server(name, given[name], environment, cwd) for name in sorted(given))


def hide(text: str, server: Server) -> str:
    """The same text without the server's secrets."""
    for secret in sorted(server.secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _server(name: str, given: Json, environment: Mapping[str, str], cwd: Path) -> Server:
    where = f"mcp.{name}"
    # The name becomes part of `mcp__server__tool`, where two underscores end it.
    if not _NAME.fullmatch(name) or name.endswith("_") or len(name) > 24:
        raise InvalidSetting(f"{where}: a server's name is 1 to 24 letters, digits, '-' or single '_', not {name!r}")
    if not isinstance(given, dict):
        raise InvalidSetting(f"{where} is {kind_of(given)}; give it command and args, or url and headers")
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise InvalidSetting(f"{where} has no setting {unknown[0]!r}; there are: {', '.join(sorted(_KEYS))}")
    if ("command" in given) == ("url" in given):
        raise InvalidSetting(f"{where} needs either a command or a url, and not both")
    seconds = _seconds(given, where)
    if "url" in given:
        return _http(name, given, environment, seconds)
    own = _texts(given, "env", where, environment)
    inherited = {key: environment[key] for key in INHERITED if key in environment}
    return StdioServer(
        name=name,
        command=_text(given.get("command"), f"{where}.command"),
        args=tuple(_list(given, where, environment)),
        environment={**inherited, **own},
        secrets=_secrets(own.values()),
        cwd=cwd,
        seconds=seconds,
    )


def _http(name: str, given: JsonObject, environment: Mapping[str, str], seconds: float) -> HttpServer:
    where = f"mcp.{name}"
    url = _filled(_text(given.get("url"), f"{where}.url"), f"{where}.url", environment)
    headers = _texts(given, "headers", where, environment)
    if any(not text.isprintable() for text in (url, *headers, *headers.values())):
        raise InvalidSetting(f"{where}: an address and headers are printable, on one line each")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = None, None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise InvalidSetting(f"{where}.url is no address; it begins with https://, or http:// on this machine")
    if parts.username or parts.password:
        raise InvalidSetting(f"{where}.url holds a user or a password; give it as a header instead")
    if headers and parts.scheme == "http" and host not in _LOCAL:
        raise InvalidSetting(f"{where} would send its headers in the clear; use https:// for {host!r}")
    return HttpServer(name=name, url=url, headers=headers, secrets=_secrets(headers.values()), seconds=seconds)


def _secrets(values: Iterable[str]) -> tuple[str, ...]:
    """The values, and the words of each: `Bearer abc` hides `abc` as well."""
    words = {word for text in values for word in (text, *text.split())}
    return tuple(sorted(word for word in words if len(word) >= SHORTEST_SECRET))


def _seconds(given: JsonObject, where: str) -> float:
    value = given.get("timeout", CALL)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_CALL:
        raise InvalidSetting(f"{where}.timeout must be a number of seconds, up to {LONGEST_CALL:.0f}")
    return float(value)


def _list(given: JsonObject, where: str, environment: Mapping[str, str]) -> list[str]:
    value = given.get("args", [])
    if not isinstance(value, list):
        raise InvalidSetting(f"{where}.args is {kind_of(value)}; it must be a list of strings")
    return [_filled(_text(each, f"{where}.args"), f"{where}.args", environment) for each in value]


def _texts(given: JsonObject, key: str, where: str, environment: Mapping[str, str]) -> dict[str, str]:
    value = given.get(key, {})
    if not isinstance(value, dict):
        raise InvalidSetting(f"{where}.{key} is {kind_of(value)}; it must be a table of strings")
    return {
        name: _filled(_text(each, f"{where}.{key}.{name}"), f"{where}.{key}.{name}", environment)
        for name, each in value.items()
    }


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidSetting(f"{where} must be a string that is not empty")
    return value


def _filled(text: str, where: str, environment: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in environment:
            raise InvalidSetting(f"{where} names the variable {found[1]!r}, which is not set")
        return environment[found[1]]

    return _VARIABLE.sub(value, text)
