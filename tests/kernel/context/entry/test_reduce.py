"""The promises that hold for every output: the limit, both ends, the note, and the same result for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.context.entry import REDUCERS, kind_of_output, reduce_text
from perdure.kernel.messages import Json, encode_json

HANDLE = "h0123456789"


def encode_text(value: Json) -> str:
    return encode_json(value).decode()


def measure(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 1


def shrink(text: str, limit: int, hint: str = "") -> str:
    return reduce_text(text, limit=limit, measure=measure, recall=f"recall {HANDLE}", hint=hint)


PIECES = st.sampled_from(
    (
        "def run(value):",
        '{"id": "a1", "error": null}',
        '{"items": [',
        "]}",
        "src/app.py:12: total = 3",
        "diff --git a/x b/x",
        "@@ -1,2 +1,2 @@",
        "+added",
        "-removed",
        "ERROR something failed",
        "2026-05-01T10:00:00Z INFO ok",
        "Traceback (most recent call last):",
        '  File "/app/x.py", line 3, in run',
        "ValueError: bad",
        "===== FAILURES =====",
        "E   assert 1 == 2",
        "    12\tclass A:",
        "a,b,c",
        "| x | y |",
        "Output:",
        "\x1b[31mred\x1b[0m",
        "10%\r50%\r100%",
        "\x00\x07",
        "\ud800",
        "一二三四五六七八九十" * 9,
        "x" * 700,
        "",
    )
)
TEXTS = st.lists(PIECES | st.text(max_size=40), max_size=60).map("\n".join)


@given(text=TEXTS, limit=st.integers(20, 400), hint=st.sampled_from(("", "read src/a.py", "bash make", "grep -n x")))
@settings(max_examples=150, deadline=None)
def test_no_result_is_over_the_limit_or_longer_than_the_text(text: str, limit: int, hint: str) -> None:
    reduced = shrink(text, limit, hint)

    assert (measure(reduced) <= limit, measure(reduced) <= measure(text)) == (True, True)


@given(kind=st.sampled_from(sorted(REDUCERS)), text=TEXTS, room=st.integers(0, 4_000))
@settings(max_examples=150, deadline=None)
def test_every_reducer_takes_any_text_at_any_room(kind: str, text: str, room: int) -> None:
    plain = text.replace("\ud800", "?")

    written = {REDUCERS[known](plain)(room) for known in REDUCERS if known == kind}

    assert len(written) == 1


@given(text=TEXTS, limit=st.integers(20, 400))
@settings(max_examples=60, deadline=None)
def test_the_same_text_always_gives_the_same_result(text: str, limit: int) -> None:
    assert shrink(text, limit) == shrink(text, limit)


@given(text=TEXTS, limit=st.integers(20, 400))
@settings(max_examples=60, deadline=None)
def test_a_result_fits_and_so_is_never_reduced_again(text: str, limit: int) -> None:
    reduced = shrink(text, limit)

    assert shrink(reduced, limit) == reduced


@given(
    words=st.lists(st.sampled_from(("alpha", "beta", "gamma 7", "delta: 4", "  indented", "ERROR x")), min_size=200),
    hint=st.sampled_from(("", "read src/a.py", "bash make", "grep -n x")),
)
@settings(max_examples=30, deadline=None)
def test_the_first_and_the_last_line_stay(words: list[str], hint: str) -> None:
    text = "\n".join(("first line 4711", *words, "last line 4712"))
    reduced = shrink(text, 150, hint)

    assert ("first line 4711" in reduced, reduced.endswith("last line 4712")) == (True, True)


def test_text_that_fits_comes_back_as_it_was() -> None:
    text = "\x1b[31mred\x1b[0m\r\n\x00 and odd"

    assert shrink(text, 100) == text


def test_nothing_comes_back_as_nothing_however_small_the_limit() -> None:
    assert "" == shrink("", 0)


def test_the_note_says_how_much_there_was_and_how_to_see_it() -> None:
    reduced = shrink("a plain line of words\n" * 999 + "the end", 200)

    assert reduced.split("\n")[0] == (
        "[Reduced: this is a part of text of 1,000 lines, 21,985 characters. To see all of it: recall h0123456789]"
    )


@pytest.mark.parametrize("text", ["word " * 9_000, '{"a": [' + "1, " * 9_000 + "2]}", "line\n" * 9_000, "x" * 50_000])
def test_even_the_smallest_limit_leaves_the_handle(text: str) -> None:
    reduced = shrink(text, 20)

    assert (HANDLE in reduced, measure(reduced) <= 20) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "\x00" * 200_000,
        "x" * 5_000_000,
        "[" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        "\ud800" * 60_000,
        "\x1b[" + "0" * 200_000,
        "\x1b]" * 60_000,
        "=" * 300_000 + "x",
        "= " + "=" * 300_000 + "x",
        "\n" * 310_000,
        " " * 300_000 + "at x",
        "9" * 320_000,
        "a:1:\n" * 60_001,
        "test " + "." * 200_000,
        '[{"id":' + "9" * 60_000 + "}]",
    ],
    ids=lambda text: str(len(text)),
)
def test_hostile_text_is_reduced_like_any_other(text: str) -> None:
    reduced = shrink(text, 300)

    assert (measure(reduced) <= 300, HANDLE in reduced) == (True, True)


def test_escapes_and_overwritten_progress_are_gone() -> None:
    text = "".join(f"\x1b[32m{step}%\x1b[0m\r" for step in range(3_000)) + "done\nbuilt in 3 s\n"
    reduced = shrink(text, 200)

    assert reduced.split("\n")[1:3] == ["done", "built in 3 s"]


def test_dense_text_is_measured_and_not_guessed() -> None:
    text = "plain words in a row\n" * 400 + "一二三四五六七八九十\n" * 400

    assert 120 < measure(shrink(text, 200)) <= 200


def test_what_a_harness_prints_around_an_output_stays() -> None:
    body = encode_text({"jobs": [{"id": f"job_{number}", "state": "ok"} for number in range(500)]})
    reduced = shrink(f"Wall time: 2.1 seconds\nProcess exited with code 3\nOutput:\n{body}\n", 500, "exec_command ci")

    assert ("Process exited with code 3" in reduced, "job_0" in reduced, "job_499" in reduced) == (True, True, True)


def test_a_log_inside_json_is_reduced_as_a_log() -> None:
    log = "\n".join([*(f"10:00:{at % 60:02d} INFO step {at}" for at in range(900)), "10:59:59 ERROR disk full", "bye"])
    text = encode_text({"output": log.replace("step 400", "step failed: E4711"), "metadata": {"exit_code": 137}})
    reduced = shrink(text, 400)

    assert [needle in reduced for needle in ("E4711", "disk full", '"exit_code": 137', "output:\n")] == [True] * 4


def test_a_kind_is_told_from_a_bounded_sample() -> None:
    assert kind_of_output("just some words, and more of them.\n" * 100_000) == "prose"
