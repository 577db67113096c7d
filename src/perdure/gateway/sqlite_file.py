"""A SQLite file of the gateway's, readable by its owner alone.

It knows how one is opened. It must never know what its tables hold.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from perdure.kernel.errors import StoreUnreachable

WAIT = 10.0
"""Seconds that a lock of another process is waited for."""


def open_file(path: Path, schema: str, kept: str) -> sqlite3.Connection:
    """Open the file, or make it, with the tables of `schema`; `kept` says what is in it.

    Each statement is a transaction until one is begun. Whoever uses it from several threads sees that they take turns.

    Raises:
        StoreUnreachable: it cannot be opened.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        opened = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        opened.execute("PRAGMA journal_mode=WAL")
        opened.executescript(schema)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnreachable(f"{kept} in {str(path)!r} cannot be opened: {error}") from error
    return opened
