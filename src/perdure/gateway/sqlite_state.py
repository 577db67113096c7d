"""Conversations in one SQLite file, for one process.

It knows tables. It must never know what an edit or an original says. A commit is one transaction: version, ledger and
head are durable together or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

import anyio.to_thread

from perdure.gateway.sqlite_file import open_file
from perdure.gateway.state import Found, Head, Record, body_of, found_of, holds, record_from, whole
from perdure.kernel.errors import StoreUnreachable, UserError
from perdure.kernel.messages import JsonObject, decode_object, encode_json
from perdure.memory import Principal

T = TypeVar("T")

MOST_AT_ONCE = 500
"""Hashes in one question: SQLite takes a bounded number of parameters."""

# Durable at each checkpoint of the file: a power cut may cost the last edits, which are then planned again.
_SCHEMA = """
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS conversation (
    tenant TEXT, user TEXT, id TEXT, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, user, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS edit (
    tenant TEXT, user TEXT, conversation TEXT, seq INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (tenant, user, conversation, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS head (
    tenant TEXT, user TEXT, hash TEXT, conversation TEXT, prefix TEXT NOT NULL, items INTEGER NOT NULL,
    messages INTEGER NOT NULL, PRIMARY KEY (tenant, user, hash, conversation)
);
CREATE TABLE IF NOT EXISTS original (
    tenant TEXT, user TEXT, family TEXT, handle TEXT, body TEXT NOT NULL, UNIQUE (tenant, user, family, handle)
);
"""

_FIND = """
SELECT hash, prefix, conversation, items, messages FROM head WHERE tenant = ? AND user = ? AND hash IN (?)
ORDER BY items DESC, prefix = ? DESC, rowid DESC LIMIT 1
"""

_SIZES = (
    "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM conversation WHERE tenant = ? AND user = ?",
    "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM edit WHERE tenant = ? AND user = ?",
    "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM original WHERE tenant = ? AND user = ?",
)


class SqliteState:
    """See `StateStore`."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it, readable by its owner alone.

        Raises:
            StoreUnreachable: it cannot be opened.
        """
        self._lock = Lock()
        self._db = open_file(path, _SCHEMA, "the state")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    async def find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        """See `StateStore`."""
        return await self._run(lambda: self._find(owner, hashes, prefix))

    async def load(self, owner: Principal, conversation: str) -> Record | None:
        """See `StateStore`."""
        return await self._run(lambda: self._load(owner, conversation))

    async def version(self, owner: Principal, conversation: str) -> int:
        """See `StateStore`."""
        statement = "SELECT version FROM conversation WHERE tenant = ? AND user = ? AND id = ?"
        row = await self._run(lambda: self._row(statement, (owner.tenant, owner.user, conversation)))
        return whole(row[0]) if row else 0

    async def newest(self, owner: Principal, most: int) -> list[Record]:
        """See `StateStore`."""
        return await self._run(lambda: self._newest(owner, most))

    async def size(self, owner: Principal) -> int:
        """See `StateStore`."""
        key = (owner.tenant, owner.user)
        rows = await self._run(lambda: [self._row(statement, key) for statement in _SIZES])
        return sum(whole(row[0]) for row in rows if row)

    async def commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        """See `StateStore`."""
        return await self._run(lambda: self._commit(owner, record, head))

    async def keep(self, owner: Principal, family: str, originals: Mapping[str, JsonObject]) -> None:
        """See `StateStore`."""
        rows = [(owner.tenant, owner.user, family, handle, _text(body)) for handle, body in originals.items()]
        statement = "INSERT OR IGNORE INTO original VALUES (?, ?, ?, ?, ?)"
        await self._run(lambda: self._db.executemany(statement, rows) and None)

    async def original(self, owner: Principal, family: str, handle: str) -> JsonObject | None:
        """See `StateStore`."""
        statement = "SELECT body FROM original WHERE tenant = ? AND user = ? AND ? IN ('', family) AND handle = ?"
        row = await self._run(lambda: self._row(statement, (owner.tenant, owner.user, family, handle)))
        return decode_object(str(row[0])) if row else None

    async def originals(self, owner: Principal, family: str, words: Sequence[str], most: int) -> list[Found]:
        """See `StateStore`."""
        return await self._run(lambda: self._originals(owner, family, words, most))

    async def ready(self) -> bool:
        """See `StateStore`."""
        try:
            await self._run(lambda: self._row("SELECT 1", ()))
        except StoreUnreachable:
            return False
        return True

    async def _run(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            try:
                with self._lock:
                    return work()
            except (sqlite3.Error, UserError) as error:
                raise StoreUnreachable(f"the state store failed: {type(error).__name__}") from error

        return await anyio.to_thread.run_sync(locked)

    def _row(self, statement: str, values: Sequence[object]) -> tuple[object, ...] | None:
        return cast("tuple[object, ...] | None", self._db.execute(statement, values).fetchone())

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        return cast("list[tuple[object, ...]]", self._db.execute(statement, values).fetchall())

    @contextmanager
    def _writing(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        for first in range(0, len(hashes), MOST_AT_ONCE):
            some = hashes[first : first + MOST_AT_ONCE]
            row = self._row(
                _FIND.replace("(?)", f"({','.join('?' * len(some))})"), (owner.tenant, owner.user, *some, prefix)
            )
            if row is not None:
                return Head(
                    hash=str(row[0]),
                    prefix=str(row[1]),
                    conversation=str(row[2]),
                    items=whole(row[3]),
                    messages=whole(row[4]),
                )
        return None

    def _newest(self, owner: Principal, most: int) -> list[Record]:
        statement = (
            "SELECT id FROM conversation WHERE tenant = ? AND user = ? "
            "ORDER BY json_extract(body, '$.seen') DESC LIMIT ?"
        )
        names = [str(row[0]) for row in self._rows(statement, (owner.tenant, owner.user, most))]
        return [record for record in (self._load(owner, name) for name in names) if record is not None]

    def _load(self, owner: Principal, conversation: str) -> Record | None:
        key = (owner.tenant, owner.user, conversation)
        row = self._row("SELECT version, body FROM conversation WHERE tenant = ? AND user = ? AND id = ?", key)
        if row is None:
            return None
        edits = self._rows("SELECT body FROM edit WHERE tenant = ? AND user = ? AND conversation = ? ORDER BY seq", key)
        told = [decode_object(str(edit[0])) for edit in edits]
        return record_from(conversation, whole(row[0]), decode_object(str(row[1])), told)

    def _commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        key = (owner.tenant, owner.user, record.id)
        with self._writing():
            row = self._row("SELECT version FROM conversation WHERE tenant = ? AND user = ? AND id = ?", key)
            if (whole(row[0]) if row else 0) != record.version - 1:
                return False
            self._db.execute(
                "INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?)",
                (*key, record.version, _text(body_of(record))),
            )
            kept = self._row("SELECT COUNT(*) FROM edit WHERE tenant = ? AND user = ? AND conversation = ?", key)
            known = whole(kept[0]) if kept else 0
            fresh = [(*key, known + place, _text(edit)) for place, edit in enumerate(record.edits[known:])]
            self._db.executemany("INSERT INTO edit VALUES (?, ?, ?, ?, ?)", fresh)
            if head is not None:
                self._db.execute(
                    "INSERT OR REPLACE INTO head VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (owner.tenant, owner.user, head.hash, head.conversation, head.prefix, head.items, head.messages),
                )
        return True

    def _originals(self, owner: Principal, family: str, words: Sequence[str], most: int) -> list[Found]:
        statement = (
            "SELECT handle, body FROM original WHERE tenant = ? AND user = ? AND ? IN ('', family) ORDER BY rowid DESC"
        )
        found: list[Found] = []
        for row in self._rows(statement, (owner.tenant, owner.user, family)):
            body = decode_object(str(row[1]))
            if len(found) < most and holds(body, words):
                found.append(found_of(str(row[0]), body))
        return found


def _text(body: JsonObject) -> str:
    return encode_json(body).decode()
