"""The tables of memory on PostgreSQL, as numbered migrations, and what the application's role may do.

It knows SQL. It must never know a command of the memory tool. Rows are guarded twice: every row belongs to a tenant and
a user, and a policy that even the table's owner is under shows only those of the principal who is proven. The proof is
a keyed hash that the store makes and the server checks. So a statement that was smuggled into the application's
connection can name another tenant, but cannot prove to be it: the key lies in a table that its role may not read.
"""

from __future__ import annotations

from typing import LiteralString

SCHEMA_LOCK = 7_308_332_045_112
"""A number for PostgreSQL's advisory locks, so that two processes do not migrate at once."""

MIGRATIONS: tuple[LiteralString, ...] = (
    """
    create table perdure.claim_key (key bytea primary key);
    revoke all on perdure.claim_key from public;

    create table perdure.memory_file (
        tenant text not null,
        owner text not null,
        path text not null,
        folded text not null,
        body text not null,
        version text not null,
        provenance text not null,
        primary key (tenant, owner, path),
        unique (tenant, owner, folded)
    );

    create function perdure.proven() returns text[]
        language sql stable security definer
        set search_path = pg_catalog, pg_temp
        as $$
            select array[claim.tenant, claim.owner]
            from (
                select
                    current_setting('perdure.tenant', true) as tenant,
                    current_setting('perdure.owner', true) as owner,
                    current_setting('perdure.proof', true) as proof
            ) as claim
            join perdure.claim_key as known on claim.proof = encode(sha256(known.key || sha256(known.key || convert_to(
                octet_length(claim.tenant) || ':' || claim.tenant || octet_length(claim.owner) || ':' || claim.owner,
                'UTF8'
            ))), 'hex')
            limit 1
        $$;

    alter table perdure.memory_file enable row level security;
    alter table perdure.memory_file force row level security;
    create policy owned on perdure.memory_file
        using (tenant = (select (perdure.proven())[1]) and owner = (select (perdure.proven())[2]))
        with check (tenant = (select (perdure.proven())[1]) and owner = (select (perdure.proven())[2]));
    """,
)
"""In order; a database records how many it has. One that was published never changes."""

GRANTS: tuple[LiteralString, ...] = (
    "grant usage on schema perdure to {role}",
    "grant select, insert, update, delete on perdure.memory_file to {role}",
    "grant execute on function perdure.proven() to {role}",
)
"""All that the application's role may do."""
