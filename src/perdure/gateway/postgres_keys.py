"""Records of keys on a PostgreSQL server, for many replicas.

It knows a table. It must never see a key. `find` is what the gateway's role may do; the rest is for who owns the
tables, and that is who runs `perdure keys`.
"""

from __future__ import annotations

from typing import LiteralString

from perdure.gateway.keys import KeyRecord
from perdure.gateway.postgres_pool import Connection, Pool
from perdure.gateway.sqlite_keys import record_of, row_of
from perdure.kernel.value import record


@record(frozen=True)
class PostgresKeys:
    """See `KeyBook`. Columns stand as in the table of SQLite."""

    pool: Pool

    def find(self, key_id: str) -> KeyRecord | None:
        """See `KeyBook`."""
        if "\0" in key_id:
            return None
        statement: LiteralString = "select * from perdure.gateway_key_of(%s)"

        def work(connection: Connection) -> KeyRecord | None:
            row = connection.execute(statement, (key_id,)).fetchone()
            return record_of(row) if row else None

        return self.pool.now(None, work)

    def records(self) -> list[KeyRecord]:
        """See `KeyBook`."""
        statement: LiteralString = "select * from perdure.gateway_key order by created, id"
        return self.pool.now(None, lambda connection: [record_of(row) for row in connection.execute(statement)])

    def add(self, record: KeyRecord) -> None:
        """See `KeyBook`."""
        statement: LiteralString = (
            "insert into perdure.gateway_key values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing"
        )
        self.pool.now(None, lambda connection: connection.execute(statement, row_of(record)) and None)

    def end(self, key_id: str, until: float) -> bool:
        """See `KeyBook`."""
        statement: LiteralString = "update perdure.gateway_key set until = least(coalesce(until, %s), %s) where id = %s"
        return self.pool.now(
            None, lambda connection: connection.execute(statement, (until, until, key_id)).rowcount > 0
        )
