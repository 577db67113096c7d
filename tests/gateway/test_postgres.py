"""On a real PostgreSQL: the server itself keeps tenants apart, and replicas that meet lose nothing."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import anthropic
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from perdure.cli.main import main
from perdure.gateway import Head, Record
from perdure.gateway.grants import Grant
from perdure.gateway.keys import issued
from perdure.gateway.meter import Account, Spent
from perdure.gateway.postgres_keys import PostgresKeys
from perdure.gateway.postgres_meter import PostgresMeter
from perdure.gateway.postgres_pool import Connection, Pool
from perdure.gateway.postgres_schema import OWNED, migrate
from perdure.gateway.postgres_state import PostgresState
from perdure.kernel.errors import StoreUnreachable
from perdure.memory import Principal
from perdure.memory.postgres import proof
from perdure.testing.doubles import AnthropicDouble, answer
from perdure.testing.doubles.anthropic import MODELS

MODEL = "claude-sonnet-4-6"
ANA, EVE = Principal(tenant="acme", user="ana"), Principal(tenant="globex", user="eve")
CANARY = "canary-of-acme"
STORE_KEY = "made-up-key-of-the-store-0123456789"
ROLE = "perdure_app"
HEAD = Head(hash=CANARY, prefix=CANARY, conversation="c", items=1, messages=1)


@pytest.fixture
def pool(database: Any) -> Iterator[Pool]:
    made: Pool = database.pool()
    yield made
    made.close()


def fill(pool: Pool) -> None:
    """A canary of Ana's in every table."""

    async def write() -> None:
        state, meter = PostgresState(pool), PostgresMeter(pool)
        record = Record(id="c", family=CANARY, version=1, edits=({"kind": CANARY},))
        await state.commit(ANA, record, HEAD)
        await state.keep(ANA, CANARY, {CANARY: {"text": CANARY}})
        await meter.enter(Account(owner=ANA, name=CANARY), Spent(), 0.0)

    asyncio.run(write())


