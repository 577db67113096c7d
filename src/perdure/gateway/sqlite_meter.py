"""What accounts have used, in one SQLite file, for one process.

It knows a table. Calls under way are counted in the process, which is the only one that has any.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

import anyio.to_thread

from perdure.gateway.meter import Account, Period, Reading, Running, Spent, starts
from perdure.gateway.sqlite_file import open_file
from perdure.kernel.errors import StoreUnreachable

T = TypeVar("T")

_SCHEMA = """
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS spent (
    tenant TEXT, user TEXT, account TEXT, period TEXT, start INTEGER, requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL, usd REAL NOT NULL, PRIMARY KEY (tenant, user, account, period, start)
) WITHOUT ROWID;
"""

_ADD = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
requests = requests + excluded.requests, tokens = tokens + excluded.tokens, usd = usd + excluded.usd
RETURNING requests, tokens, usd
"""


class SqliteMeter:
    """See `Meter`."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it, readable by its owner alone.

        Raises:
            StoreUnreachable: it cannot be opened.
        """
        self._lock = Lock()
        self._running = Running()
        self._db = open_file(path, _SCHEMA, "the counts")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    async def enter(self, account: Account, hold: Spent, now: float) -> Reading:
        """See `Meter`."""
        spent = await self._run(lambda: self._add(account, Spent(requests=1), now))
        self._running.enter(account, hold)
        return self._reading(account, spent)

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        """See `Meter`."""
        if spent != Spent():
            await self._run(lambda: self._add(account, spent, now))
        self._running.leave(account, hold)

    async def read(self, account: Account, now: float) -> Reading:
        """See `Meter`."""
        return self._reading(account, await self._run(lambda: self._add(account, Spent(), now)))

    def _reading(self, account: Account, spent: dict[Period, Spent]) -> Reading:
        count, held = self._running.of(account)
        return Reading(spent=spent, running=count, held=held)

    async def beat(self, now: float) -> None:
        """See `Meter`: what is past is not needed any more."""
        start = starts(now)["month"]
        await self._run(lambda: self._db.execute("DELETE FROM spent WHERE start < ?", (start,)) and None)

    async def _run(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            try:
                with self._lock:
                    return work()
            except sqlite3.Error as error:
                raise StoreUnreachable(f"the meter failed: {type(error).__name__}") from error

        return await anyio.to_thread.run_sync(locked)

    def _add(self, account: Account, spent: Spent, now: float) -> dict[Period, Spent]:
        found: dict[Period, Spent] = {}
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for period, start in starts(now).items():
                key = (account.owner.tenant, account.owner.user, account.name, period, start)
                rows = self._db.execute(_ADD, (*key, spent.requests, spent.tokens, spent.usd)).fetchall()
                requests, tokens, usd = cast("tuple[int, int, float]", rows[0])
                found[period] = Spent(requests=requests, tokens=tokens, usd=usd)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return found
