"""What is kept of conversations: across restarts, forks and owners."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import pytest

from perdure.gateway import Head, MemoryState, Record, StateStore
from perdure.gateway.postgres_pool import Pool
from perdure.gateway.postgres_state import PostgresState
from perdure.gateway.sqlite_state import SqliteState
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, answer
from perdure.testing.doubles.anthropic import MODELS

MODEL = "claude-sonnet-4-6"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
ME, OTHER = Principal(tenant="t", user="me"), Principal(tenant="t", user="other")
HEAD = Head(hash="h1", prefix="p", conversation="c", items=3, messages=3)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield MemoryState()
        return
    if request.param == "postgres":
        pool: Pool = request.getfixturevalue("database").pool()
        yield PostgresState(pool)
        pool.close()
        return
    opened = SqliteState(tmp_path / "deep" / "state.sqlite3")
    yield opened
    opened.close()


def test_a_commit_needs_the_version_before_it(store: StateStore) -> None:
    async def race() -> list[bool]:
        first = Record(id="c", family="f", version=1, items=3, edits=({"kind": "a"},))
        second = replace(first, version=2, edits=({"kind": "a"}, {"kind": "b"}))
        done = [await store.commit(ME, first, HEAD), await store.commit(ME, first, HEAD)]
        done += [await store.commit(ME, second, None), await store.commit(ME, second, None)]
        return [*done, await store.load(ME, "c") == second, await store.version(ME, "c") == 2]

    assert [True, False, True, False, True, True] == asyncio.run(race())


def test_everything_of_a_record_is_kept(store: StateStore) -> None:
    record = Record(
        id="c", family="f", version=1, items=3, edits=({"kind": "a"},), turns=({"messages": 1},), splices=({"at": 1},),
        model="m", window=9, seen=2.5, sums={"usd": 0.5, "requests": 2},
    )  # fmt: skip

    async def keep() -> Record | None:
        await store.commit(ME, record, HEAD)
        return await store.load(ME, "c")

    assert record == asyncio.run(keep())


def test_the_newest_are_told_first_and_the_size_grows_with_what_is_kept(store: StateStore) -> None:
    async def look() -> list[object]:
        before = await store.size(ME)
        for name, seen in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
            await store.commit(ME, Record(id=name, family=name, version=1, seen=seen, edits=({"x": name},)), None)
        middle = await store.size(ME)
        await store.keep(ME, "f", {"h0": {"text": "x" * 1_000}})
        grown = await store.size(ME)
        found = [record.id for record in await store.newest(ME, 2)]
        return [before, found, 0 < middle < grown - 1_000, await store.newest(OTHER, 9), await store.size(OTHER)]

    assert [0, ["b", "a"], True, [], 0] == asyncio.run(look())


def test_nobody_finds_what_is_somebody_elses(store: StateStore) -> None:
    async def look() -> list[object]:
        await store.commit(ME, Record(id="c", family="f", version=1), HEAD)
        await store.keep(ME, "f", {"h0": {"what": "a file", "tokens": 7, "text": "Hello there"}})
        return [
            await store.find(OTHER, ["h1"], "p"),
            await store.load(OTHER, "c"),
            await store.original(OTHER, "f", "h0"),
            await store.original(OTHER, "", "h0"),
            await store.originals(OTHER, "", [], 9),
        ]

    assert [None, None, None, None, []] == asyncio.run(look())


def test_originals_are_found_by_handle_and_by_words_and_never_replaced(store: StateStore) -> None:
    async def look() -> list[object]:
        await store.keep(ME, "f", {"h0": {"what": "a", "tokens": 7, "text": "Hello there"}})
        await store.keep(ME, "f", {"h0": {"what": "b", "tokens": 8, "text": "Other"}, "h1": {"text": "Other"}})
        kept = await store.original(ME, "f", "h0")
        found = await store.originals(ME, "f", ["HELLO"], 9)
        everywhere = await store.originals(ME, "", [], 9)
        return [kept and kept["what"], [one.handle for one in found], [one.handle for one in everywhere]]

    assert ["a", ["h0"], ["h1", "h0"]] == asyncio.run(look())


def test_the_longest_head_is_found_and_of_equal_ones_that_with_the_same_prefix(store: StateStore) -> None:
    async def look() -> list[str | None]:
        for name, prefix, length in (("c1", "p", 1), ("c2", "p", 3), ("c3", "q", 3)):
            head = Head(hash=f"h{length}", prefix=prefix, conversation=name, items=length, messages=length)
            await store.commit(ME, Record(id=name, family=name, version=1), head)
        asked = [(["h9", "h3", "h1"], "p"), (["h3"], "q"), (["h1"], "z"), (["h9"], "p")]
        found = [await store.find(ME, hashes, prefix) for hashes, prefix in asked]
        return [head.conversation if head else None for head in found]

    assert ["c2", "c3", "c1", None] == asyncio.run(look())


def talk(count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Read."}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def ask(url: str, messages: list[Any]) -> None:
    client: Any = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
    client.messages.create(model=MODEL, max_tokens=200, tools=[READ], messages=messages)


def sent(double: AnthropicDouble) -> list[list[Any]]:
    return [one.body["messages"] for one in double.received if "Harness request" not in str(one.body["messages"][-1])]


def test_after_a_restart_a_conversation_goes_on_as_if_nothing_had_happened(
    front: Callable[..., Any], tmp_path: Path
) -> None:
    double = AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})
    state: dict[str, Any] = {"state": tmp_path / "state.sqlite3"}
    before = front(double, auto=True, window=9_000, config=state)
    for count in (3, 6, 12):
        ask(before.url, talk(count))
    after = front(double, auto=True, window=9_000, config=state)

    ask(after.url, talk(12))
    ask(before.url, talk(12))

    *_, last, restarted, again = sent(double)
    assert last == restarted == again
    assert len(talk(12)) > len(last)


def test_who_goes_back_and_on_another_way_forks_and_both_ways_stay_as_they_were(front: Callable[..., Any]) -> None:
    double = AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})
    made = front(double, auto=True, window=9_000)
    ask(made.url, talk(3))
    ask(made.url, talk(12))
    other = [*talk(3), {"role": "assistant", "content": "No."}, {"role": "user", "content": "Something else."}]

    ask(made.url, other)
    ask(made.url, talk(12))

    first, second, forked, again = sent(double)
    assert first == forked[: len(first)]
    assert second == again
    state: Any = made.gateway.state
    assert 2 == len(state.records)
