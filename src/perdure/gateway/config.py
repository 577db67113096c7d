"""What a gateway is set to do: routes from models to upstreams, and limits.

It knows options, their ranges and where a key may come from. It must never know a request. A file is TOML; a key in it
is named by an environment variable or by a file of its own, and never written there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from perdure.kernel.context import PRESETS
from perdure.kernel.errors import InvalidSetting, UnreadableFile
from perdure.kernel.wire import Dialect
from perdure.memory.postgres import SHORTEST_KEY

Native: TypeAlias = Literal["prefer", "never", "only"]

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a request: Anthropic's own limit (errors page, 2026-08)."""

MAX_BODIES = 512 * 1024 * 1024
"""Bytes of all requests under way; decoded they take about four times as much."""

LASTING = ("host", "port", "keys", "store", "store_key", "state", "memory", "audit", "secret", "proxies",
           "max_bodies", "max_header_bytes", "max_connections", "drain_notice", "drain_seconds")  # fmt: skip
"""What a running gateway cannot change."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
NATIVES: tuple[Native, ...] = get_args(Native)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where requests for some models go, and what happens to them on the way."""

    name: str = ""
    """What keys call it that are good for some routes only; empty: the pattern of its models."""
    model: str = "*"
    """A pattern that the model's name has to match, such as `claude-*`."""
    dialect: Dialect = "anthropic"
    """What the upstream speaks."""
    base_url: str = "https://api.anthropic.com"
    """Its address, with or without `/v1` at the end."""
    key: str | None = field(default=None, repr=False)
    """The upstream's key; None passes the caller's own key through."""
    upstream_model: str = ""
    """What the upstream calls the model; empty: as the client does."""
    window: int | None = None
    """Tokens of the model's window; None: what is known of the model."""
    advertised_window: int | None = None
    """The window that clients are told of; None: the real one."""
    native: Native = "prefer"
    """Whether the upstream does context editing and compaction itself: `prefer` leaves it to the upstream, `never`
    does it here, and `only` refuses what the upstream of this route cannot."""
    auto: bool = False
    """Whether the engine works for clients that ask for nothing."""
    recall: bool = False
    """Whether the model gets the recall tool, answered here."""
    memory: bool = False
    """Whether calls of the memory tool are carried out here."""
    preset: Literal["balanced", "cautious", "thrifty"] = "balanced"
    summarizer: str = ""
    """The model that writes summaries, at the same upstream; empty: the one that answers."""

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or self.model

    @property
    def origin(self) -> str:
        """The address in front of `/v1`."""
        return self.base_url.rstrip("/").removesuffix("/v1")

    def model_for(self, asked: str) -> str:
        """What the upstream calls the model that a client asked for."""
        return self.upstream_model or asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A gateway as a whole."""

    routes: tuple[Route, ...] = (Route(),)
    host: str = "127.0.0.1"
    port: int = 8790
    key: str | None = field(default=None, repr=False)
    """The one key that callers have to show."""
    keys: Path | None = None
    """The SQLite file of keys, each for a tenant and a user of its own."""
    store: str | None = field(default=None, repr=False)
    """The address of a PostgreSQL server that holds keys, conversations, counts and memories for any number of
    replicas, in the place of files."""
    store_key: str = field(default="", repr=False)
    """Proves to that server whose rows are asked for: what `perdure keys setup` was given."""
    metrics_key: str = field(default="", repr=False)
    """What an operator shows at `/metrics`, which counts for all tenants together; empty: nobody is told where keys are
    those of several."""
    open: bool = False
    """Whether programs of this machine may call without a key: for development, and to be asked for."""
    tenant: str = "local"
    """Whose conversations and memory these are, where there is one key or none."""
    user: str = "local"
    state: Path | None = None
    """The SQLite file of conversations; None: they are kept as long as the process."""
    memory: Path | None = None
    """The folder of memories; None: there is no memory."""
    max_body: int = MAX_BODY
    """Bytes of a request."""
    max_bodies: int = MAX_BODIES
    """Bytes of all requests under way: beyond it callers are told to come again."""
    max_depth: int = 200
    """Levels of nesting of a request's body."""
    max_headers: int = 100
    """Headers of a request."""
    max_header_bytes: int = 32_768
    """Bytes of a request's first line and headers."""
    max_connections: int = 2_000
    """Connections at one time; beyond it they are answered with 503."""
    header_seconds: float = 10.0
    """Seconds within which a request's headers have to have arrived, and the first one's from when it is connected."""
    body_seconds: float = 60.0
    """Seconds within which a request's body has to have arrived."""
    answer_seconds: float = 600.0
    """Seconds that an upstream may stay silent."""
    call_seconds: float = 3_600.0
    """Seconds that a call may take, from its body to the end of its answer."""
    send_seconds: float = 60.0
    """Seconds that a client may take nothing of what waits for it; meanwhile nothing more is read from the upstream."""
    drain_notice: float = 5.0
    """Seconds between the signal to end, from which `/readyz` says 503, and the end of new connections."""
    drain_seconds: float = 30.0
    """Seconds that calls under way have from then on."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose `x-forwarded-for` and `x-forwarded-proto` are believed."""
    audit: Path | None = None
    """The file that a line is appended to for each request: who, when, which route, how it ended; no contents."""
    secret: str = field(default="", repr=False)
    """Signs compaction blocks; empty: made anew at each start, so that blocks from before it are refused."""

    def route_for(self, model: str) -> Route | None:
        """The first route whose pattern matches."""
        return next((route for route in self.routes if fnmatchcase(model, route.model)), None)

    def check(self) -> Config:
        """The same, if it can be served.

        Raises:
            InvalidSetting: nobody could call, or everybody, or options exclude one another.
        """
        ways = [self.key is not None, self.keys is not None, self.open]
        if sum(ways) > 1 or not (self.store or any(ways)):
            raise InvalidSetting(
                "say who may call, in one way: `keys` (a file that `perdure keys add` writes), `store` (a server with "
                "keys), `key` (one key for all), or `open` (programs of this machine, without a key, for development)"
            )
        if self.store and len(self.store_key.encode()) < SHORTEST_KEY:
            raise InvalidSetting(f"`store` needs `store_key`, a random text of {SHORTEST_KEY} bytes or more")
        if self.store and (self.state or self.memory):
            raise InvalidSetting("`store` holds conversations and memories: leave out `state` and `memory`")
        if self.open and self.host not in ("127.0.0.1", "::1", "localhost"):
            raise InvalidSetting(
                f"the gateway would listen on {self.host!r} without a key, open to everybody: "
                f"use keys, or listen on 127.0.0.1"
            )
        if not 0 <= self.port <= 65_535:
            raise InvalidSetting(f"'port' is {self.port}; it has to be from 0 (any that is free) to 65535")
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise InvalidSetting(f"{name!r} is {getattr(self, name)}; it has to be more than 0")
        for route in self.routes:
            if route.memory and self.memory is None and self.store is None:
                raise InvalidSetting(f"the route {route.model!r} has `memory`, and there is no folder for it: set one")
        return self

    def following(self, former: Config) -> Config:
        """The same, if a running gateway with the former one can take it.

        Raises:
            InvalidSetting: it needs a restart, or cannot be served.
        """
        changed = [name for name in LASTING if getattr(self, name) != getattr(former, name)]
        if changed or (self.key is None) != (former.key is None) or self.open != former.open:
            raise InvalidSetting(f"{', '.join(changed) or 'who may call'} cannot change while it runs: restart it")
        return self.check()


