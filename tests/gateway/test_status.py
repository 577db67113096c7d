"""The status page: what a key's owner sees of the own conversations, and nobody else does."""

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from perdure.gateway import MemoryState, Parts, Record
from perdure.gateway.grants import Grant
from perdure.gateway.keys import BookKeys, KeyRecord, issued
from perdure.gateway.sessions import LASTING, from_own_page, shown_key
from perdure.gateway.status import told_of
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, answer
from perdure.testing.doubles.anthropic import MODELS

MODEL = "claude-sonnet-4-6"
ADA, EVE = Principal(tenant="acme", user="ada"), Principal(tenant="globex", user="eve")
PAGE = {"accept": "text/html,application/xhtml+xml"}
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


def talk(count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Read the secret plan."}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


class Clock:
    now = 1_796_040_000.0

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
        self.kept[key_id] = replace(self.kept[key_id], until=until)
        return True


class House:
    """A gateway that Ada has used, and Eve has not."""

    def __init__(self, front: Callable[..., Any], **parts: Any) -> None:
        self.clock, self.book, self.waited = Clock(), Book(), list[float]()
        self.keys = {owner: self._key(owner) for owner in (ADA, EVE)}
        given: dict[str, Any] = {"keys": BookKeys(book=self.book, clock=self.clock), "clock": self.clock, **parts}
        double = AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})
        made = front(double, key="up", auto=True, window=9_000, parts=Parts(pause=self._pause, **given))
        self.url, self.gateway = made.url, made.gateway
        self.browser = httpx.Client(base_url=self.url, headers={**PAGE, "sec-fetch-site": "same-origin"})

    async def _pause(self, seconds: float) -> None:
        self.waited.append(seconds)

    def _key(self, owner: Principal) -> str:
        key, record = issued(owner, Grant(), "", self.clock.now)
        self.book.add(record)
        return key

    def ask(self, owner: Principal, count: int) -> None:
        body = {"model": MODEL, "max_tokens": 200, "tools": [READ], "messages": talk(count)}
        headers = {"x-api-key": self.keys[owner]}
        assert 200 == httpx.post(f"{self.url}/v1/messages", json=body, headers=headers).status_code

    def sign_in(self, key: str) -> httpx.Response:
        return self.browser.post("/signin", data={"key": key})

    def data(self, owner: Principal) -> Any:
        return httpx.get(f"{self.url}/status.json", headers={"x-api-key": self.keys[owner]}).json()


@pytest.fixture
def house(front: Callable[..., Any]) -> Any:
    made = House(front)
    yield made
    made.browser.close()


def test_a_request_counts_once_also_where_a_conversation_goes_on_in_two_ways(house: House) -> None:
    other = [*talk(2), {"role": "assistant", "content": "Read."}, {"role": "user", "content": "Now the other one."}]
    for messages in (talk(2), talk(3), other):
        body = {"model": MODEL, "max_tokens": 200, "tools": [READ], "messages": messages}
        httpx.post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": house.keys[ADA]})
    told = house.data(ADA)

    assert (2, 3) == (len(told["conversations"]), told["sums"]["requests"])


def test_the_page_tells_how_full_each_context_is_and_what_was_edited_and_why(house: House) -> None:
    for count in (3, 8, 12):
        house.ask(ADA, count)
    house.sign_in(house.keys[ADA])
    page = house.browser.get("/")
    told = house.data(ADA)
    (one,) = told["conversations"]

    assert (200, 1, 3) == (page.status_code, told["live"], one["sums"]["requests"])
    assert 0 < one["context"]["tokens"] < one["context"]["window"] == 9_000
    assert one["context"]["full"] == one["context"]["tokens"] / 9_000
    assert 0 <= one["cache_hit_rate"] <= 1
    assert one["sums"]["saved_tokens"] > 0
    assert {"did", "why", "saved_tokens", "time"} == set(one["edits"][0])
    for text in ("acme / ada", MODEL, f"{one['context']['full']:.0%}", *(step["why"] for step in one["edits"])):
        assert text in page.text, text
    assert "secret plan" not in page.text


