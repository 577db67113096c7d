"""The page of a replay: whole, safe, self-contained, and with every figure of the summary."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from time import perf_counter
from typing import get_args

import pytest

from perdure.kernel.cache import Bill
from perdure.kernel.context import Lost, with_window
from perdure.kernel.messages import Message, Text, Transcript, decode_json
from perdure.kernel.models import lookup
from perdure.lab.composition import KINDS
from perdure.lab.policies import POLICIES
from perdure.lab.recording import Asked, Recording, Trouble
from perdure.lab.replay import Break, Point, Replayed, Setting, Subject, recorded, replay
from perdure.lab.report.page import page
from perdure.lab.report.summary import Outcome, file_row, total_row
from perdure.testing.sessions import Scenario, generate

MODEL = "claude-sonnet-4-5"
VOID = {"meta", "input", "wbr", "br", "link", "img", "hr"}
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00\x1b[31m\u202e\ud800&lt;"


class Checker(HTMLParser):
    """Holds every element open until its own end tag comes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and tag != "path":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and tag != "path":
            assert tag == self.open.pop(), f"{tag} ends at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text.append(data)


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert [] == checker.open
    return checker


def words(html: str) -> str:
    return re.sub(r"\s+", " ", "".join(checked(html).text))


def point(at: int, tokens: int = 1_000, units: float = 500.0) -> Point:
    bill = Bill(
        read=tokens // 2, written=tokens - tokens // 2, written_long=0, fresh=0, output=10, units=units, usd=0.01
    )
    return Point(
        tokens=tokens,
        bill=bill,
        broke=None,
        rungs=(),
        evicted=0,
        faults=0,
        over_window=False,
        infeasible=False,
        at=at,
        sizes=tuple(range(1, len(KINDS) + 1)),
    )


def recording(requests: int, file: str = "a.jsonl") -> Recording:
    return Recording(
        file=file,
        format="generated",
        transcript=Transcript(),
        asked=tuple(Asked(at=number + 1, time=1e9 + number) for number in range(requests)),
    )


def outcome(requests: int, policy: str = "balanced", window: int | None = 200_000, file: str = "a.jsonl") -> Outcome:
    points = [point(number + 1, 1_000 + number * 100) for number in range(requests)]
    seconds = [0.001] * requests
    replayed = Replayed(policy=policy, model=MODEL, window=window, points=points, seconds=seconds)
    return Outcome(recording=recording(requests, file), replayed=replayed)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """A small made-up session in a window that is too small for it."""
    session = generate(
        3, Scenario(requests=40, turns=3, tokens=60_000, huge_share=0.05, huge_tokens=11_200, pauses=1.0)
    )
    asked = tuple(
        Asked(at=place, time=session.transcript[place - 1].time, usage=message.usage)
        for place, message in enumerate(session.transcript)
        if message.role == "assistant"
    )
    source = Recording(
        file="made up.jsonl",
        format="generated",
        transcript=session.transcript,
        asked=asked,
        model=MODEL,
        system=session.system,
        tools=session.tools,
    )
    profile = with_window(lookup(MODEL), 24_000)
    subject = Subject(source, profile)
    setting = Setting(profile=profile, clock=perf_counter)
    found = [replay(subject, name, POLICIES[name], setting) for name in ("append-only", "classic", "balanced")]
    bill = recorded(subject)
    assert bill is not None
    return [Outcome(recording=source, replayed=one) for one in (*found, bill)]


def test_every_element_of_a_page_is_closed_in_its_turn(outcomes: list[Outcome]) -> None:
    tags = [tag for tag, _ in checked(page(outcomes)).tags]

    # Two of the session, one of prices for each policy, one of kinds for each but the recorded bill.
    assert 2 + 4 + 3 == tags.count("figure")


def test_a_page_reaches_nothing_outside(outcomes: list[Outcome]) -> None:
    html = page(outcomes)
    attributes = [(name, value or "") for _, held in checked(html).tags for name, value in held.items()]
    policy = next(
        value for _, held in checked(html).tags for value in [held.get("content") or ""] if "default-src" in value
    )

    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'" == policy
    assert [] == [value for _, value in attributes if "://" in value]
    assert {"href"} >= {name for name, _ in attributes} & {"src", "href", "srcset", "action", "data"}
    assert all(value.startswith("#") for name, value in attributes if name == "href")
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", html)


def test_a_page_carries_each_figure_of_the_summary(outcomes: list[Outcome]) -> None:
    shown = words(page(outcomes))

    for one in outcomes:
        row = total_row(one.replayed.policy, [one])
        for name in (
            "requests",
            "messages",
            "peak_tokens",
            "sent_tokens",
            "prefix_breaks",
            "over_window",
            "evicted_tokens",
        ):
            value = row[name]
            assert value is None or f"{value:,}" in shown, name
        for name in ("cost_units", "cost_usd", "hit_rate"):
            assert f"{row[name]:,}" in shown, name


def test_a_page_tells_the_loss_report(outcomes: list[Outcome]) -> None:
    shown = words(page(outcomes))
    balanced = next(one.replayed for one in outcomes if one.replayed.policy == "balanced")
    lost = [lost for held in balanced.points for lost in held.lost]

    assert lost
    largest = max(lost, key=lambda one: one.tokens)
    assert largest.handle in shown
    assert f"{len(lost):,} things of {sum(one.tokens for one in lost):,} tokens left the view" in shown