def read_config(path: Path, environment: Mapping[str, str]) -> Config:
    """The configuration in a file.

    Raises:
        UnreadableFile: it cannot be read.
        InvalidSetting: it is no TOML, or an option is unknown or of the wrong kind.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{str(path)!r} is no TOML: {error}") from error
    return config_of(given, environment)


def config_of(given: Mapping[str, object], environment: Mapping[str, str]) -> Config:
    """The configuration of a mapping, as a TOML file has it.

    Raises:
        InvalidSetting: an option is unknown or of the wrong kind.
    """
    fields = dict(given)
    routes = fields.pop("route", None)
    config = cast("Config", _filled(Config(), fields, environment, _TOP))
    if routes is None:
        return config
    if not isinstance(routes, list):
        raise InvalidSetting("`route` is a list of tables: write [[route]]")
    tables = cast("Sequence[Mapping[str, object]]", routes)
    made = [cast("Route", _filled(Route(), dict(table), environment, _ROUTE)) for table in tables]
    return replace(config, routes=tuple(made))


_TOP: Mapping[str, type] = {
    "host": str,
    "port": int,
    "key": str,
    "keys": Path,
    "store": str,
    "store_key": str,
    "metrics_key": str,
    "open": bool,
    "tenant": str,
    "user": str,
    "audit": Path,
    "state": Path,
    "memory": Path,
    "max_body": int,
    "max_bodies": int,
    "max_depth": int,
    "max_headers": int,
    "max_header_bytes": int,
    "max_connections": int,
    "header_seconds": float,
    "body_seconds": float,
    "answer_seconds": float,
    "call_seconds": float,
    "send_seconds": float,
    "drain_notice": float,
    "drain_seconds": float,
    "proxies": tuple,
    "secret": str,
}
_POSITIVE = (
    *(name for name in _TOP if name.startswith("max_")),
    *("header_seconds", "body_seconds", "answer_seconds", "call_seconds", "send_seconds"),
)
_ROUTE: Mapping[str, type] = {
    "name": str,
    "model": str,
    "dialect": str,
    "base_url": str,
    "key": str,
    "upstream_model": str,
    "window": int,
    "advertised_window": int,
    "native": str,
    "auto": bool,
    "recall": bool,
    "memory": bool,
    "preset": str,
    "summarizer": str,
}
_CHOICES: Mapping[str, Sequence[str]] = {"dialect": DIALECTS, "native": NATIVES, "preset": tuple(PRESETS)}
_SECRET = ("key", "secret", "store", "store_key", "metrics_key")


def _filled(
    start: Config | Route, given: Mapping[str, object], environment: Mapping[str, str], kinds: Mapping[str, type]
) -> Config | Route:
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in kinds:
            raise InvalidSetting(f"there is no option {name!r}; there are {', '.join(kinds)}")
        values[name] = _secret(name, value, environment) if name in _SECRET else _checked(name, value, kinds[name])
    # The names were checked against the class above, and the kinds of the values with them.
    return replace(start, **values)  # pyright: ignore[reportArgumentType]


def _checked(name: str, value: object, kind: type) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    if kind is tuple and isinstance(value, list):
        return tuple(str(item) for item in cast("list[object]", value))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidSetting(f"{name!r} is {value!r}; it has to be of the kind {kind.__name__}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise InvalidSetting(f"{name!r} is {value!r}; there are {', '.join(_CHOICES[name])}")
    return value


def _secret(name: str, value: object, environment: Mapping[str, str]) -> str:
    """What stands in the environment under the name behind `env:`, or in the file behind `file:`."""
    if isinstance(value, str) and value.startswith("file:"):
        return _told_by(name, Path(value.removeprefix("file:")).expanduser())
    if not isinstance(value, str) or not value.startswith("env:"):
        raise InvalidSetting(
            f'{name!r} has to name an environment variable, as in "env:MY_KEY", or a file of its own, as in '
            f'"file:/run/secrets/my_key": keys do not stand in this one'
        )
    variable = value.removeprefix("env:")
    found = environment.get(variable)
    if not found:
        raise InvalidSetting(f"{name!r} names the environment variable {variable!r}, which is not set")
    return found


def _told_by(name: str, path: Path) -> str:
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{name!r} names the file {str(path)!r}, which cannot be read") from error
    if not found:
        raise InvalidSetting(f"{name!r} names the file {str(path)!r}, which is empty")
    return found
