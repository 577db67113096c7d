"""The index: which pieces make up an original, where each piece is kept, and the words in it.

It knows SQL. It must never know what a piece says. A piece is what one message lost: the whole message, or some blocks
of it. It lies in an entry of the log or in a blob, and is indexed once, however many originals hold it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from perdure.archive.words import asked, indexed, query
from perdure.kernel.errors import ArchiveDamaged, DiskError, DiskFull, DiskRefused, LogTooNew
from perdure.kernel.value import value
from perdure.log.durable import disk_error, make_folder

VERSION = 2

NEWEST = 500
"""Pieces among which the best are chosen: the newest that have the words. It bounds the time of a search."""

WAIT = 10.0
"""Seconds to wait for another process that writes."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pieces (
    id INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL,
    entry INTEGER NOT NULL,
    blocks TEXT NOT NULL,
    blob TEXT NOT NULL,
    told TEXT NOT NULL DEFAULT '',
    UNIQUE (message_id, entry, blocks, blob)
);
CREATE TABLE IF NOT EXISTS originals (
    id INTEGER PRIMARY KEY,
    handle TEXT NOT NULL,
    entry INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    what TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    time REAL NOT NULL,
    folded INTEGER NOT NULL,
    gone REAL
);
CREATE INDEX IF NOT EXISTS originals_by_handle ON originals (handle);
CREATE TABLE IF NOT EXISTS held (
    original INTEGER NOT NULL,
    place INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    PRIMARY KEY (original, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held_by_piece ON held (piece);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, content='', detail=none);
"""

# Version 1 kept words as they were, secrets too. They go; the archive tells them again.
_FROM_VERSION_1 = """
DROP TABLE IF EXISTS words;
ALTER TABLE pieces ADD COLUMN told TEXT NOT NULL DEFAULT '';
"""

_ORIGINALS = "SELECT id, handle, entry, message_id, what, tokens, time, folded, gone FROM originals "
_PIECES = "SELECT pieces.id, message_id, entry, blocks, blob FROM pieces "


@value
class Piece:
    """What one message lost, and where it is."""

    message_id: str
    entry: int
    """The entry of the log that holds the message; 0 for a blob."""
    blocks: str = ""
    """Positions of the blocks in the message, such as `0,2`; empty for all."""
    blob: str = ""
    """The name of the blob; empty for an entry."""


@value
class Listed:
    """What is known of an original without reading it."""

    id: int
    handle: str
    entry: int
    """The entry of the message that it belongs to; 0 where no log holds it. Branches may use one handle twice."""
    message_id: str
    what: str
    tokens: int
    time: float
    folded: bool
    """Whether it is a range of messages."""
    gone: float | None
    """When it was removed."""


class Index:
    """An open index. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            ArchiveDamaged: the file is no index, or a damaged one.
            LogTooNew: a newer version made it.
            DiskError: it cannot be opened.
        """
        self.path = path
        try:
            make_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise disk_error(path, error) from error
        with self._named():
            self._base = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._base.close()
                raise

    def close(self) -> None:
        """Close it."""
        self._base.close()

    @contextmanager
    def writing(self) -> Generator[None]:
        """One transaction: durable when it ends, nothing of it otherwise. Other processes wait meanwhile.

        Raises:
            DiskError: it could not be made durable.
        """
        with self._named():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def piece(self, piece: Piece) -> tuple[int, bool]:
        """The number of a piece, and whether it is new."""
        key = (piece.message_id, piece.entry, piece.blocks, piece.blob)
        found = self._base.execute(
            "SELECT id FROM pieces WHERE message_id = ? AND entry = ? AND blocks = ? AND blob = ?", key
        ).fetchone()
        if found is not None:
            return int(found[0]), False
        made = self._base.execute("INSERT INTO pieces (message_id, entry, blocks, blob) VALUES (?, ?, ?, ?)", key)
        return made.lastrowid or 0, True

    def tell_words(self, piece: int, text: str) -> None:
        """Make a piece findable by its words. They are kept as they are told: a guard has been over them."""
        words = indexed(text)
        self._base.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (piece, words))
        self._base.execute("UPDATE pieces SET told = ? WHERE id = ?", (_hash(words), piece))

    def untold(self) -> list[tuple[int, Piece]]:
        """Pieces whose words an older version kept, and this one has forgotten."""
        return self._pieces("WHERE told = ''")

    def put(self, original: Listed, pieces: Sequence[int]) -> None:
        """Put an original in; its number is given by the index."""
        made = self._base.execute(
            "INSERT INTO originals (handle, entry, message_id, what, tokens, time, folded)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                original.handle,
                original.entry,
                original.message_id,
                original.what,
                original.tokens,
                original.time,
                original.folded,
            ),
        )
        self._base.executemany(
            "INSERT INTO held (original, place, piece) VALUES (?, ?, ?)",
            [(made.lastrowid, place, piece) for place, piece in enumerate(pieces)],
        )

    def named(self, handle: str) -> list[Listed]:
        """The originals of a handle, from the newest on."""
        return self._listed("WHERE handle = ? ORDER BY id DESC", handle)

    def newest(self, first: int, count: int) -> list[Listed]:
        """Originals from the newest on."""
        return self._listed("WHERE gone IS NULL ORDER BY id DESC LIMIT ? OFFSET ?", count, first)

    def oldest_in_blobs(self) -> list[Listed]:
        """Originals of which some piece lies in a blob, from the oldest on."""
        return self._listed(
            "WHERE gone IS NULL AND id IN (SELECT original FROM held JOIN pieces ON piece = pieces.id"
            " WHERE blob != '') ORDER BY time, id"
        )

    def count(self) -> int:
        """How many originals there are."""
        return self._number("SELECT count(*) FROM originals WHERE gone IS NULL")

    def pieces_of(self, original: int) -> list[tuple[int, Piece]]:
        """The pieces of an original, in order."""
        return self._pieces("JOIN held ON held.piece = pieces.id WHERE original = ? ORDER BY place", original)

    def pieces_of_message(self, message_id: str) -> list[tuple[int, Piece]]:
        """The pieces that are a whole message, the newest first."""
        return self._pieces("WHERE message_id = ? AND blocks = '' ORDER BY pieces.id DESC", message_id)

    def piece_numbered(self, piece: int) -> Piece | None:
        """A piece by its number."""
        return next((found for _, found in self._pieces("WHERE pieces.id = ?", piece)), None)

    def holders(self, piece: int) -> list[Listed]:
        """The originals that hold a piece, those that are no range of messages first."""
        return self._listed(
            "WHERE gone IS NULL AND id IN (SELECT original FROM held WHERE piece = ?) ORDER BY folded, id DESC", piece
        )

    def search(self, question: str) -> list[int]:
        """Pieces with all the words of a question, else with any of them: the best of the newest, best first."""
        words = asked(question)
        for joined in ("AND", "OR") if words else ():
            with self._named():
                found = self._base.execute(
                    "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
                    (query(words, joined), NEWEST),
                ).fetchall()
            if found:
                return [int(row[0]) for row in sorted(found, key=lambda row: (float(row[1]), -int(row[0])))]
        return []

    def forget(self, original: int, now: float) -> list[int]:
        """Mark an original as gone, and give the pieces that nothing holds any more."""
        pieces = [number for number, _ in self.pieces_of(original)]
        self._base.execute("UPDATE originals SET gone = ? WHERE id = ?", (now, original))
        self._base.execute("DELETE FROM held WHERE original = ?", (original,))
        return [piece for piece in pieces if not self._number("SELECT count(*) FROM held WHERE piece = ?", piece)]

    def drop(self, piece: int, text: str) -> None:
        """Take a piece out, with its words. Without the text that was told they stay, and lead nowhere: a search passes
        over them."""
        words = indexed(text)
        told = self._base.execute("SELECT told FROM pieces WHERE id = ?", (piece,)).fetchone()
        # A guard that has learned more since would make another text of it, and the wrong words would be taken out.
        if told is not None and told[0] == _hash(words):
            self._base.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (piece, words))
        self._base.execute("DELETE FROM pieces WHERE id = ?", (piece,))

    def blobs(self) -> set[str]:
        """Every blob that a piece lies in."""
        return {str(row[0]) for row in self._base.execute("SELECT blob FROM pieces WHERE blob != ''")}

    def compact(self) -> None:
        """Give the room of what was taken out back to the disk."""
        with self._named():
            self._base.execute("VACUUM")
            self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _prepare(self) -> None:
        version = self._number("PRAGMA user_version")
        if version > VERSION:
            raise LogTooNew(f"{str(self.path)!r} is of version {version}; this Perdure reads up to version {VERSION}")
        self._base.execute("PRAGMA journal_mode = WAL")
        # Each commit is synced: what is acknowledged survives a power cut.
        self._base.execute("PRAGMA synchronous = FULL")
        if version == 1:
            self._base.executescript(_FROM_VERSION_1)
        if version < VERSION:
            self._base.executescript(_SCHEMA)
            self._base.execute(f"PRAGMA user_version = {VERSION}")

    def _listed(self, rest: str, *given: str | int) -> list[Listed]:
        with self._named():
            rows = self._base.execute(_ORIGINALS + rest, given).fetchall()
        return [
            Listed(
                id=int(row[0]),
                handle=str(row[1]),
                entry=int(row[2]),
                message_id=str(row[3]),
                what=str(row[4]),
                tokens=int(row[5]),
                time=float(row[6]),
                folded=bool(row[7]),
                gone=None if row[8] is None else float(row[8]),
            )
            for row in rows
        ]

    def _pieces(self, rest: str, *given: str | int) -> list[tuple[int, Piece]]:
        with self._named():
            rows = self._base.execute(_PIECES + rest, given)
            return [
                (int(row[0]), Piece(message_id=str(row[1]), entry=int(row[2]), blocks=str(row[3]), blob=str(row[4])))
                for row in rows
            ]

    def _number(self, question: str, *given: int) -> int:
        with self._named():
            return int(self._base.execute(question, given).fetchone()[0])

    @contextmanager
    def _named(self) -> Generator[None]:
        """Give SQLite's errors their names."""
        try:
            yield
        except sqlite3.Error as error:
            raise _error_of(self.path, error) from error


def _hash(words: str) -> str:
    return sha256(words.encode()).hexdigest()


def set_aside(path: Path) -> None:
    """Rename a damaged index, so that a new one can be made and the old one looked at.

    Raises:
        DiskError: it cannot be renamed.
    """
    try:
        path.rename(path.with_suffix(".damaged"))
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(path, error) from error


def _error_of(path: Path, error: sqlite3.Error) -> DiskError:
    name, code = repr(str(path)), getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return DiskFull(f"no room to write {name}; make room and try again, nothing of it was kept")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return ArchiveDamaged(f"{name} is damaged ({error}); move it away, and it is made anew from the log")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return DiskRefused(f"another process kept {name} for {WAIT:.0f} seconds; try again")
        case _:
            return DiskRefused(f"{name} cannot be used: {error}; check its folder, permissions and disk")