def test_nobody_sees_anything_of_somebody_else(house: House) -> None:
    house.ask(ADA, 3)
    house.sign_in(house.keys[EVE])
    page, data = house.browser.get("/").text, house.browser.get("/status.json").json()

    assert [] == data["conversations"]
    assert ("globex", "eve") == (data["tenant"], data["user"])
    assert "No conversation yet" in page
    assert [] == [word for word in ("acme", "ada", MODEL) if re.search(rf"\b{word}\b", page)]


def test_who_has_no_key_is_asked_for_one_and_waits_only_where_one_is_wrong(house: House) -> None:
    asked = [house.browser.get("/") for _ in range(9)]
    data = house.browser.get("/status.json")
    before = len(house.waited)
    guesses = [house.sign_in(f"pdk_0000000000000000_{number:043d}") for number in range(6)]

    assert {401} == {one.status_code for one in (*asked, data, *guesses)}
    assert 'name="key"' in asked[0].text
    assert "no key of this gateway" in guesses[0].text
    assert 0 == before < len(house.waited)


def test_a_session_is_a_cookie_without_the_key_that_no_script_and_no_other_site_gets(house: House) -> None:
    went = house.sign_in(house.keys[ADA])
    cookie = went.headers["set-cookie"]

    assert (303, "/") == (went.status_code, went.headers["location"])
    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={LASTING}"} <= {*cookie.split("; ")}
    assert house.keys[ADA].rsplit("_", 1)[1] not in cookie
    assert "Secure" not in cookie


def test_a_session_ends_with_its_time_with_its_key_and_when_it_is_left(house: House) -> None:
    house.sign_in(house.keys[ADA])
    cookie = house.browser.cookies["perdure_session"]
    told = [house.browser.get("/").status_code]
    house.clock.now += LASTING
    told.append(house.browser.get("/").status_code)
    house.clock.now -= LASTING
    told.append(house.browser.get("/").status_code)
    house.browser.post("/signout")
    told.append(house.browser.get("/").status_code)
    house.browser.cookies.set("perdure_session", cookie)
    house.book.end(house.keys[ADA].split("_")[1], house.clock.now)
    told.append(house.browser.get("/").status_code)

    assert [200, 401, 200, 401, 401] == told


def test_a_session_cannot_be_made_up_and_opens_nothing_but_the_page(house: House) -> None:
    house.sign_in(house.keys[ADA])
    real = house.browser.cookies["perdure_session"]
    key_id, until, mac = real.split(".")
    eve = house.keys[EVE].split("_")[1]
    forged = [
        f"{eve}.{until}.{mac}", f"{key_id}.{int(until) + 1}.{mac}", f"{key_id}.{until}.", f"{key_id}.{until}",
        f".{until}.{mac}", f"{key_id}.²{until}.{mac}", "..", "", "x" * 3_000, f"{key_id}.{'9' * 5_000}.{mac}",
    ]  # fmt: skip
    told = {house.browser.get("/", headers=cookie(one)).status_code for one in forged}
    paths = ("/v1/messages", "/mcp", "/metrics", "/v1/models")
    elsewhere = {
        httpx.request(
            "POST" if "m" in path[-4:] else "GET", house.url + path, cookies={"perdure_session": real}
        ).status_code
        for path in paths
    }

    assert {401} == told
    assert {401} == elsewhere


def cookie(session: str) -> Any:
    return {"cookie": f"perdure_session={session}".encode()}


def test_another_site_signs_nobody_in_or_out(house: House) -> None:
    data = {"key": house.keys[EVE]}
    signs = [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}]
    told = [
        house.browser.post(path, data=data, headers=sign).status_code
        for path in ("/signin", "/signout")
        for sign in signs
    ]
    told += [house.browser.get(path).status_code for path in ("/signin", "/signout")]

    assert [403] * 4 + [405] * 2 == told
    assert from_own_page({"origin": "http://a.example", "host": "a.example"})
    assert not from_own_page({"origin": "http://b.example", "host": "a.example"})
    assert not from_own_page({"origin": "null", "host": "a.example"})


