"""The monitor tells a hit from a break, and a break's cause, from what was sent and what the provider counted."""

from dataclasses import replace

import pytest

from perdure.kernel.cache import CacheMonitor, Cause, Head, PrefixChain, Reading
from perdure.kernel.messages import Message, Text, Tool, Usage
from perdure.kernel.models import lookup

NOW = 1_000_000.0
READ, GREP = Tool(name="read", schema={}), Tool(name="grep", schema={})
HEAD = Head(profile=lookup("claude-opus-5"), tools=(READ,), system=(Text(text="You lead."),))


def messages(*texts: str) -> list[Message]:
    return [
        Message(id=f"m{index}", role="user", content=(Text(text=text),), provenance="user")
        for index, text in enumerate(texts)
    ]


BEFORE = PrefixChain(HEAD, messages("a", "b"))
GROWN = BEFORE.over(messages("a", "b", "c"))


def judged(chain: PrefixChain = GROWN, *, read: int, gap: float = 60.0, edited: bool = False) -> Reading | None:
    """The reading of a request after one that read 100,000 tokens and wrote 4,000."""
    monitor = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False)
    _, monitor = monitor.answered(Usage(cache_read_tokens=100_000, cache_write_tokens=4_000))
    reading, _ = monitor.sent(chain, NOW + gap, 300.0, edited=edited).answered(
        Usage(cache_read_tokens=read, cache_write_tokens=5_000)
    )
    return reading


def test_the_first_answer_has_nothing_to_be_compared_with() -> None:
    reading, _ = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False).answered(Usage(input_tokens=5))

    assert Reading(outcome="first", cause=None, predicted=0, seen=0, lost=0) == reading


def test_a_request_that_reads_what_the_last_one_left_is_a_hit() -> None:
    assert Reading(outcome="hit", cause=None, predicted=104_000, seen=104_000, lost=0) == judged(read=104_000)


@pytest.mark.parametrize(
    ("previous", "read", "outcome"),
    [
        (100_000, 95_001, "hit"),
        (100_000, 95_000, "break"),
        (20_000, 18_001, "hit"),
        (20_000, 18_000, "break"),
        (1_900, 0, "hit"),
    ],
)
def test_a_break_is_a_drop_of_2000_tokens_and_a_twentieth_of_the_last_read(
    previous: int, read: int, outcome: str
) -> None:
    monitor = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False)
    _, monitor = monitor.answered(Usage(cache_read_tokens=previous))
    reading, _ = monitor.sent(GROWN, NOW + 1, 300.0, edited=False).answered(
        Usage(cache_read_tokens=read, input_tokens=9)
    )

    assert reading is not None
    assert outcome == reading.outcome


CAUSES: dict[str, tuple[PrefixChain, float, bool, Cause]] = {
    "a pause": (GROWN, 300.0, False, "expired"),
    "a pause and an edit, which was free then": (BEFORE.over(messages("x", "b", "c")), 900.0, True, "expired"),
    "another model": (
        PrefixChain(replace(HEAD, profile=lookup("claude-fable-5")), messages("a", "b")),
        60.0,
        False,
        "model_changed",
    ),
    "another tool": (PrefixChain(replace(HEAD, tools=(GREP,)), messages("a", "b")), 60.0, False, "tools_changed"),
    "one tool more": (PrefixChain(replace(HEAD, tools=(READ, GREP)), messages("a", "b")), 60.0, False, "tools_changed"),
    "no tools": (PrefixChain(replace(HEAD, tools=()), messages("a", "b")), 60.0, True, "tools_changed"),
    "another system block": (
        PrefixChain(replace(HEAD, system=(Text(text="You follow."),)), messages("a", "b")),
        60.0,
        False,
        "system_changed",
    ),
    "one system block more": (
        PrefixChain(replace(HEAD, system=(*HEAD.system, Text(text="More."))), messages("a", "b")),
        60.0,
        False,
        "system_changed",
    ),
    "an edit": (BEFORE.over(messages("x", "b", "c")), 60.0, True, "edited"),
    "messages that changed by themselves": (BEFORE.over(messages("x", "b", "c")), 60.0, False, "messages_changed"),
    "a setting of the messages": (
        PrefixChain(replace(HEAD, params={"tool_choice": {"type": "any"}}), messages("a", "b", "c")),
        60.0,
        False,
        "messages_changed",
    ),
    "nothing that we did": (GROWN, 60.0, False, "unexplained"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_break_has_the_cause_that_is_to_be_seen_in_what_was_sent(name: str) -> None:
    chain, gap, edited, cause = CAUSES[name]

    expected = Reading(outcome="break", cause=cause, predicted=104_000, seen=20_000, lost=80_000)

    assert expected == judged(chain, read=20_000, gap=gap, edited=edited)
    assert expected.expected == (cause in {"expired", "edited"})


def test_an_edit_explains_the_next_answer_and_no_later_one() -> None:
    monitor = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False)
    _, monitor = monitor.answered(Usage(cache_read_tokens=100_000))
    _, monitor = monitor.sent(GROWN, NOW + 1, 300.0, edited=True).answered(Usage(cache_read_tokens=50_000))
    reading, _ = monitor.sent(GROWN, NOW + 2, 300.0, edited=False).answered(Usage(cache_read_tokens=10_000))

    assert reading is not None
    assert ("break", "unexplained", 40_000) == (reading.outcome, reading.cause, reading.lost)


def test_a_request_that_was_never_answered_leaves_the_baseline_and_hands_on_its_edit() -> None:
    monitor = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False)
    _, answered = monitor.answered(Usage(cache_read_tokens=100_000))
    edited = BEFORE.over(messages("x", "b"))

    reading, failed = answered.sent(edited, NOW + 1, 300.0, edited=True).answered(Usage())
    later, _ = failed.sent(edited, NOW + 2, 300.0, edited=False).answered(Usage(cache_read_tokens=9_000))

    assert reading is None
    assert later is not None
    assert ("edited", 91_000) == (later.cause, later.lost)


def test_after_a_first_request_that_only_wrote_a_miss_is_a_break_too() -> None:
    monitor = CacheMonitor().sent(BEFORE, NOW, 300.0, edited=False)
    _, monitor = monitor.answered(Usage(cache_write_tokens=50_000))
    reading, _ = monitor.sent(GROWN, NOW + 1, 300.0, edited=False).answered(Usage(cache_write_tokens=51_000))

    assert Reading(outcome="break", cause="unexplained", predicted=50_000, seen=0, lost=50_000) == reading


def test_an_answer_that_nobody_waited_for_tells_nothing() -> None:
    assert (None, CacheMonitor()) == CacheMonitor().answered(Usage(cache_read_tokens=5))
