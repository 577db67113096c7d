"""Conversations on a PostgreSQL server, for many replicas: any of them goes on with any conversation.

It knows rows and versions. It must never trust its own SQL to keep principals apart: the server does, by the policies
in `postgres_schema`, and takes from the claim whose a new row is. A commit names the version that it follows; of two,
the server takes one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import LiteralString, cast

from perdure.gateway.postgres_pool import Connection, Pool
from perdure.gateway.state import Found, Head, Record, body_of, found_of, holds, record_from, whole
from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.messages import JsonObject, decode_object, encode_json
from perdure.kernel.value import record
from perdure.memory import Principal

_FIND: LiteralString = """
    select hash, prefix, conversation, items, messages from perdure.gateway_head where hash = any(%s)
    order by items desc, prefix = %s desc, number desc limit 1
"""

_NEW: LiteralString = """
    insert into perdure.gateway_conversation (id, version, writer, seen, body) values (%s, 1, %s, %s, %s)
    on conflict do nothing
"""

_NEXT: LiteralString = """
    update perdure.gateway_conversation set version = version + 1, writer = %s, seen = %s, body = %s
    where id = %s and version = %s
"""

_EDIT: LiteralString = "insert into perdure.gateway_edit (conversation, seq, body) values (%s, %s, %s)"

_HEAD: LiteralString = """
    insert into perdure.gateway_head (hash, conversation, prefix, items, messages) values (%s, %s, %s, %s, %s)
    on conflict (tenant, owner, hash, conversation) do update
    set prefix = excluded.prefix, items = excluded.items, messages = excluded.messages, number = excluded.number
"""

_KEEP: LiteralString = """
    insert into perdure.gateway_original (family, handle, body) values (%s, %s, %s) on conflict do nothing
"""

_ORIGINALS: LiteralString = """
    select handle, body from perdure.gateway_original where %s in ('', family) order by number desc
"""

_SIZE: LiteralString = """
    select (select coalesce(sum(octet_length(body)), 0) from perdure.gateway_conversation)
        + (select coalesce(sum(octet_length(body)), 0) from perdure.gateway_edit)
        + (select coalesce(sum(octet_length(body)), 0) from perdure.gateway_original)
"""


@record(frozen=True)
class PostgresState:
    """See `StateStore`."""

    pool: Pool

    async def find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        """See `StateStore`."""

        def work(connection: Connection) -> Head | None:
            row = connection.execute(_FIND, (list(hashes), prefix)).fetchone()
            if row is None:
                return None
            return Head(
                hash=str(row[0]),
                prefix=str(row[1]),
                conversation=str(row[2]),
                items=whole(row[3]),
                messages=whole(row[4]),
            )

        return await self.pool.run(owner, work)

    async def load(self, owner: Principal, conversation: str) -> Record | None:
        """See `StateStore`."""
        return await self.pool.run(owner, lambda connection: _load(connection, conversation))

    async def version(self, owner: Principal, conversation: str) -> int:
        """See `StateStore`."""
        statement: LiteralString = "select version from perdure.gateway_conversation where id = %s"

        def work(connection: Connection) -> int:
            row = connection.execute(statement, (conversation,)).fetchone()
            return whole(row[0]) if row else 0

        return await self.pool.run(owner, work)

    async def newest(self, owner: Principal, most: int) -> list[Record]:
        """See `StateStore`."""
        statement: LiteralString = "select id from perdure.gateway_conversation order by seen desc limit %s"

        def work(connection: Connection) -> list[Record]:
            names = [str(row[0]) for row in connection.execute(statement, (most,)).fetchall()]
            return [record for name in names if (record := _load(connection, name)) is not None]

        return await self.pool.run(owner, work)

    async def size(self, owner: Principal) -> int:
        """See `StateStore`."""

        def work(connection: Connection) -> int:
            row = connection.execute(_SIZE).fetchone()
            return int(str(row[0])) if row else 0

        return await self.pool.run(owner, work)

    async def commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        """See `StateStore`."""
        # Where a connection broke while it committed, the second try has to know its own first.
        writer = secrets.token_hex(12)
        return await self.pool.run(owner, lambda connection: _commit(connection, record, head, writer))

    async def keep(self, owner: Principal, family: str, originals: Mapping[str, JsonObject]) -> None:
        """See `StateStore`."""
        rows = [(family, handle, _text(body)) for handle, body in originals.items()]

        def work(connection: Connection) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(_KEEP, rows)

        await self.pool.run(owner, work)

    async def original(self, owner: Principal, family: str, handle: str) -> JsonObject | None:
        """See `StateStore`."""
        statement: LiteralString = (
            "select body from perdure.gateway_original where %s in ('', family) and handle = %s limit 1"
        )

        def work(connection: Connection) -> JsonObject | None:
            row = connection.execute(statement, (family, handle)).fetchone()
            return decode_object(str(row[0])) if row else None

        return await self.pool.run(owner, work)

    async def originals(self, owner: Principal, family: str, words: Sequence[str], most: int) -> list[Found]:
        """See `StateStore`."""

        def work(connection: Connection) -> list[Found]:
            found: list[Found] = []
            for row in connection.execute(_ORIGINALS, (family,)):
                body = decode_object(str(row[1]))
                if holds(body, words):
                    found.append(found_of(str(row[0]), body))
                if len(found) >= most:
                    break
            return found

        return await self.pool.run(owner, work)

    async def ready(self) -> bool:
        """See `StateStore`."""
        try:
            await self.pool.run(None, lambda connection: connection.execute("select 1") and None)
        except StoreUnreachable:
            return False
        return True


def _load(connection: Connection, conversation: str) -> Record | None:
    # One statement, and so one snapshot: a version with the edits of another would be a wrong record.
    statement: LiteralString = (
        "select version, body, array(select body from perdure.gateway_edit as edit "
        "where edit.conversation = %s order by seq) from perdure.gateway_conversation where id = %s"
    )
    row = connection.execute(statement, (conversation, conversation)).fetchone()
    if row is None:
        return None
    edits = [decode_object(edit) for edit in cast("list[str]", row[2])]
    return record_from(conversation, whole(row[0]), decode_object(str(row[1])), edits)


def _commit(connection: Connection, record: Record, head: Head | None, writer: str) -> bool:
    body = _text(body_of(record))
    if record.version == 1:
        done = connection.execute(_NEW, (record.id, writer, record.seen, body))
    else:
        done = connection.execute(_NEXT, (writer, record.seen, body, record.id, record.version - 1))
    if done.rowcount != 1:
        statement: LiteralString = "select version, writer from perdure.gateway_conversation where id = %s"
        return connection.execute(statement, (record.id,)).fetchone() == (record.version, writer)
    row = connection.execute(
        "select count(*) from perdure.gateway_edit where conversation = %s", (record.id,)
    ).fetchone()
    known = whole(row[0]) if row else 0
    fresh = [(record.id, known + place, _text(edit)) for place, edit in enumerate(record.edits[known:])]
    if fresh:
        with connection.cursor() as cursor:
            cursor.executemany(_EDIT, fresh)
    if head is not None:
        connection.execute(_HEAD, (head.hash, head.conversation, head.prefix, head.items, head.messages))
    return True


def _text(body: JsonObject) -> str:
    return encode_json(body).decode()
