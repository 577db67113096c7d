"""The gateway's tables on PostgreSQL, as numbered migrations, and what the application's role may do with them.

It knows SQL. It must never know what a row says. What belongs to somebody is guarded as memories are (see
`perdure.memory.schema`): a policy shows only the rows of the tenant and user that the store has proven. Keys are looked
up before anybody is known: the role may ask for one by its id, and can neither list nor change them.
"""

from __future__ import annotations

from typing import LiteralString

import psycopg
from psycopg import sql

from perdure.memory import postgres
from perdure.memory.postgres import unreachable
from perdure.memory.schema import SCHEMA_LOCK

OWNED: tuple[LiteralString, ...] = (
    "gateway_conversation",
    "gateway_edit",
    "gateway_head",
    "gateway_original",
    "gateway_spent",
    "gateway_running",
)
"""Tables whose rows belong to a tenant and a user."""

_TABLES: LiteralString = """
    create table perdure.gateway_conversation (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        id text not null, version bigint not null, writer text not null,
        seen double precision not null, body text not null, primary key (tenant, owner, id)
    );
    create index on perdure.gateway_conversation (tenant, owner, seen desc);
    create table perdure.gateway_edit (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        conversation text not null, seq int not null, body text not null,
        primary key (tenant, owner, conversation, seq)
    );
    create table perdure.gateway_head (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        hash text not null, conversation text not null,
        prefix text not null, items int not null, messages int not null, number bigserial,
        primary key (tenant, owner, hash, conversation)
    );
    create table perdure.gateway_original (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        family text not null, handle text not null,
        number bigserial, body text not null, primary key (tenant, owner, family, handle)
    );
    create table perdure.gateway_spent (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        account text not null, period text not null,
        start bigint not null, requests bigint not null, tokens bigint not null, usd double precision not null,
        primary key (tenant, owner, account, period, start)
    );
    create table perdure.gateway_running (
        tenant text not null default current_setting('perdure.tenant'),
        owner text not null default current_setting('perdure.owner'),
        account text not null, replica text not null,
        calls int not null, tokens bigint not null, usd double precision not null,
        primary key (tenant, owner, account, replica)
    );
    create table perdure.gateway_replica (replica text primary key, seen double precision not null);
    create table perdure.gateway_key (
        id text primary key, account text not null, tenant text not null, owner text not null, name text not null,
        salt bytea not null, digest bytea not null, grants text not null, created double precision not null,
        until double precision
    );
    revoke all on perdure.gateway_key from public;
    create function perdure.gateway_key_of(wanted text) returns setof perdure.gateway_key
        language sql stable security definer
        set search_path = pg_catalog, pg_temp
        as $$ select * from perdure.gateway_key where id = wanted $$;
    revoke all on function perdure.gateway_key_of(text) from public;
"""

_GUARD: LiteralString = """
    alter table perdure.{table} enable row level security;
    alter table perdure.{table} force row level security;
    create policy owned on perdure.{table}
        using (tenant = (select (perdure.proven())[1]) and owner = (select (perdure.proven())[2]))
        with check (tenant = (select (perdure.proven())[1]) and owner = (select (perdure.proven())[2]));
"""

MIGRATIONS: tuple[tuple[LiteralString, ...], ...] = ((_TABLES, *(_GUARD.replace("{table}", one) for one in OWNED)),)
"""In order; a database records how many it has. One that was published never changes."""

_GRANT: LiteralString = "grant select, insert, update, delete on perdure.{table} to {{role}}"

GRANTS: tuple[LiteralString, ...] = (
    *(_GRANT.replace("{table}", one).replace("{{role}}", "{role}") for one in OWNED),
    "grant select, insert, update, delete on perdure.gateway_replica to {role}",
    "grant usage on sequence perdure.gateway_head_number_seq, perdure.gateway_original_number_seq to {role}",
    "grant execute on function perdure.gateway_key_of(text) to {role}",
)
"""All that the application's role may do here."""


def migrate(conninfo: str, *, role: str, key: bytes) -> int:
    """Bring the tables of memory and of the gateway up to date, as the owner of the database, as often as you like.

    `role` is what the gateway connects as, and `key` proves to the server whose rows it asks for (see
    `perdure.memory.postgres.migrate`). Says how many steps ran.

    Raises:
        StoreUnreachable: the server refuses, the role may pass over row-level security, or the key is too short.
    """
    ran = postgres.migrate(conninfo, role=role, key=key)
    try:
        with psycopg.connect(conninfo) as connection:
            connection.execute("select pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            connection.execute("create table if not exists perdure.gateway_migration (step int primary key)")
            row = connection.execute("select count(*) from perdure.gateway_migration").fetchone()
            done = int(str(row[0])) if row else 0
            for step, statements in enumerate(MIGRATIONS[done:], start=done + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute("insert into perdure.gateway_migration values (%s)", (step,))
            for grant in GRANTS:
                connection.execute(sql.SQL(grant).format(role=sql.Identifier(role)))
    except psycopg.Error as error:
        raise unreachable(error) from None
    return ran + len(MIGRATIONS) - done
