"""Memory on a PostgreSQL server, for many users: one row for each file, each principal behind row-level security.

It knows transactions. It must never trust its own SQL to keep principals apart: the server does, by the policy in
`schema`. `migrate` runs as the owner of the schema, `PostgresStore` as a role that owns nothing. Errors carry neither
the text of a file nor what is in a connection string. Needs the extra `postgres`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from threading import Lock
from typing import TypeAlias

import psycopg
from psycopg import sql

from perdure.kernel.errors import MemoryPathRefused, StoreUnreachable
from perdure.kernel.messages import Provenance
from perdure.kernel.value import value
from perdure.memory.path import MemoryPath
from perdure.memory.principal import Principal, require
from perdure.memory.schema import GRANTS, MIGRATIONS, SCHEMA_LOCK
from perdure.memory.store import (
    BY_NAME,
    Caps,
    Entry,
    Kept,
    changed,
    check_count,
    check_move,
    encoded,
    least_trusted,
    not_found,
    taken,
    version_of,
)

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

SHORTEST_KEY = 32
"""Bytes of a key that proves principals."""


def migrate(conninfo: str, *, role: str, key: bytes) -> int:
    """Bring the schema `perdure` up to date, let `role` use it and `key` prove principals. Says how many steps ran.

    Run it as the owner of the database, as often as you like. `role` must exist, and must neither own the schema nor
    be able to pass over row-level security. To change the key, call it with the new one, and delete the old row from
    `perdure.claim_key` when no store uses it any more.

    Raises:
        StoreUnreachable: the server refuses, the role may pass over row-level security, or the key is too short.
    """
    if len(key) < SHORTEST_KEY:
        raise StoreUnreachable(f"the key has {len(key)} bytes, and {SHORTEST_KEY} are the fewest: draw a longer one")
    try:
        with psycopg.connect(conninfo) as connection:
            connection.execute("select pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            refuse_mighty(connection, role)
            connection.execute("create schema if not exists perdure")
            connection.execute("create table if not exists perdure.migration (step int primary key)")
            row = connection.execute("select count(*) from perdure.migration").fetchone()
            done = int(str(row[0])) if row else 0
            for step, statements in enumerate(MIGRATIONS[done:], start=done + 1):
                connection.execute(statements)
                connection.execute("insert into perdure.migration values (%s)", (step,))
            for grant in GRANTS:
                connection.execute(sql.SQL(grant).format(role=sql.Identifier(role)))
            connection.execute("insert into perdure.claim_key values (%s) on conflict do nothing", (key,))
    except psycopg.Error as error:
        raise unreachable(error) from None
    return len(MIGRATIONS) - done


def refuse_mighty(connection: Connection, role: str) -> None:
    """Refuse a role that row-level security does not hold.

    Raises:
        StoreUnreachable: it is a superuser, may pass over row-level security, owns what is ours, or is not there.
    """
    row = connection.execute(
        "select rolsuper or rolbypassrls or pg_has_role(rolname, current_user, 'member') "
        "from pg_roles where rolname = %s",
        (role,),
    ).fetchone()
    if row is None or row[0] is not False:
        raise StoreUnreachable(
            f"the role {role!r} is missing, or may pass over row-level security: create one with "
            f"`create role ... login nosuperuser nobypassrls` that is no member of the schema's owner"
        )


@value
class PostgresStore:
    """A store on a server. One connection, opened when it is first needed and again after it broke."""

    conninfo: str = field(repr=False)
    """How to reach the server, as the application's role: `host=... dbname=... user=...`, or an address."""
    key: bytes = field(repr=False)
    """The key that `migrate` was given."""
    caps: Caps = field(default_factory=Caps)
    _open: list[Connection] = field(default_factory=list[Connection], init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def close(self) -> None:
        """Close the connection; the store can be used again."""
        with self._lock:
            while self._open:
                self._open.pop().close()

    def read(self, principal: Principal | None, path: MemoryPath) -> Kept | None:
        """The file at a path; None where there is none."""
        with self._as(require(principal)) as connection:
            return _read(connection, path)

    def files(self, principal: Principal | None, path: MemoryPath) -> tuple[Entry, ...] | None:
        """All files below a folder, sorted by path."""
        with self._as(require(principal)) as connection:
            rows = connection.execute(
                "select path, octet_length(body) from perdure.memory_file where path ^@ %s", (_below(path),)
            ).fetchall()
        entries = [Entry(path=_path(row[0]), size=int(str(row[1]))) for row in rows]
        if not entries and not path.is_root:
            return None
        return tuple(sorted(entries, key=lambda entry: entry.path.names))

    def write(
        self,
        principal: Principal | None,
        path: MemoryPath,
        text: str,
        *,
        expected: str | None,
        provenance: Provenance = "assistant",
    ) -> None:
        """Put a text at a path, if the file there is still the one that the writer saw."""
        encoded(text, path, self.caps)
        if path.is_root:
            raise MemoryPathRefused(f"{str(path)!r} is the folder of all memories: name a file in it")
        with self._as(require(principal), writes=True) as connection:
            found = _read(connection, path)
            if expected is not None and (found is None or found.version != expected):
                raise changed(path)
            if found is not None and expected is None:
                raise taken(path)
            if found is None:
                _check_free(connection, path)
                row = connection.execute("select count(*) from perdure.memory_file").fetchone()
                check_count(int(str(row[0])) if row else 0, self.caps)
            origin = least_trusted(found.provenance if found else "user", provenance)
            _put(connection, path, text, origin)

    def delete(self, principal: Principal | None, path: MemoryPath) -> None:
        """Remove a file, or a folder with all that is in it."""
        if path.is_root:
            raise MemoryPathRefused(f"{str(path)!r} itself cannot be deleted: delete what is in it")
        with self._as(require(principal), writes=True) as connection:
            gone = connection.execute(
                "delete from perdure.memory_file where path = %s or path ^@ %s", (path.relative, _below(path))
            )
            if gone.rowcount == 0:
                raise not_found(path)

    def rename(self, principal: Principal | None, old: MemoryPath, new: MemoryPath) -> None:
        """Move a file or a folder."""
        check_move(old, new)
        with self._as(require(principal), writes=True) as connection:
            rows = connection.execute(
                "select path from perdure.memory_file where path = %s or path ^@ %s", (old.relative, _below(old))
            ).fetchall()
            if not rows:
                raise not_found(old)
            if old == new or new.key != old.key or new.names[:-1] != old.names[:-1]:
                _check_free(connection, new)
            for row in rows:
                place = _path(row[0])
                moved = MemoryPath(names=new.names + place.names[len(old.names) :])
                connection.execute(
                    "update perdure.memory_file set path = %s, folded = %s where path = %s",
                    (moved.relative, moved.key, place.relative),
                )

    @contextmanager
    def _as(self, principal: Principal, *, writes: bool = False) -> Generator[Connection]:
        """A transaction in which the server shows what is the principal's, and nothing else.

        The claim ends with the transaction, so that no later one inherits it. Writers of one principal follow one
        another.
        """
        with self._lock:
            try:
                connection = self._connection()
                with connection.transaction():
                    connection.execute(
                        "select set_config('perdure.tenant', %s, true), set_config('perdure.owner', %s, true), "
                        "set_config('perdure.proof', %s, true)",
                        (principal.tenant, principal.user, proof(self.key, principal)),
                    )
                    if writes:
                        connection.execute(
                            "select pg_advisory_xact_lock(hashtextextended(%s, 0))",
                            (f"{len(principal.tenant)}:{principal.tenant}{principal.user}",),
                        )
                    yield connection
            except psycopg.Error as error:
                # Without the cause: the server's message may quote a row.
                raise unreachable(error) from None

    def _connection(self) -> Connection:
        if self._open and self._open[0].closed:
            self._open.clear()
        if not self._open:
            self._open.append(psycopg.connect(self.conninfo, autocommit=True))
        return self._open[0]


def proof(key: bytes, principal: Principal) -> str:
    """What proves to the server that a statement is made for this principal."""
    tenant, user = principal.tenant.encode(), principal.user.encode()
    claim = b"%d:%b%d:%b" % (len(tenant), tenant, len(user), user)
    return sha256(key + sha256(key + claim).digest()).hexdigest()


def unreachable(error: psycopg.Error) -> StoreUnreachable:
    """A failure of the server by its code alone, since its words may hold a row or a password."""
    code = error.sqlstate or type(error).__name__
    return StoreUnreachable(f"the memory server failed ({code}). Nothing that was acknowledged is lost; try again.")


def _read(connection: Connection, path: MemoryPath) -> Kept | None:
    row = connection.execute(
        "select body, version, provenance from perdure.memory_file where path = %s", (path.relative,)
    ).fetchone()
    if row is None:
        return None
    body, version, provenance = map(str, row)
    return Kept(text=body, version=version, provenance=BY_NAME.get(provenance, "web"))


def _put(connection: Connection, path: MemoryPath, text: str, provenance: Provenance) -> None:
    connection.execute(
        "insert into perdure.memory_file (tenant, owner, path, folded, body, version, provenance) "
        "values (current_setting('perdure.tenant'), current_setting('perdure.owner'), %s, %s, %s, %s, %s) "
        "on conflict (tenant, owner, path) do update set "
        "body = excluded.body, version = excluded.version, provenance = excluded.provenance",
        (path.relative, path.key, text, version_of(text), provenance),
    )


def _check_free(connection: Connection, path: MemoryPath) -> None:
    """Nothing stands at the path, no file on its way, and no name on its way that differs in case alone."""
    top = MemoryPath(names=path.names[:1]).key
    rows = connection.execute(
        "select path from perdure.memory_file where folded = %s or folded ^@ %s", (top, f"{top}/")
    ).fetchall()
    for place in [_path(row[0]) for row in rows]:
        for depth in range(1, len(path.names) + 1):
            here, there = (MemoryPath(names=one.names[:depth]) for one in (path, place))
            if len(there.names) < depth or here.key != there.key:
                break
            if here != there or depth == len(path.names) or depth == len(place.names):
                raise taken(here)


def _below(path: MemoryPath) -> str:
    """What every path below a folder starts with."""
    return "" if path.is_root else f"{path.relative}/"


def _path(stored: object) -> MemoryPath:
    return MemoryPath(names=tuple(str(stored).split("/")))
