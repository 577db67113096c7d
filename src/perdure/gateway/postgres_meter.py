"""What accounts have used, and their calls under way on all replicas, on a PostgreSQL server.

It knows rows. Each replica counts its own calls; those of one that said nothing for a minute are over. Entering takes
the account's lock, so that two replicas never let in one call too many. A connection that breaks in the very moment of
its commit may count a call twice, and never none.
"""

from __future__ import annotations

import secrets
from dataclasses import field
from typing import LiteralString

from perdure.gateway.meter import PERIODS, Account, Period, Reading, Spent, starts
from perdure.gateway.postgres_pool import Connection, Pool
from perdure.gateway.state import whole
from perdure.kernel.value import record

SILENT = 60.0
"""Seconds without a sign after which a replica is gone."""

_ADD: LiteralString = """
    insert into perdure.gateway_spent as known (account, period, start, requests, tokens, usd)
    values (%s, %s, %s, %s, %s, %s)
    on conflict (tenant, owner, account, period, start) do update set requests = known.requests + excluded.requests,
    tokens = known.tokens + excluded.tokens, usd = known.usd + excluded.usd
    returning requests, tokens, usd
"""

_RUN: LiteralString = """
    insert into perdure.gateway_running as known (account, replica, calls, tokens, usd)
    values (%(account)s, %(replica)s, greatest(0, %(calls)s), greatest(0, %(tokens)s), greatest(0, %(usd)s))
    on conflict (tenant, owner, account, replica) do update set calls = greatest(0, known.calls + %(calls)s),
    tokens = greatest(0, known.tokens + %(tokens)s), usd = greatest(0, known.usd + %(usd)s)
"""

_GONE: LiteralString = """
    delete from perdure.gateway_running where account = %s and replica <> %s and replica not in (
        select replica from perdure.gateway_replica where seen > %s
    )
"""

_RUNNING: LiteralString = """
    select coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(usd), 0) from perdure.gateway_running
    where account = %s and calls > 0
"""

_PAST: LiteralString = "delete from perdure.gateway_spent where account = %s and start < %s"


@record(frozen=True)
class PostgresMeter:
    """See `Meter`."""

    pool: Pool
    replica: str = field(default_factory=lambda: secrets.token_hex(8))

    async def enter(self, account: Account, hold: Spent, now: float) -> Reading:
        """See `Meter`."""

        def work(connection: Connection) -> Reading:
            _lock(connection, account)
            connection.execute(_GONE, (account.name, self.replica, now - SILENT))
            connection.execute(_RUN, self._step(account, 1, hold))
            spent = _add(connection, account, Spent(requests=1), now)
            if spent["minute"].requests == 1:
                connection.execute(_PAST, (account.name, starts(now)["month"]))
            return _reading(connection, account, spent)

        return await self.pool.run(account.owner, work)

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        """See `Meter`."""

        def work(connection: Connection) -> None:
            _lock(connection, account)
            connection.execute(_RUN, self._step(account, -1, hold))
            if spent != Spent():
                _add(connection, account, spent, now)

        await self.pool.run(account.owner, work)

    async def read(self, account: Account, now: float) -> Reading:
        """See `Meter`."""

        def work(connection: Connection) -> Reading:
            return _reading(connection, account, _add(connection, account, Spent(), now))

        return await self.pool.run(account.owner, work)

    def _step(self, account: Account, by: int, hold: Spent) -> dict[str, object]:
        return {
            "account": account.name,
            "replica": self.replica,
            "calls": by,
            "tokens": by * hold.tokens,
            "usd": by * hold.usd,
        }

    async def beat(self, now: float) -> None:
        """See `Meter`."""
        statement: LiteralString = (
            "insert into perdure.gateway_replica values (%s, %s) on conflict (replica) do update "
            "set seen = excluded.seen"
        )
        gone: LiteralString = "delete from perdure.gateway_replica where seen < %s"

        def work(connection: Connection) -> None:
            connection.execute(statement, (self.replica, now))
            connection.execute(gone, (now - 60 * SILENT,))

        await self.pool.run(None, work)


def _lock(connection: Connection, account: Account) -> None:
    owner = account.owner
    name = f"gateway:{len(owner.tenant)}:{owner.tenant}{len(owner.user)}:{owner.user}{account.name}"
    connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))


def _add(connection: Connection, account: Account, spent: Spent, now: float) -> dict[Period, Spent]:
    begun, found = starts(now), dict[Period, Spent]()
    for period in PERIODS:
        values = (account.name, period, begun[period], spent.requests, spent.tokens, spent.usd)
        row = connection.execute(_ADD, values).fetchone()
        if row is not None:
            found[period] = Spent(requests=whole(row[0]), tokens=whole(row[1]), usd=float(str(row[2])))
    return found


def _reading(connection: Connection, account: Account, spent: dict[Period, Spent]) -> Reading:
    calls, tokens, usd = connection.execute(_RUNNING, (account.name,)).fetchone() or (0, 0, 0)
    return Reading(spent=spent, running=int(str(calls)), held=Spent(tokens=int(str(tokens)), usd=float(str(usd))))
