"""The page of a grid reaches nothing and shows what a session is called without letting it speak."""

import re

from perdure.kernel.messages import JsonObject
from perdure.lab.frontier import totals
from perdure.lab.report.page.grid import grid_page
from perdure.lab.report.sweep import sweep_json, sweep_markdown, sweep_table

COUNTS = """
requests recallable gone recalls summaries edited sent fresh invalid over infeasible recall_units reread_units
rerun_units
"""


def row(policy: str, units: float, visible: int) -> JsonObject:
    """A row as the trials make it, of a session with a hostile name."""
    counts: JsonObject = dict.fromkeys(COUNTS.split(), 0)
    name = "<script>alert(1)</script>.jsonl"
    moment: JsonObject = {"file": name, "request": 3, "units": 9.0, "recall": 0.0, "tokens": 70, "what": "<b>broke</b>"}
    trial: JsonObject = {"policy": policy, "changes": {}, "model": None, "window": 200_000, "provider": None}
    return {
        **counts,
        "label": f"{policy} window=200k",
        "trial": trial,
        "file": name,
        "units": units,
        "usd": 1.0,
        "asked": 10,
        "visible": visible,
        "peak": 90,
        "least_sent_once": 5.0,
        "least_free_rewrites": 8.0,
        "breaks": {"idle": 2},
        "kinds": {"results": 70},
        "curve": [10, 90, 40],
        "worst": [moment],
    }


ROWS = [row("append-only", 40, 10), row("balanced", 10, 8), row("mask-3", 20, 7)]


def test_the_page_escapes_names_and_asks_for_nothing() -> None:
    page = grid_page(totals(ROWS), ROWS)

    assert "<script" not in page
    assert "<b>broke" not in page
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", page)
    assert "&lt;script&gt;alert(1)" in page


def test_what_all_trials_share_is_told_once() -> None:
    assert 1 == grid_page(totals(ROWS), ROWS).count("window=200k")


def test_every_form_tells_the_same_ratio() -> None:
    found = totals(ROWS)
    balanced = next(one for one in sweep_json(found) if one["label"] == "balanced window=200k")

    assert 0.25 == balanced["append_only_ratio"]
    assert "0.250" in sweep_table(found)
    assert "| 0.250 |" in sweep_markdown(found)


def test_names_in_the_chart_lie_neither_on_one_another_nor_on_a_point() -> None:
    rows = [row(f"policy-{at}", 20 + at % 7, 8 - at % 3) for at in range(30)] + [row("append-only", 40, 10)]
    page = grid_page(totals(rows), rows)
    tags = re.findall(r'class="tag[^"]*" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]+)<', page)
    boxes: list[tuple[float, float, float, float]] = []
    for across, down, anchor, word in tags:
        width = 6 * len(word)
        left = float(across) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        boxes.append((left, float(down) - 8, left + width, float(down) + 2))
    for across, down in re.findall(r'<circle [^>]*cx="([\d.]+)" cy="([\d.]+)"', page):
        boxes.append((float(across) - 3, float(down) - 3, float(across) + 3, float(down) + 3))
    named = boxes[: len(tags)]
    meeting = [
        (one, other)
        for at, one in enumerate(named)
        for place, other in enumerate(boxes)
        if place > at and one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]

    assert tags
    assert [] == meeting
