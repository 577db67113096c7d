"""The table that a person reads in a terminal."""

from dataclasses import replace

import pytest

from perdure.kernel.cache import Bill
from perdure.kernel.messages import Json, Transcript
from perdure.lab.recording import Asked, Recording, Trouble
from perdure.lab.replay import Point, Replayed
from perdure.lab.report.summary import Outcome
from perdure.lab.report.table import short, table

BILL = Bill(read=600, written=300, written_long=0, fresh=100, output=50, units=1_250_000.0, usd=0.5)
POINT = Point(
    tokens=81_400, bill=BILL, broke=None, rungs=(), evicted=0, faults=0, over_window=False, infeasible=False, at=1
)
EDITED = replace(POINT, broke="edited", rungs=("light_trim",), faults=1)


def outcome(*points: Point, file: str = "a.jsonl", policy: str = "balanced", window: int | None = 8_000) -> Outcome:
    recording = Recording(
        file=file,
        format="pi",
        transcript=Transcript(),
        asked=tuple(Asked(at=1, time=None) for _ in points),
        troubles=(Trouble(line=7, reason="broken"),),
    )
    seconds = [] if policy == "recorded" else [0.002 for _ in points]
    replayed = Replayed(policy=policy, model="m", window=window, points=list(points), seconds=seconds)
    return Outcome(recording=recording, replayed=replayed)


def test_each_file_has_a_block_with_its_policies() -> None:
    lines = table([outcome(POINT), outcome(POINT, policy="classic")]).splitlines()

    assert "a.jsonl  (pi, 0 messages, m, window 8.0k, 1 warning)" == lines[0]
    assert ["policy", "balanced", "classic", "warning:"] == [line.split()[0] for line in lines[1:]]
    assert "  warning: line 7: broken" == lines[-1]


def test_several_files_have_their_sums_below() -> None:
    found = table([outcome(POINT), outcome(POINT, file="b.jsonl")])

    assert "all sessions" in found
    assert "162.8k" not in found
    assert "163k" in found.split("all sessions")[1]


def test_one_file_has_no_sums() -> None:
    assert "all sessions" not in table([outcome(POINT)])


def test_breaks_are_named_by_cause_and_faults_by_kind() -> None:
    found = table([outcome(POINT, EDITED, replace(EDITED, broke="idle", faults=0, over_window=True))])

    assert "2 (1 edited, 1 idle)" in found
    assert "1 invalid, 1 over" in found


def test_what_does_not_apply_is_a_dash() -> None:
    cells = table([outcome(POINT, policy="recorded")]).splitlines()[2].split()

    assert ["-", "-", "none", "-"] == cells[-4:]


def test_an_unknown_window_is_said() -> None:
    assert "window not known" in table([outcome(POINT, window=None)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (True, "-"),
        (0, "0"),
        (999, "999"),
        (81_400, "81.4k"),
        (163_000, "163k"),
        (2.5e6, "2.5M"),
        (3e9, "3.0G"),
    ],
)
def test_numbers_are_short(value: Json, expected: str) -> None:
    assert expected == short(value)
