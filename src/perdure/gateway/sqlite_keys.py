"""Records of keys in one SQLite file, readable by its owner alone.

It knows a table. It must never see a key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import cast

from perdure.gateway.grants import grant_from_json, grant_to_json
from perdure.gateway.keys import KeyRecord
from perdure.gateway.sqlite_file import open_file
from perdure.kernel.errors import StoreUnreachable, UserError
from perdure.kernel.messages import decode_object, encode_json
from perdure.memory import Principal

_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, tenant TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
    salt BLOB NOT NULL, digest BLOB NOT NULL, grants TEXT NOT NULL, created REAL NOT NULL, until REAL
);
"""

_ALL = "SELECT id, account, tenant, user, name, salt, digest, grants, created, until FROM key"


class SqliteKeys:
    """See `KeyBook`. Several processes may use one file: what one writes, the others see."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            StoreUnreachable: it cannot be opened.
        """
        self._lock = Lock()
        self._db = open_file(path, _SCHEMA, "the keys")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def find(self, key_id: str) -> KeyRecord | None:
        """See `KeyBook`."""
        with self._using() as db:
            row = db.execute(_ALL + " WHERE id = ?", (key_id,)).fetchone()
            return record_of(cast("tuple[object, ...]", row)) if row else None

    def records(self) -> list[KeyRecord]:
        """See `KeyBook`."""
        with self._using() as db:
            rows = db.execute(_ALL + " ORDER BY created, id").fetchall()
            return [record_of(row) for row in cast("list[tuple[object, ...]]", rows)]

    def add(self, record: KeyRecord) -> None:
        """See `KeyBook`."""
        with self._using() as db:
            db.execute("INSERT INTO key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row_of(record))

    def end(self, key_id: str, until: float) -> bool:
        """See `KeyBook`."""
        statement = "UPDATE key SET until = min(coalesce(until, ?), ?) WHERE id = ?"
        with self._using() as db:
            return db.execute(statement, (until, until, key_id)).rowcount > 0

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._db
        except (sqlite3.Error, UserError) as error:
            raise StoreUnreachable(f"the store of keys failed: {type(error).__name__}") from error


def row_of(record: KeyRecord) -> tuple[object, ...]:
    """A record as both databases keep it."""
    return (
        record.id,
        record.account,
        record.principal.tenant,
        record.principal.user,
        record.name,
        record.salt,
        record.digest,
        encode_json(grant_to_json(record.grant)).decode(),
        record.created,
        record.until,
    )


def record_of(row: tuple[object, ...]) -> KeyRecord:
    """The record in a row."""
    key_id, account, tenant, user, name, salt, digest, grants, created, until = row
    return KeyRecord(
        id=str(key_id),
        account=str(account),
        principal=Principal(tenant=str(tenant), user=str(user)),
        name=str(name),
        salt=_bytes(salt),
        digest=_bytes(digest),
        grant=grant_from_json(decode_object(str(grants))),
        created=_time(created) or 0.0,
        until=_time(until),
    )


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
