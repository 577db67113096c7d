"""What a key may use up: counted, set aside while calls are under way, and given back where nothing came of them."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio.to_thread
import httpx
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway import MemoryState, Parts
from perdure.gateway.grants import Grant, Limits
from perdure.gateway.keys import BookKeys, KeyRecord, issued
from perdure.gateway.meter import Account, MemoryMeter, Reading, Spent
from perdure.gateway.quotas import over
from perdure.kernel.errors import StoreUnreachable
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, Overloaded, answer
from perdure.testing.doubles.anthropic import MODELS

MODEL = "claude-sonnet-4-6"
BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "Hi."}]}
ADA = Principal(tenant="acme", user="ada")
NOON = 1_796_040_000.0
"""2026-11-30, 12:00:00 UTC: the last day of a month."""


DAY = int(NOON) - 12 * 3_600


class Clock:
    now = NOON

    def __call__(self) -> float:
        return self.now


class Book:
    def __init__(self) -> None:
        self.kept: dict[str, KeyRecord] = {}

    def find(self, key_id: str) -> KeyRecord | None:
        return self.kept.get(key_id)

    def records(self) -> list[KeyRecord]:
        return [*self.kept.values()]

    def add(self, record: KeyRecord) -> None:
        self.kept[record.id] = record

    def end(self, key_id: str, until: float) -> bool:
        return False


class Counted(MemoryMeter):
    """Says when a call was counted out, which is after its answer has left."""

    def __init__(self) -> None:
        super().__init__()
        self.left = threading.Semaphore(0)

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        await super().leave(account, hold, spent, now)
        self.left.release()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.left.acquire(timeout=10)


class Office:
    """A gateway whose keys have limits."""

    def __init__(self, front: Callable[..., Any], double: Any, **parts: Any) -> None:
        self.clock, self.book = Clock(), Book()
        keys = BookKeys(book=self.book, clock=self.clock)
        self.meter = Counted()
        given: dict[str, Any] = {"keys": keys, "clock": self.clock, "meter": self.meter, **parts}
        self.made = front(double, key="up", auto=True, parts=Parts(**given))

    def key(self, **limits: Any) -> str:
        key, record = issued(ADA, Grant(limits=Limits(**limits)), "", self.clock.now)
        self.book.add(record)
        return key

    def ask(self, key: str, **body: Any) -> httpx.Response:
        return httpx.post(f"{self.made.url}/v1/messages", json={**BODY, **body}, headers={"x-api-key": key})


@pytest.mark.parametrize(
    ("limits", "wait"),
    [({"requests_per_minute": 2}, 61), ({"tokens_per_day": 40}, 43_201), ({"usd_per_month": 0.0003}, 43_201)],
)
def test_a_limit_that_is_reached_says_when_to_come_again_and_then_lets_in(
    front: Callable[..., Any], limits: dict[str, Any], wait: int
) -> None:
    double = AnthropicDouble(lambda _: answer("word " * 10))
    office = Office(front, double)
    key, other = office.key(**limits), office.key(**limits)
    answers: list[httpx.Response] = []
    while not answers or answers[-1].status_code == 200:
        answers.append(office.ask(key))
        assert len(answers) < 9
    refused = answers[-1]
    asked = len(double.received)
    again = [office.ask(key).status_code, office.ask(other).status_code]
    office.clock.now += wait
    again.append(office.ask(key).status_code)

    assert (429, str(wait)) == (refused.status_code, refused.headers["retry-after"])
    assert {"type": "rate_limit_error", "details": {"error_code": "quota_reached"}}.items() <= refused.json()[
        "error"
    ].items()
    assert [429, 200, 200] == again
    assert asked + 2 == len(double.received)


class Held:
    """An upstream that keeps calls waiting."""

    def __init__(self) -> None:
        self.asked, self.told = threading.Semaphore(0), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.release()
        await anyio.to_thread.run_sync(self.told.wait, 20)
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


@pytest.mark.parametrize("limits", [{"concurrent": 1}, {"tokens_per_day": 1_000}, {"usd_per_month": 0.01}])
def test_what_a_call_under_way_may_come_to_is_set_aside_and_given_back(
    front: Callable[..., Any], limits: dict[str, Any]
) -> None:
    upstream = Held()
    office = Office(front, upstream)
    key = office.key(**limits)
    first = threading.Thread(target=lambda: office.ask(key, max_tokens=2_000), daemon=True)
    first.start()
    assert upstream.asked.acquire(timeout=10)
    meanwhile = office.ask(key)
    upstream.told.set()
    first.join(10)
    office.meter.wait(2)

    assert (429, True) == (meanwhile.status_code, int(meanwhile.headers["retry-after"]) <= 5)
    assert 500 == office.ask(key).status_code


def test_a_call_that_fails_or_is_refused_uses_up_nothing_but_the_request(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    double.faults.extend([Overloaded(), Overloaded()])
    office = Office(front, double)
    key = office.key(requests_per_minute=3, concurrent=9)
    account = Account(owner=ADA, name=key.split("_")[1])
    answers = [office.ask(key).status_code for _ in range(2)]
    # In the form of no protocol, so that it is refused here; and then too many.
    answers.append(office.ask(key, messages=[1]).status_code)
    answers += [office.ask(key).status_code for _ in range(4)]
    office.meter.wait(len(answers))
    spent = office.meter.counts[account, "day", DAY]

    assert [529, 529, 400, 429, 429, 429, 429] == answers
    assert Spent(requests=3) == spent
    assert {} == office.meter.running.calls


def test_storage_that_is_full_is_told(front: Callable[..., Any]) -> None:
    office = Office(front, AnthropicDouble())
    key = office.key(storage=100)
    first = office.ask(key).status_code
    office.clock.now += 61

    assert [200, 429] == [first, office.ask(key).status_code]


class Down(MemoryMeter):
    async def enter(self, account: Account, hold: Spent, now: float) -> Reading:
        raise StoreUnreachable("it is down")


def test_a_key_with_limits_waits_where_nobody_can_count_and_one_without_does_not(front: Callable[..., Any]) -> None:
    office = Office(front, AnthropicDouble(), meter=Down())

    assert [503, 200] == [office.ask(office.key(**given)).status_code for given in ({"concurrent": 1}, {})]


class Hiccup(Counted):
    """Fails when calls end, for a while."""

    failing = True

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        if self.failing:
            self.left.release()
            raise StoreUnreachable("it is down")
        await super().leave(account, hold, spent, now)


def test_what_could_not_be_counted_is_counted_later(front: Callable[..., Any]) -> None:
    meter = Hiccup()
    office = Office(front, AnthropicDouble(lambda _: answer("word " * 10)), meter=meter)
    key = office.key(concurrent=5)
    office.ask(key)
    meter.wait(1)
    meter.failing = False
    office.ask(key)
    meter.wait(2)
    account = Account(owner=ADA, name=key.split("_")[1])
    counted = meter.counts[account, "day", DAY]

    assert 2 == counted.requests
    assert counted.tokens > 20
    assert {} == meter.running.calls


@pytest.mark.parametrize(
    ("spent", "held", "refused"),
    [(Spent(tokens=9), Spent(tokens=99), False), (Spent(tokens=10), Spent(tokens=99), True),
     (Spent(tokens=4), Spent(tokens=105), True), (Spent(usd=0.5), Spent(tokens=99, usd=0.25), False),
     (Spent(usd=1.0), Spent(tokens=99), True), (Spent(usd=0.5), Spent(tokens=99, usd=0.75), True)],
)  # fmt: skip
def test_only_what_others_hold_counts_before_it_is_used(spent: Spent, held: Spent, refused: bool) -> None:
    reading = Reading(spent=dict.fromkeys(("minute", "day", "month"), spent), running=2, held=held)
    told = over(Limits(tokens_per_day=10, usd_per_month=1.0), reading, Spent(tokens=99, usd=0.25), NOON)

    assert refused == (told is not None)


def test_a_store_that_is_down_and_back_leaves_what_was_decided_before_in_force(front: Callable[..., Any]) -> None:
    """While nobody knows what was decided, nothing is decided anew, or the old decisions would be forgotten."""
    state = Shaky()
    made = [front(double_of(), auto=True, window=9_000, parts=Parts(state=state)) for _ in range(2)]

    def ask(place: int, count: int) -> int:
        body = {**BODY, "messages": talk(count), "tools": [READ]}
        return httpx.post(f"{made[place].url}/v1/messages", json=body, headers={"x-api-key": "any"}).status_code

    before = ask(0, 14)
    known = {owner: len(record.edits) for owner, record in state.records.items()}
    state.down = True
    # The second replica has never seen it: whole it is too long for the model.
    meanwhile = [ask(1, 14), ask(1, 1)]
    state.down = False
    after = [ask(1, 14), ask(0, 14)]
    edits = {owner: len(record.edits) for owner, record in state.records.items()}

    assert (200, [503, 200], [200, 200]) == (before, meanwhile, after)
    assert known == edits
    assert sum(known.values()) > 0


READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


def double_of() -> AnthropicDouble:
    return AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})


def talk(count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Read."}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


class Shaky(MemoryState):
    """A store that is down at times."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    async def find(self, owner: Any, hashes: Any, prefix: Any) -> Any:
        self._look()
        return await super().find(owner, hashes, prefix)

    async def commit(self, owner: Any, record: Any, head: Any) -> bool:
        self._look()
        return await super().commit(owner, record, head)

    async def keep(self, owner: Any, family: Any, originals: Any) -> None:
        self._look()
        await super().keep(owner, family, originals)

    async def version(self, owner: Any, conversation: Any) -> int:
        self._look()
        return await super().version(owner, conversation)

    def _look(self) -> None:
        if self.down:
            raise StoreUnreachable("it is down")
