"""The gateway on a port: connections that are too slow end, and it ends itself so that a balancer sees it coming.

It knows the server's protocol class, timers and signals. It must never know what a request asks. A client that reads
slowly is waited for with a bounded buffer, and meanwhile nothing more is read from its upstream; one that reads nothing
is let go.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from perdure.gateway.app import Gateway
from perdure.gateway.config import Config
from perdure.kernel.errors import InvalidSetting, PerdureError

LOG = logging.getLogger("perdure.gateway")


class Server(uvicorn.Server):
    """Serves a gateway until it is told to stop.

    `SIGTERM` turns `/readyz` to 503 first, and ends new connections after the configuration's notice; a second one, and
    `SIGINT`, end them at once. `SIGHUP` reads the configuration again.
    """

    def __init__(self, gateway: Gateway, again: Callable[[], Config] | None = None) -> None:
        """A server; `again` reads the configuration once more, and may raise what reading one raises."""
        self._gateway, self._again = gateway, again
        self._leaves_at: float | None = None
        self._reloads = False
        super().__init__(_listening(gateway))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See `uvicorn.Server`."""
        if sig != signal.SIGTERM or self._gateway.draining or not self._gateway.config.drain_notice:
            super().handle_exit(sig, frame)
            return
        self._gateway.draining = True

    def reload(self) -> None:
        """Read the configuration again, soon: a signal may come at any moment."""
        self._reloads = True

    async def on_tick(self, counter: int) -> bool:
        """See `uvicorn.Server`: ten times a second."""
        now = asyncio.get_running_loop().time()
        if self._gateway.draining and self._leaves_at is None:
            self._leaves_at = now + self._gateway.config.drain_notice
        if self._leaves_at is not None and now >= self._leaves_at:
            self.should_exit = True
        if self._reloads and self._again is not None:
            self._reloads = False
            self._read(self._again)
        return await super().on_tick(counter)

    def _read(self, again: Callable[[], Config]) -> None:
        try:
            self._gateway.reload(again())
        except PerdureError as error:
            LOG.error("the configuration was not read again, and the former one goes on: %s", error)
            return
        LOG.warning("the configuration was read again: %d routes", len(self._gateway.config.routes))


def run(gateway: Gateway, again: Callable[[], Config], ready: Callable[[], None]) -> None:
    """Serve on the configuration's address until a signal ends it; `ready` is called once callers can connect.

    Raises:
        InvalidSetting: the address cannot be had.
    """
    server = Server(gateway, again)
    place = _bound(gateway.config)
    ready()

    def hung_up(sig: int, frame: FrameType | None) -> None:
        server.reload()

    # Not every system has it.
    if (hangup := getattr(signal, "SIGHUP", None)) is not None:
        signal.signal(hangup, hung_up)
    server.run(sockets=[place])


def _bound(config: Config) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=2_048)
    except OSError as error:
        raise InvalidSetting(
            f"cannot listen on {config.host}:{config.port} ({error.strerror or error}); end what listens there, or "
            f"choose another place with --port or --host"
        ) from error


def _listening(gateway: Gateway) -> uvicorn.Config:
    config = gateway.config
    return uvicorn.Config(
        gateway,
        host=config.host,
        port=config.port,
        # Its parser bounds headers; the faster one does not.
        http=_watched(gateway),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=bool(config.proxies),
        forwarded_allow_ips=list(config.proxies),
        limit_concurrency=config.max_connections,
        h11_max_incomplete_event_size=config.max_header_bytes,
        timeout_graceful_shutdown=max(1, round(config.drain_seconds)),
    )


def _watched(gateway: Gateway) -> type[H11Protocol]:
    """Connections of this gateway that end when they are too slow."""

    class Watched(H11Protocol):
        heading: asyncio.TimerHandle | None = None
        """Until the headers of a request have to have come."""
        writing: asyncio.TimerHandle | None = None
        """Until the client has to have taken something."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.heading = self.loop.call_later(gateway.config.header_seconds, transport.abort)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            between = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
            if between and self.heading is None:
                self.heading = self.loop.call_later(gateway.config.header_seconds, self.transport.abort)
            if not between:
                self.heading = _ended(self.heading)

        def pause_writing(self) -> None:
            super().pause_writing()
            self.writing = self.loop.call_later(gateway.config.send_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self.writing = _ended(self.writing)

        def connection_lost(self, exc: Exception | None) -> None:
            self.heading, self.writing = _ended(self.heading), _ended(self.writing)
            super().connection_lost(exc)

    return Watched


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
