"""Who may call: keys made by the command, checked by the gateway, and never kept."""

import asyncio
import json
import stat
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx
import pytest

from perdure.cli.main import main
from perdure.gateway import Config, Gateway, Parts, Route
from perdure.gateway.audit import AuditFile
from perdure.gateway.doorman import Doorman
from perdure.gateway.grants import Grant, Limits, grant_from_json, grant_to_json
from perdure.gateway.keys import FRESH, STALE, BookKeys, KeyRecord, issued
from perdure.gateway.sqlite_keys import SqliteKeys
from perdure.kernel.errors import InvalidSetting, StoreUnreachable
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, OpenAIDouble

MODEL = "claude-sonnet-4-6"
BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "Hi."}]}
ADA = Principal(tenant="acme", user="ada")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keys.sqlite3"


@pytest.fixture
def command(file: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Runs `perdure keys`, and gives the words of its first line."""

    def run(*words: str) -> list[str]:
        assert 0 == main(["keys", words[0], "--keys", str(file), *words[1:]])
        return capsys.readouterr().out.splitlines()[0].split()

    return run


@pytest.fixture
def added(command: Callable[..., list[str]]) -> Callable[..., str]:
    """Makes a key of Ada's."""
    return lambda *words: command("add", "--tenant", "acme", "--user", "ada", *words)[0]


def ask(url: str, key: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/messages", json={**BODY, **body}, headers={"x-api-key": key})


ADDRESSES = [
    ("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("POST", "/v1/responses"),
    ("POST", "/v1/responses/compact"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("POST", "/mcp"),
    ("GET", "/metrics"), ("GET", "/"), ("GET", "/nothing"),
]  # fmt: skip
SHOWN = [
    "",
    "x",
    "pdk_{id}_{secret}x",
    "PDK_{id}_{secret}",
    "pdk_",
    "pdk__",
    "pdk_{id}_",
    "pdk_{id}_{wrong}",
    "pdk_0000000000000000_{secret}",
    "{id}",
    "{secret}",
]


def test_without_a_valid_key_nothing_is_reached(
    front: Callable[..., Any], added: Callable[..., str], file: Path
) -> None:
    double = AnthropicDouble()
    _, key_id, secret = added().split("_", 2)
    made = front(double, config={"keys": file}, parts=Parts(pause=at_once([])))
    shown = [one.format(id=key_id, secret=secret, wrong="A" * len(secret)) for one in SHOWN]
    with httpx.Client(base_url=made.url) as client:
        answers = {
            (path, client.request(method, path, headers={"x-api-key": key}, content=b"{}").status_code)
            for method, path in ADDRESSES
            for key in shown
        }

    assert {(path, 401) for _, path in ADDRESSES} == answers
    assert [] == double.received


@pytest.mark.parametrize("header", ["x-api-key", "perdure-key", "authorization"])
def test_a_key_works_in_each_place_and_goes_no_further(
    front: Callable[..., Any], added: Callable[..., str], file: Path, header: str
) -> None:
    double = AnthropicDouble()
    key = added()
    made = front(double, config={"keys": file}, key="upstream-key")
    value = f"Bearer {key}" if header == "authorization" else key
    answer = httpx.post(f"{made.url}/v1/messages", json=BODY, headers={header: value})

    assert 200 == answer.status_code
    assert "upstream-key" == double.received[0].headers["x-api-key"]
    assert key.encode() not in repr(double.received[0].headers).encode()


def test_what_is_kept_of_a_key_is_not_the_key(added: Callable[..., str], file: Path) -> None:
    secret = added().split("_", 2)[2].encode()
    kept = b"".join(path.read_bytes() for path in file.parent.iterdir())

    assert secret not in kept
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert 0o700 == stat.S_IMODE(file.parent.stat().st_mode)


def test_no_key_of_the_gateway_goes_upstream_beside_the_one_that_is_used(
    front: Callable[..., Any], added: Callable[..., str], command: Callable[..., list[str]], file: Path
) -> None:
    double = AnthropicDouble()
    mine, others, ended = added(), command("add", "--tenant", "globex", "--user", "eve")[0], added()
    command("revoke", ended.split("_")[1])
    made = front(double, config={"keys": file})
    for other in (others, ended):
        headers = {"perdure-key": mine, "x-api-key": other, "authorization": f"Bearer {other}"}
        httpx.post(f"{made.url}/v1/messages", json=BODY, headers=headers)

    assert [] == [one for one in double.received if "pdk_" in repr(one.headers)]
    assert 2 == len(double.received)


def test_what_has_not_the_form_of_a_key_costs_no_look_up(front: Callable[..., Any], added: Callable[..., str]) -> None:
    asked: list[str] = []

    class Counting(Failing):
        def find(self, key_id: str) -> KeyRecord | None:
            asked.append(key_id)
            return super().find(key_id)

    key, record = issued(ADA, Grant(), "", 1.0)
    keys = BookKeys(book=Counting(record), clock=Clock())
    made = front(AnthropicDouble(), key="up", parts=Parts(keys=keys, clock=Clock(), pause=at_once([])))
    for shown in ("x", "pdk_a_b", key[:-1], key + "x", "pdk_" + "0" * 200, key):
        ask(made.url, shown)

    assert [record.id] == asked


def test_counts_of_all_tenants_together_are_for_the_operator(
    front: Callable[..., Any], added: Callable[..., str], file: Path
) -> None:
    key = added()
    closed = front(AnthropicDouble(), config={"keys": file}, parts=Parts(pause=at_once([])))
    opened = front(AnthropicDouble(), config={"keys": file, "metrics_key": "made-up"}, parts=Parts(pause=at_once([])))
    single = front(AnthropicDouble(), config={"key": "the-only-one"})
    asked = [(closed, key), (closed, "made-up"), (opened, key), (opened, "made-up"), (single, "the-only-one")]
    told = [httpx.get(f"{made.url}/metrics", headers={"x-api-key": shown}).status_code for made, shown in asked]

    assert [403, 401, 403, 200, 200] == told
    assert 401 == ask(opened.url, "made-up").status_code


def at_once(waited: list[float]) -> Callable[[float], Any]:
    async def pause(seconds: float) -> None:
        waited.append(seconds)

    return pause


def test_who_guesses_waits_longer_each_time_and_keeps_nobody_else_waiting(
    front: Callable[..., Any], added: Callable[..., str], file: Path
) -> None:
    key = added()
    waited: list[float] = []
    made = front(AnthropicDouble(), key="up", config={"keys": file}, parts=Parts(pause=at_once(waited)))
    for guess in range(10):
        ask(made.url, f"pdk_0000000000000000_{guess}")
    before = len(waited)

    assert 200 == ask(made.url, key).status_code
    assert [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0] == waited
    assert before == len(waited)


@pytest.mark.parametrize(
    ("form", "waits"),
    [("192.0.2.%d", 0), ("::ffff:192.0.2.%d", 0), ("2001:db8::%x", 3), ("2001:db8:0:%x::1", 0), ("proxy", 3)],
)
def test_a_guesser_has_one_count_for_all_of_its_network(form: str, waits: int) -> None:
    waited: list[float] = []
    doorman = Doorman(clock=Clock(), pause=at_once(waited))

    async def guess() -> None:
        for number in range(6):
            await doorman.refuse(form % number if "%" in form else form)

    asyncio.run(guess())

    assert waits == len(waited)


class Clock:
    """A time that stands still until it is moved."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_revoked_key_lives_ten_seconds_at_the_most(
    front: Callable[..., Any], added: Callable[..., str], command: Callable[..., list[str]], file: Path
) -> None:
    clock = Clock()
    key = added()
    made = front(AnthropicDouble(), key="up", config={"keys": file}, parts=Parts(clock=clock, pause=at_once([])))
    before = ask(made.url, key).status_code
    # The command ends it by the clock on the wall, which is long after this one.
    book = SqliteKeys(file)
    book.end(key.split("_")[1], clock.now)
    book.close()
    clock.now += FRESH

    assert (200, 401) == (before, ask(made.url, key).status_code)
    assert "ended" == command("list")[1]


def test_the_commands_rotate_and_revoke(
    front: Callable[..., Any], added: Callable[..., str], command: Callable[..., list[str]], file: Path
) -> None:
    first = added("--tokens-per-day", "1000")
    second = command("rotate", first.split("_")[1])[0]
    third = command("rotate", second.split("_")[1], "--grace", "0")[0]
    gone = added()
    command("revoke", gone.split("_")[1])
    made = front(AnthropicDouble(), key="up", config={"keys": file}, parts=Parts(pause=at_once([])))
    answers = [ask(made.url, key).status_code for key in (first, second, third, gone)]
    listed = json.loads(" ".join(command("list", "--json")))["keys"]

    refused = main(["keys", "rotate", "--keys", str(file), second.split("_")[1]])

    assert [200, 401, 200, 401] == answers
    assert 2 == refused
    assert [listed[0]["id"]] * 3 == [one["account"] for one in listed[:3]]
    assert [1000] * 3 == [one["limits"]["tokens_per_day"] for one in listed[:3]]


def test_a_key_is_good_for_its_models_and_routes_alone(
    front: Callable[..., Any], added: Callable[..., str], file: Path
) -> None:
    double = AnthropicDouble()
    haiku, other = added("--models", "claude-haiku-*"), added("--routes", "another")
    made = front(double, config={"keys": file}, model="claude-*", name="main")

    assert [403, 403] == [ask(made.url, key).status_code for key in (haiku, other)]
    assert [] == double.received


def test_a_key_is_told_of_its_own_models_alone(
    file: Path, front: Callable[..., Any], added: Callable[..., str]
) -> None:
    key = added("--models", "gpt-*")
    made = front(OpenAIDouble(), config={"keys": file, "routes": (Route(model="gpt-5"), Route(model="claude-x"))})
    listed = httpx.get(f"{made.url}/v1/models", headers={"authorization": f"Bearer {key}"}).json()

    assert ["gpt-5"] == [one["id"] for one in listed["data"]]


class Failing:
    """A book that can be out of reach."""

    def __init__(self, record: KeyRecord) -> None:
        self.record, self.down = record, False

    def find(self, key_id: str) -> KeyRecord | None:
        if self.down:
            raise StoreUnreachable("it is down")
        return self.record if key_id == self.record.id else None

    def records(self) -> list[KeyRecord]:
        return [self.record]

    def add(self, record: KeyRecord) -> None:
        self.record = record

    def end(self, key_id: str, until: float) -> bool:
        return False


def test_while_the_keys_are_out_of_reach_known_ones_go_on_for_a_time_and_others_are_told_to_come_later(
    front: Callable[..., Any],
) -> None:
    clock = Clock()
    key, record = issued(ADA, Grant(), "", clock.now)
    book = Failing(record)
    made = front(AnthropicDouble(), key="up", parts=Parts(keys=BookKeys(book=book, clock=clock), clock=clock))
    answers = [ask(made.url, key).status_code]
    book.down = True
    for moved in (FRESH, STALE):
        clock.now += moved
        answers.append(ask(made.url, key).status_code)

    assert [200, 200, 503] == answers


def test_a_gateway_that_nobody_or_everybody_could_call_does_not_start(file: Path) -> None:
    wrong = [
        Config(), Config(open=True, key="k"), Config(keys=file, key="k"), Config(open=True, host="192.0.2.1"),
    ]  # fmt: skip
    for config in wrong:
        with pytest.raises(InvalidSetting):
            Gateway(config)


@pytest.mark.parametrize("limits", [Limits(), Limits(tokens_per_day=5, usd_per_month=0.5, storage=1)])
def test_a_grant_is_kept_as_it_is(limits: Limits) -> None:
    grant = Grant(routes=("a", "b*"), models=("m",), auto=False, limits=limits)

    assert grant == grant_from_json(grant_to_json(grant))


def test_a_grant_that_cannot_be_read_grants_nothing() -> None:
    assert not grant_from_json({"routes": "all", "models": None}).covers("a", "b")


@pytest.mark.parametrize("limit", ["--tokens-per-day", "--requests-per-minute", "--usd-per-month"])
def test_a_limit_of_nothing_is_refused(file: Path, limit: str) -> None:
    assert 2 == main(["keys", "add", "--keys", str(file), "--tenant", "a", "--user", "b", limit, "0"])


@pytest.mark.parametrize("option", ["--days=nan", "--days=1e9", "--days=-1", "--usd-per-month=nan"])
def test_a_key_has_an_end_that_a_calendar_knows_and_limits_that_can_be_reached(file: Path, option: str) -> None:
    assert 2 == main(["keys", "add", "--keys", str(file), "--tenant", "a", "--user", "b", option])


@pytest.mark.parametrize("grace", ["nan", "inf", "-1"])
def test_an_old_key_ends_at_some_time(file: Path, added: Callable[..., str], grace: str) -> None:
    key = added()

    assert 2 == main(["keys", "rotate", "--keys", str(file), key.split("_")[1], f"--grace={grace}"])


def test_the_audit_says_who_and_when_and_nothing_of_what(
    front: Callable[..., Any], added: Callable[..., str], file: Path, tmp_path: Path
) -> None:
    key, audit, written = added(), tmp_path / "audit.jsonl", SimpleQueue[None]()
    kept = AuditFile(audit)

    def keep(entry: Any) -> None:
        kept(entry)
        written.put(None)

    made = front(AnthropicDouble(), key="up", config={"keys": file}, parts=Parts(pause=at_once([]), audit=keep))
    ask(made.url, key, messages=[{"role": "user", "content": "A secret plan."}])
    ask(made.url, "pdk_0000000000000000_wrong")
    httpx.get(f"{made.url}/secret/path", headers={"x-api-key": key})
    for _ in range(3):
        # An entry is written when its answer has left.
        written.get(timeout=10)
    kept.close()
    text = audit.read_text()
    entries = [json.loads(line) for line in text.splitlines()]

    assert [("acme", 200), (None, 401), ("acme", 404)] == [(one["tenant"], one["status"]) for one in entries]
    assert key.split("_")[1] == entries[0]["key"]
    assert [] == [word for word in ("plan", key, "wrong", "secret", MODEL) if word in text]
    assert 0o600 == stat.S_IMODE(audit.stat().st_mode)