def test_losses_beyond_the_room_are_counted() -> None:
    losses = tuple(
        Lost(handle=f"h{number}", message_id="m", what=f"thing {number}", tokens=number, rung="full_summary")
        for number in range(1, 500)
    )
    one = outcome(2)
    one.replayed.points[1] = replace(one.replayed.points[1], lost=losses)
    shown = words(page([one]))

    assert "499 things of 124,750 tokens left the view" in shown
    assert "Shown: the 60 largest, 28,170 tokens." in shown
    assert "thing 499" in shown
    assert "thing 439" not in shown


def test_hostile_text_never_becomes_markup() -> None:
    lost = Lost(handle=HOSTILE, message_id=HOSTILE, what=HOSTILE, tokens=5, rung="light_trim")
    one = outcome(3, policy=HOSTILE, file=HOSTILE)
    one.replayed.points[1] = replace(one.replayed.points[1], lost=(lost,), rungs=("light_trim",))
    one.replayed.warnings.append(HOSTILE)
    source = replace(one.recording, format=HOSTILE, troubles=(Trouble(line=3, reason=HOSTILE),))
    html = page([Outcome(recording=source, replayed=one.replayed)])
    tags = checked(html).tags

    assert html.encode("utf-8")
    assert 2 == sum(tag == "script" for tag, _ in tags)
    assert not any(tag == "img" or name.startswith("on") for tag, held in tags for name in held)
    assert not re.search("[\x00\x1b\u202e\ud800-\udfff]", html)
    assert "alert(1)" in words(html)


def test_the_embedded_figures_are_json_that_no_parser_takes_for_markup() -> None:
    html = page([outcome(3, policy=HOSTILE)])
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', html, re.DOTALL)

    assert found is not None
    assert not set("<>&") & set(found[1])
    data = decode_json(found[1])
    assert isinstance(data, dict)
    sessions = data["sessions"]
    assert isinstance(sessions, list)
    assert 1 == len(sessions)


def test_a_page_of_nothing_says_so() -> None:
    assert "No session was replayed." in words(page([]))


@pytest.mark.parametrize("requests", [0, 1, 2])
@pytest.mark.parametrize("window", [None, 4_000, 200_000])
def test_a_session_of_hardly_any_request_has_its_page(requests: int, window: int | None) -> None:
    shown = words(page([outcome(requests, window=window)]))

    assert f"{requests} request{'' if requests == 1 else 's'}" in shown
    assert ("window not known" in shown) == (window is None)


def test_a_recorded_bill_alone_has_its_page_with_what_it_lacks_left_open() -> None:
    one = outcome(4, policy="recorded")
    bare = [replace(held, sizes=(), bill=replace(held.bill, usd=None)) for held in one.replayed.points]
    html = page([Outcome(recording=one.recording, replayed=replace(one.replayed, points=bare, seconds=[]))])

    assert file_row(one)["edits"] is not None
    assert "it shows the bill alone" in words(html)
    assert 2 + 1 == html.count("<figure")


def test_a_policy_is_compared_only_with_one_of_the_same_requests() -> None:
    same = page([outcome(4, policy="append-only"), outcome(4)])
    fewer = page([outcome(3, policy="append-only"), outcome(4)])

    assert "the same" in words(same)
    assert "the same" not in words(fewer)


def test_many_sessions_are_all_listed_and_the_largest_have_charts() -> None:
    html = page([outcome(number + 1, file=f"session-{number}.jsonl") for number in range(40)])
    shown = words(html)

    assert "The 20 largest of 40 sessions, by tokens sent, have charts below." in shown
    assert 20 == html.count('<section class="session"')
    assert all(f"session-{number}.jsonl" in shown for number in range(40))


def test_a_page_of_twenty_long_sessions_stays_small_and_says_what_it_merged() -> None:
    replays = [outcome(1_200, policy=name).replayed for name in ("append-only", "classic", "balanced", "x", "y")]
    sources = [recording(1_200, f"session-{number}.jsonl") for number in range(20)]
    twenty = [Outcome(recording=source, replayed=replayed) for source in sources for replayed in replays]
    html = page(twenty)

    assert len(html.encode()) < 2_500_000
    assert "1,200 requests are drawn in 80 places" in words(html)


def test_every_cause_of_a_break_has_its_words_and_its_colour() -> None:
    points = [replace(point(place + 1), broke=cause) for place, cause in enumerate(get_args(Break))]
    one = outcome(len(points))
    html = page([Outcome(recording=one.recording, replayed=replace(one.replayed, points=points))])

    for cause in get_args(Break):
        assert f'<path class="b b-{cause}"' in html
        assert f'<li><i class="b-{cause}">' in html
        assert re.search(rf"\.b-{cause} {{ --c: ", html)


def test_messages_of_a_session_do_not_get_on_its_page() -> None:
    secret = Message(id="m1", role="user", content=(Text(text="sesame opens it"),), provenance="user")
    one = outcome(1)
    source = replace(one.recording, transcript=Transcript([secret]))

    assert "sesame" not in page([Outcome(recording=source, replayed=one.replayed)])
