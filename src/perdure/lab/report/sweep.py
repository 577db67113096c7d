"""A grid of trials, for people: the table of a terminal, Markdown, JSON.

It knows columns. It must never compute more than a ratio of two figures that it is given.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.messages import JsonObject
from perdure.lab.frontier import Total
from perdure.lab.report.table import short

COLUMNS = (
    "",
    "trial",
    "price",
    "/append",
    "/least",
    "/clearing",
    "recall",
    "gone cost",
    "USD",
    "visible",
    "recallable",
    "gone",
    "summaries",
    "edits",
    "peak",
    "faults",
)

LEGEND = """\
* no other trial is cheaper with as much visible and as little gone. price: units of an uncached input token, with what
getting things back costs (recall: a call and its tokens; gone: read or run again). /least: times the bound that no
policy goes below; /clearing: times the bound of policies that send everything once and clear whole results, which
reduction at entry and checkpoints may go below. visible, recallable, gone: what was needed later.
"""


def sweep_cells(total: Total, prefill: float | None = None) -> tuple[str, ...]:
    """One line of the table; with `prefill` tokens a second, seconds in the place of money."""
    money = "-" if total.usd is None else f"{total.usd:.2f}"
    if prefill is not None:
        money = f"{total.fresh / prefill:.0f} s"
    asked = max(1, total.asked)
    return (
        "*" if total.best else "",
        total.label,
        short(total.price),
        "-" if total.ratio is None else f"{total.ratio:.3f}",
        _times(total.price, total.least_sent_once),
        _times(total.price, total.least_free_rewrites),
        short(total.recall_units),
        short(total.gone_units),
        money,
        f"{total.visible / asked:.1%}",
        f"{total.recallable / asked:.1%}",
        f"{total.gone / asked:.1%}",
        str(total.summaries),
        str(total.edited),
        short(total.peak),
        str(total.faults),
    )


def sweep_table(totals: Sequence[Total], prefill: float | None = None) -> str:
    """For a terminal, cheapest first."""
    cells = [COLUMNS, *(sweep_cells(one, prefill) for one in _sorted(totals))]
    widths = [max(len(row[at]) for row in cells) for at in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([*lines, "", LEGEND])


def sweep_markdown(totals: Sequence[Total], prefill: float | None = None) -> str:
    """The same as a Markdown table."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(sweep_cells(one, prefill) for one in _sorted(totals))]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
    return f"{table}\n\n{LEGEND}"


def sweep_json(totals: Sequence[Total]) -> list[JsonObject]:
    """Every figure."""
    return [
        {
            "label": one.label,
            "trial": one.trial,
            "sessions": one.sessions,
            "requests": one.requests,
            "price": round(one.price, 1),
            "units": round(one.units, 1),
            "recall_units": round(one.recall_units, 1),
            "gone_units": round(one.gone_units, 1),
            "usd": one.usd,
            "append_only_ratio": one.ratio,
            "least_sent_once": one.least_sent_once,
            "least_free_rewrites": one.least_free_rewrites,
            "needed_later": {
                "asked": one.asked,
                "visible": one.visible,
                "recallable": one.recallable,
                "gone": one.gone,
            },
            "recalls": one.recalls,
            "summaries": one.summaries,
            "edited_breaks": one.edited,
            "peak_tokens": one.peak,
            "sent_tokens": one.sent,
            "faults": one.faults,
            "frontier": one.best,
        }
        for one in _sorted(totals)
    ]


def _sorted(totals: Sequence[Total]) -> list[Total]:
    return sorted(totals, key=lambda one: one.price)


def _times(value: float, bound: float) -> str:
    return f"{value / bound:.2f}" if bound else "-"
