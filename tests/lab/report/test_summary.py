"""The JSON of a replay: exactly the promised fields, null where one does not apply."""

from dataclasses import replace

from perdure.kernel.cache import Bill
from perdure.kernel.messages import Transcript
from perdure.lab.needed import Tally
from perdure.lab.recording import Asked, Recording, Trouble
from perdure.lab.replay import Point, Replayed
from perdure.lab.report.summary import Outcome, file_row, quantile, report, total_row

FIGURES = [
    "peak_tokens",
    "sent_tokens",
    "cost_units",
    "cost_usd",
    "hit_rate",
    "prefix_breaks",
    "edits",
    "evicted_tokens",
    "needed_later",
    "invalid_requests",
    "over_window",
    "infeasible_requests",
    "projection_ms",
    "warnings",
]
FIELDS = ["file", "format", "messages", "requests", "policy", "model", "window", *FIGURES]
NOT_OF_A_BILL = ["edits", "evicted_tokens", "needed_later", "invalid_requests", "infeasible_requests", "projection_ms"]

BILL = Bill(read=600, written=300, written_long=0, fresh=100, output=50, units=785.0, usd=0.5)
POINT = Point(
    tokens=1_000,
    bill=BILL,
    broke=None,
    rungs=(),
    evicted=0,
    faults=0,
    over_window=False,
    infeasible=False,
    at=1,
)
EDITED = replace(POINT, tokens=2_000, broke="edited", rungs=("light_trim", "full_summary"), evicted=70, faults=2)
FAILED = replace(POINT, broke="idle", rungs=("light_trim",), infeasible=True, over_window=True)


def outcome(*points: Point, policy: str = "balanced", window: int | None = 8_000, model: str = "m") -> Outcome:
    recording = Recording(
        file="a.jsonl",
        format="pi",
        transcript=Transcript(),
        asked=tuple(Asked(at=1, time=None) for _ in points),
        troubles=(Trouble(line=7, reason="broken"), Trouble(line=None, reason="cut short")),
    )
    seconds = [] if policy == "recorded" else [0.001 * (place + 1) for place in range(len(points))]
    replayed = Replayed(
        policy=policy,
        model=model,
        window=window,
        points=list(points),
        needed=Tally(asked=6, visible=3, recallable=2, gone=1),
        seconds=seconds,
        warnings=["priced as m"],
    )
    return Outcome(recording=recording, replayed=replayed)


def test_a_file_has_exactly_the_promised_fields() -> None:
    assert FIELDS == list(file_row(outcome(POINT)))


def test_the_report_has_files_and_totals() -> None:
    found = report([outcome(POINT), outcome(POINT, policy="classic")])

    assert ["files", "totals"] == list(found)
    assert isinstance(found["totals"], list)
    assert ["balanced", "classic"] == [row["policy"] for row in found["totals"] if isinstance(row, dict)]


def test_the_figures_of_a_file_add_up() -> None:
    expected = {
        "file": "a.jsonl",
        "format": "pi",
        "messages": 0,
        "requests": 3,
        "policy": "balanced",
        "model": "m",
        "window": 8_000,
        "peak_tokens": 2_000,
        "sent_tokens": 4_000,
        "cost_units": 2_355.0,
        "cost_usd": 1.5,
        "hit_rate": 0.6,
        "prefix_breaks": 2,
        "edits": {"full_summary": 1, "light_trim": 2},
        "evicted_tokens": 70,
        "needed_later": {"asked": 6, "visible": 3, "recallable": 2, "gone": 1},
        "invalid_requests": 1,
        "over_window": 1,
        "infeasible_requests": 1,
        "projection_ms": {"p50": 2.0, "p99": 3.0},
        "warnings": ["line 7: broken", "cut short", "priced as m"],
    }

    assert expected == file_row(outcome(POINT, EDITED, FAILED))


def test_what_does_not_apply_to_a_recorded_bill_is_null() -> None:
    row = file_row(outcome(POINT, policy="recorded"))

    assert NOT_OF_A_BILL == [name for name in FIELDS if row[name] is None]


def test_an_unknown_window_and_unknown_prices_are_null() -> None:
    row = file_row(outcome(replace(POINT, bill=replace(BILL, usd=None)), POINT, window=None))

    assert ["window", "cost_usd"] == [name for name in FIELDS if row[name] is None]


def test_a_session_without_requests_has_no_peak_and_no_rates() -> None:
    row = file_row(outcome())

    assert {"peak_tokens", "cost_usd", "hit_rate", "projection_ms"} <= {name for name in FIELDS if row[name] is None}
    assert 0 == row["sent_tokens"]


def test_totals_name_a_model_and_a_window_only_where_all_share_them() -> None:
    alike = total_row("balanced", [outcome(POINT), outcome(POINT)])
    mixed = total_row("balanced", [outcome(POINT), outcome(POINT, model="n", window=4_000)])

    assert ("m", 8_000) == (alike["model"], alike["window"])
    assert (None, None) == (mixed["model"], mixed["window"])


def test_totals_are_sums_over_the_files() -> None:
    row = total_row("balanced", [outcome(POINT), outcome(EDITED, FAILED)])

    assert (2, 3, 4_000, 2_000) == (row["files"], row["requests"], row["sent_tokens"], row["peak_tokens"])
    assert {"asked": 12, "visible": 6, "recallable": 4, "gone": 2} == row["needed_later"]
    assert [] == row["warnings"]


def test_a_quantile_is_one_of_the_values() -> None:
    assert [None, 5.0, 2.0, 4.0] == [
        quantile([], 0.5),
        quantile([5.0], 0.99),
        quantile([3.0, 1.0, 2.0, 4.0], 0.5),
        quantile([3.0, 1.0, 2.0, 4.0], 0.99),
    ]
