"""Connections to a PostgreSQL server, each used by one piece of work at a time, as one principal.

It knows transactions, and connections that broke. It must never know a table. A piece of work runs in a thread and to
its end, whatever becomes of the client that it is for; where a connection breaks it runs once more on another, so that
work has to bear a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from threading import Lock
from typing import TypeAlias, TypeVar

import anyio
import anyio.to_thread
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from perdure.kernel.errors import InvalidSetting, StoreUnreachable, UserError
from perdure.kernel.value import record
from perdure.memory import Principal
from perdure.memory.postgres import proof

T = TypeVar("T")

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

CONNECT = 3
"""Seconds that a connection may take, where the address does not say."""

STATEMENT = "10000"
"""Milliseconds that a statement may take: a call waits for it."""

CONNECTIONS = 8
"""Of one replica."""

GONE = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "15000"}
"""When a server that says nothing at all is given up, where the address does not say."""

_TIMED = "select set_config('statement_timeout', %s, true)"

_CLAIM = (
    "select set_config('statement_timeout', %s, true), set_config('perdure.tenant', %s, true), "
    "set_config('perdure.owner', %s, true), set_config('perdure.proof', %s, true)"
)


@record()
class Pool:
    """Connections, opened when they are needed."""

    conninfo: str = field(repr=False)
    key: bytes = field(repr=False)
    """What proves principals: the one that `migrate` was given."""
    most: int = CONNECTIONS
    idle: list[Connection] = field(default_factory=list[Connection], repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)
    room: anyio.CapacityLimiter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Know the address.

        Raises:
            InvalidSetting: it is none.
        """
        try:
            given = conninfo_to_dict(self.conninfo)
        except psycopg.Error:
            # Without the cause, which quotes the address with its password.
            raise InvalidSetting("the store's address is none that PostgreSQL understands") from None
        waits = {"connect_timeout": str(CONNECT), **GONE}
        self.conninfo = make_conninfo(self.conninfo, **{name: given.get(name) or wait for name, wait in waits.items()})
        self.room = anyio.CapacityLimiter(self.most)

    async def run(self, principal: Principal | None, work: Callable[[Connection], T]) -> T:
        """Do some work in one transaction; for nobody where no rows of anybody are needed.

        Raises:
            StoreUnreachable: the server failed, or what it holds cannot be read.
        """
        return await anyio.to_thread.run_sync(self.now, principal, work, limiter=self.room)

    def now(self, principal: Principal | None, work: Callable[[Connection], T]) -> T:
        """The same, in this thread.

        Raises:
            StoreUnreachable: the server failed, or what it holds cannot be read.
        """
        try:
            try:
                return self._once(principal, work)
            except psycopg.errors.QueryCanceled:
                # It took too long: it would again.
                raise
            except (psycopg.OperationalError, psycopg.InterfaceError):
                self.close()
                return self._once(principal, work)
        except (psycopg.Error, UserError) as error:
            code = getattr(error, "sqlstate", None) or type(error).__name__
            # Without the cause: the server's message may quote a row.
            raise StoreUnreachable(f"the store of the gateway failed ({code})") from None

    def close(self) -> None:
        """Close what is idle; the pool can be used again."""
        with self.lock:
            idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()

    def _once(self, principal: Principal | None, work: Callable[[Connection], T]) -> T:
        with self.lock:
            connection = self.idle.pop() if self.idle else None
        # Statements are not prepared, so that a pooler may stand before the server.
        connection = connection or psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=None)
        try:
            with connection.transaction():
                if principal is None:
                    connection.execute(_TIMED, (STATEMENT,))
                else:
                    claim = (STATEMENT, principal.tenant, principal.user, proof(self.key, principal))
                    connection.execute(_CLAIM, claim)
                done = work(connection)
        except BaseException:
            connection.close()
            raise
        with self.lock:
            self.idle.append(connection)
        return done