@pytest.mark.parametrize("form", [b"", b"key", b"key=", b"x=1", b"\xff", b"&" * 50, b"a=1&" * 50 + b"key=k"])
def test_a_form_without_a_key_shows_none(form: bytes) -> None:
    assert "" == shown_key(form)


class Seen(HTMLParser):
    """The tags of a document, and the text outside of its style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.style = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style":
            self.style += data


def test_the_page_runs_nothing_and_loads_nothing_and_what_a_client_names_is_text(front: Callable[..., Any]) -> None:
    state = MemoryState()
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    state.records[ADA, evil] = Record(id=evil, family="f", version=1, model=evil, window=10, seen=1.0)
    house = House(front, state=state)
    pages = [house.browser.get("/")]
    house.sign_in(house.keys[ADA])
    pages += [house.browser.get("/"), house.browser.get("/?stay=1")]
    house.browser.close()
    for page in pages:
        seen = Seen(page.text)
        policy = page.headers["content-security-policy"]
        digest = b64encode(sha256(seen.style.encode()).digest()).decode()

        assert set() == {"script", "img", "iframe", "object"} & {tag for tag, _ in seen.tags}
        assert [] == [
            attrs for _, attrs in seen.tags if "style" in attrs or any(name.startswith("on") for name in attrs)
        ]
        assert {"data:,", None} >= {attrs.get("href") for tag, attrs in seen.tags if tag == "link"}
        assert f"style-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in policy
        assert ("nosniff", "no-store") == (page.headers["x-content-type-options"], page.headers["cache-control"])
    assert [False, False, True] == ['http-equiv="refresh"' in page.text for page in pages]


def test_a_program_is_told_that_all_is_well_at_the_same_address(house: House) -> None:
    headers = {"x-api-key": house.keys[ADA]}

    assert {"status": "ok"} == httpx.get(house.url, headers=headers).json()
    assert 401 == httpx.get(house.url).status_code


def test_where_there_is_no_key_the_page_is_open_to_this_machine(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble())
    told = [httpx.get(made.url, headers={**PAGE, **more}).status_code for more in ({}, {"host": "evil.example"})]

    assert [200, 403] == told


def test_with_one_key_for_all_a_session_ends_when_the_key_changes(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), config={"key": "made-up-key-of-the-gateway"})
    with httpx.Client(base_url=made.url, headers=PAGE) as browser:
        told = [
            browser.post("/signin", data={"key": key}).status_code for key in ("wrong", "made-up-key-of-the-gateway")
        ]
        told.append(browser.get("/").status_code)
        made.gateway.reload(replace(made.gateway.config, key="another-key-of-the-gateway"))
        told.append(browser.get("/").status_code)

    assert [401, 303, 200, 401] == told


def edit(kind: str, batch: str, why: str = "cold", **more: Any) -> Any:
    return {"kind": kind, "reason": {"batch": batch, "why": why, "time": 7.0}, **more}


def test_edits_are_told_by_batches_in_words() -> None:
    edits: Any = (
        edit("clear_tool_result", "b0", saved=100), edit("clear_tool_result", "b0", saved=50),
        edit("clear_thinking", "b0", saved=5), edit("attempt", "b1"), edit("checkpoint", "b2", "threshold", saved=900),
        edit("unheard_of", "b3"), {"kind": "revert"}, edit("prefix_change", "b5"),
    )  # fmt: skip
    told = told_of(Record(id="c", family="f", edits=edits, seen=1.0), 2.0)

    assert [
        ("the client changed tools or system prompt", "", 0),
        ("1 edit taken back", "", 0),
        ("the history folded into a summary", "the window was nearly full", 900),
        (
            "2 old tool results cleared, the thinking of 1 old message cleared",
            "the provider's cache had gone cold, so that it cost nothing",
            155,
        ),
    ] == [(step.did, step.why, step.saved) for step in told.steps]


@pytest.mark.parametrize("turn", [{}, {"usage": None}, {"usage": {"input_tokens": "many"}}])
def test_a_record_that_makes_no_sense_is_told_all_the_same(turn: Any) -> None:
    told = told_of(Record(id="c", family="f", turns=(turn,), window=100), 0.0)

    assert (0, 0.0) == (told.tokens, told.full)