CLAIM = "select set_config('perdure.tenant', '{}', false), set_config('perdure.owner', '{}', false)"
WAYS = {
    "asks for all": ["select t::text from {table} as t"],
    "asks for the other tenant": ["select t::text from {table} as t where tenant = 'acme'"],
    "claims to be the other": [CLAIM.format("acme", "ana"), "select t::text from {table} as t"],
    "claims another user of the other": [CLAIM.format("acme", "ben"), "select t::text from {table} as t"],
    "takes its proof back": ["set perdure.proof = ''", "select t::text from {table} as t"],
    "moves a letter between the names": [CLAIM.format("globexe", "ve"), "select t::text from {table} as t"],
    "turns row security off": ["set row_security = off", "select t::text from {table} as t"],
    "becomes the owner": ["set role postgres", "select t::text from {table} as t"],
    "disables the policy": ["alter table {table} disable row level security", "select t::text from {table} as t"],
    "adds a policy": ["create policy mine on {table} using (true)", "select t::text from {table} as t"],
    "takes rows over": ["update {table} set tenant = 'globex', owner = 'eve' returning {table}::text"],
    "deletes rows and looks at them": ["delete from {table} as t returning t::text"],
    "copies the table": ["copy {table} to stdout"],
    "reads the statistics": ["select most_common_vals::text from pg_stats where schemaname = 'perdure'"],
    "watches the filter work": [
        "create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 "
        "as $$ begin raise notice '%', $1; return true; end $$",
        "select 1 from {table} as t where pg_temp.leak(t::text)",
    ],
    "builds a view": ["create temp view v as select t::text from {table} as t", "select * from v"],
    "reads large": ["select query_to_xml('select * from {table}', true, false, '')::text"],
    "empties the table": ["truncate {table}"],
    "drops the table": ["drop table {table}"],
    "lists keys": ["select t::text from perdure.gateway_key as t"],
    "adds a key": ["insert into perdure.gateway_key select * from perdure.gateway_key_of('x')"],
    "makes a key last": ["update perdure.gateway_key set until = null returning grants"],
    "replaces the look-up of keys": [
        "create or replace function perdure.gateway_key_of(wanted text) returns setof perdure.gateway_key "
        "language sql as $$ select * from perdure.gateway_key $$",
    ],
    "reads the key of proofs": ["select key::text from perdure.claim_key"],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_second_tenant_with_free_sql_sees_and_changes_nothing(way: str, database: Any, pool: Pool) -> None:
    fill(pool)
    with psycopg.connect(database.owner, autocommit=True) as connection:
        connection.execute(b"analyze")
        before = contents(connection)
    told: list[str] = []
    with psycopg.connect(database.application, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        for table in OWNED:
            connection.execute(CLAIM.format(EVE.tenant, EVE.user).encode())
            connection.execute("select set_config('perdure.proof', %s, false)", (proof(STORE_KEY.encode(), EVE),))
            for statement in WAYS[way]:
                told += attempt(connection, statement.replace("{table}", f"perdure.{table}"))
            connection.execute(b"discard all")
    with psycopg.connect(database.owner, autocommit=True) as connection:
        after = contents(connection)

    assert [] == [line for line in told if CANARY in line]
    assert before == after


def contents(connection: Connection) -> list[str]:
    """All rows of all tables; each holds the canary."""
    found: list[str] = []
    for table in OWNED:
        statement = sql.SQL("select t::text from {} as t").format(sql.Identifier("perdure", table))
        rows = connection.execute(statement).fetchall()
        assert rows, table
        assert all(CANARY in str(row) for row in rows), table
        found += [str(row) for row in rows]
    return sorted(found)


def attempt(connection: Connection, statement: str) -> list[str]:
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


def test_also_the_owner_of_the_tables_sees_nobodys_rows_unless_it_proves_whose(database: Any) -> None:
    """The owner of a real database is no superuser: nobody with its password reads rows by it alone."""
    with psycopg.connect(database.owner, autocommit=True) as connection:
        connection.execute(b"create role plain_owner login")
        connection.execute(b"create database plain owner plain_owner")
    owner = make_conninfo(database.owner, user="plain_owner", dbname="plain")
    migrate(owner, role=ROLE, key=STORE_KEY.encode())
    pool = Pool(conninfo=make_conninfo(owner, user=ROLE), key=STORE_KEY.encode())
    fill(pool)
    with psycopg.connect(owner, autocommit=True) as connection:
        seen = [attempt(connection, f"table perdure.{table}") for table in OWNED]
        kinds = connection.execute(
            b"select relname from pg_class join pg_attribute on attrelid = pg_class.oid "
            b"where attname = 'tenant' and relkind = 'r' and not (relrowsecurity and relforcerowsecurity)"
        ).fetchall()

    assert [[]] * len(OWNED) == seen
    # Keys are looked up before anybody is known: the gateway's role may call a function for one, and no more.
    assert [("gateway_key",)] == kinds
    assert asyncio.run(PostgresState(pool).version(ANA, "c")) == 1
    pool.close()


def test_a_claim_ends_with_its_transaction(pool: Pool) -> None:
    fill(pool)
    told = [attempt(connection, "select body from perdure.gateway_edit") for connection in pool.idle]

    assert [[]] == told


def test_a_gateway_with_another_key_reaches_nothing(database: Any, pool: Pool) -> None:
    fill(pool)
    stranger = Pool(conninfo=database.application, key=bytes(32))

    async def look() -> object:
        state = PostgresState(stranger)
        found = [await state.find(ANA, [CANARY], ""), await state.load(ANA, "c"), await state.size(ANA)]
        with pytest.raises(StoreUnreachable):
            await state.commit(ANA, Record(id="n", family="n", version=1), None)
        return found

    assert [None, None, 0] == asyncio.run(look())
    stranger.close()


@pytest.mark.parametrize("statement", ["select pg_terminate_backend(pg_backend_pid())", "select 1"])
def test_a_commit_whose_connection_breaks_is_made_once(pool: Pool, statement: str) -> None:
    """The connection breaks before its work is durable; and, in the other case, after it is."""
    broken: list[str] = []
    state = PostgresState(pool)

    class Breaking(Pool):
        def _once(self, principal: Principal | None, work: Callable[[Connection], Any]) -> Any:
            if broken:
                return super()._once(principal, work)

            def breaking(connection: Connection) -> Any:
                done = work(connection)
                connection.execute(statement.encode())
                return done

            broken.append("once")
            super()._once(principal, breaking)
            raise psycopg.OperationalError("the connection broke behind the commit")

    made = PostgresState(Breaking(conninfo=pool.conninfo, key=pool.key))

    async def commit() -> list[object]:
        first = Record(id="c", family="f", version=1, edits=({"kind": "a"},))
        done = [await made.commit(ANA, first, HEAD), await state.version(ANA, "c")]
        return [*done, await state.commit(ANA, first, HEAD), await state.load(ANA, "c") == first]

    assert [True, 1, False, True] == asyncio.run(commit())
    made.pool.close()


def test_a_key_is_found_by_its_id_alone_by_the_gateway_and_managed_by_the_owner(database: Any, pool: Pool) -> None:
    owner = Pool(conninfo=database.owner, key=b"")
    _, record = issued(ANA, Grant(), "laptop", 1.0)
    PostgresKeys(owner).add(record)
    seen = PostgresKeys(pool)

    assert record == seen.find(record.id)
    assert None is seen.find("%")
    assert [record] == PostgresKeys(owner).records()
    for act in (seen.records, lambda: seen.add(record), lambda: seen.end(record.id, 2.0)):
        with pytest.raises(StoreUnreachable):
            act()
    assert PostgresKeys(owner).end(record.id, 2.0)
    assert PostgresKeys(owner).end(record.id, 9.0)
    found = seen.find(record.id)
    assert 2.0 == (found and found.until)
    owner.close()


def test_the_command_makes_tables_and_keys_on_the_server(
    database: Any, front: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PERDURE_STORE_KEY", STORE_KEY)
    assert 0 == main(["keys", "setup", "--store", database.owner, "--role", ROLE])
    capsys.readouterr()
    assert 0 == main(["keys", "add", "--store", database.owner, "--tenant", "acme", "--user", "ana"])
    key = capsys.readouterr().out.split()[0]
    double = AnthropicDouble(lambda _: answer("ok"))
    made = front(double, auto=True, config={"store": database.application, "store_key": STORE_KEY}, key="up")
    ask(made.url, [{"role": "user", "content": "Hello."}], key)

    with psycopg.connect(database.owner) as connection:
        rows = connection.execute("select tenant, owner from perdure.gateway_conversation").fetchall()

    assert [("acme", "ana")] == rows


def test_a_migration_that_was_made_is_not_made_again(database: Any) -> None:
    assert 0 == migrate(database.owner, role=ROLE, key=STORE_KEY.encode())


def test_a_server_that_is_gone_is_told_without_its_password() -> None:
    pool = Pool(conninfo="host=127.0.0.1 port=1 user=app password=Harbor7Kestrel", key=bytes(32))

    async def ask() -> None:
        await PostgresState(pool).find(ANA, ["h"], "p")

    with pytest.raises(StoreUnreachable) as refused:
        asyncio.run(ask())

    assert "Harbor7Kestrel" not in f"{refused.value!r} {pool!r} {refused.value.__cause__!r}"


def test_of_two_replicas_no_more_calls_are_let_in_than_are_allowed_and_a_dead_one_holds_none(pool: Pool) -> None:
    one, two = PostgresMeter(pool), PostgresMeter(pool)
    account, hold = Account(owner=ANA, name="a"), Spent(tokens=3, usd=0.25)

    async def run() -> list[object]:
        for meter in (one, two):
            await meter.beat(0.0)
        readings = await asyncio.gather(*(meter.enter(account, hold, 1.0) for meter in (one, two) * 4))
        running = sorted(reading.running for reading in readings)
        await two.leave(account, hold, Spent(tokens=5, usd=0.5), 2.0)
        left = await one.read(account, 2.0)
        # The second says nothing more.
        await one.beat(100.0)
        later = await one.enter(account, hold, 100.0)
        await two.leave(account, hold, Spent(), 101.0)
        end = await one.read(account, 101.0)
        return [running, left.running, left.held, later.running, end.running, later.held, later.spent["day"]]

    spent = Spent(requests=9, tokens=5, usd=0.5)
    held = [Spent(tokens=21, usd=1.75), Spent(tokens=15, usd=1.25)]
    assert [[1, 2, 3, 4, 5, 6, 7, 8], 7, held[0], 5, 5, held[1], spent] == asyncio.run(run())


READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


def talk(count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Read."}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def ask(url: str, messages: list[Any], key: str = "any") -> None:
    client: Any = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    client.messages.create(model=MODEL, max_tokens=200, tools=[READ], messages=messages)


def sent(double: AnthropicDouble) -> list[list[Any]]:
    return [one.body["messages"] for one in double.received if "Harness request" not in str(one.body["messages"][-1])]


def test_replicas_that_take_turns_send_what_one_alone_would_send(front: Callable[..., Any], database: Any) -> None:
    model = {MODEL: replace(MODELS[MODEL], window=9_000)}
    doubles = [AnthropicDouble(lambda _: answer("ok"), models=model) for _ in range(2)]
    store: dict[str, Any] = {"store": database.application, "store_key": STORE_KEY, "open": True}
    alone = front(doubles[0], auto=True, window=9_000)
    replicas = [front(doubles[1], auto=True, window=9_000, config=store) for _ in range(3)]
    for count in range(3, 15):
        ask(alone.url, talk(count))
        ask(replicas[count % 3].url, talk(count))

    assert sent(doubles[0]) == sent(doubles[1])
    assert len(talk(14)) > len(sent(doubles[1])[-1])


def test_who_loses_a_race_reads_again_and_forgets_nothing(front: Callable[..., Any], database: Any) -> None:
    """Two replicas decide on the same request at once; both answer, and what they decided is one decision."""
    double = AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})
    store: dict[str, Any] = {"store": database.application, "store_key": STORE_KEY, "open": True}
    replicas = [front(double, auto=True, window=9_000, config=store) for _ in range(2)]
    for made in replicas:
        ask(made.url, talk(2))

    async def race() -> None:
        async with AsyncExitStack() as stack:
            clients: list[Any] = [
                await stack.enter_async_context(
                    anthropic.AsyncAnthropic(base_url=made.url, api_key="any", max_retries=0)
                )
                for made in replicas
            ]
            for count in range(3, 9):
                calls = [
                    client.messages.create(model=MODEL, max_tokens=200, tools=[READ], messages=talk(count))
                    for client in clients * 3
                ]
                await asyncio.gather(*calls)

    asyncio.run(race())
    ask(replicas[0].url, talk(8))
    ask(replicas[1].url, talk(8))
    last, again = sent(double)[-2:]

    assert last == again
    assert [200] == sorted({one.status for one in double.received})
