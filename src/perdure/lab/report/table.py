"""The table that a person reads in a terminal.

It knows columns and how numbers are shortened. It must never compute a figure: it prints what `summary` gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.messages import Json, JsonObject
from perdure.lab.report.summary import Outcome, breaks_of, file_row, total_row, warnings_of
from perdure.lab.validate import Validation

WARNINGS_SHOWN = 3
"""Warnings of a session that the table tells; more would hide its figures."""

_HEADINGS = (
    "policy",
    "requests",
    "peak",
    "sent",
    "cost",
    "USD",
    "hit",
    "breaks",
    "edits",
    "seen/recall/gone",
    "faults",
    "ms p50/p99",
)


def table(outcomes: Sequence[Outcome]) -> str:
    """One block of lines for each session, and one for all of them where there are several."""
    files = list(dict.fromkeys(outcome.recording.file for outcome in outcomes))
    blocks = [_block(file, [one for one in outcomes if one.recording.file == file]) for file in files]
    if len(files) > 1:
        blocks.append(_totals(outcomes))
    return "\n\n".join(blocks) + "\n"


def _block(file: str, outcomes: Sequence[Outcome]) -> str:
    recording, replayed = outcomes[0].recording, outcomes[0].replayed
    window = f"window {short(replayed.window)}" if replayed.window is not None else "window not known"
    warned = list(dict.fromkeys(warning for one in outcomes for warning in warnings_of(one)))
    head = (
        f"{file}  ({recording.format}, {len(recording.transcript)} messages, "
        f"{replayed.model}, {window}"
        f"{_warned(len(warned))})"
    )
    return "\n".join([head, *_lines([(file_row(one), _causes([one])) for one in outcomes]), *_warnings(warned)])


def _warnings(warned: Sequence[str]) -> list[str]:
    more = len(warned) - WARNINGS_SHOWN
    shown = [f"  warning: {warning}" for warning in warned[:WARNINGS_SHOWN]]
    return [*shown, f"  {more} more warnings: --json lists all"] if more > 0 else shown


def _warned(count: int) -> str:
    return "" if not count else f", {count} warning{'s' if count > 1 else ''}"


def _totals(outcomes: Sequence[Outcome]) -> str:
    policies = list(dict.fromkeys(one.replayed.policy for one in outcomes))
    rows: list[tuple[JsonObject, str]] = []
    for name in policies:
        found = [one for one in outcomes if one.replayed.policy == name]
        rows.append((total_row(name, found), _causes(found)))
    return "\n".join(["all sessions", *_lines(rows)])


def _lines(rows: Sequence[tuple[JsonObject, str]]) -> list[str]:
    cells = [_HEADINGS, *(_cells(row, causes) for row, causes in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def _cells(row: JsonObject, causes: str) -> tuple[str, ...]:
    edits, needed, timing = row["edits"], row["needed_later"], row["projection_ms"]
    faults = _faults(row)
    return (
        str(row["policy"]),
        str(row["requests"]),
        short(row["peak_tokens"]),
        short(row["sent_tokens"]),
        short(row["cost_units"]),
        f"{row['cost_usd']:.2f}" if isinstance(row["cost_usd"], float | int) else "-",
        f"{row['hit_rate']:.1%}" if isinstance(row["hit_rate"], float | int) else "-",
        f"{row['prefix_breaks']}{causes}",
        str(sum(count for count in edits.values() if isinstance(count, int))) if isinstance(edits, dict) else "-",
        "/".join(str(needed[key]) for key in ("visible", "recallable", "gone")) if isinstance(needed, dict) else "-",
        faults,
        f"{timing['p50']}/{timing['p99']}" if isinstance(timing, dict) else "-",
    )


def _faults(row: JsonObject) -> str:
    """Invalid requests, requests over the window, infeasible ones: a dash where there is none."""
    named = (("invalid_requests", "invalid"), ("over_window", "over"), ("infeasible_requests", "infeasible"))
    found = [f"{row[key]} {word}" for key, word in named if row[key]]
    return ", ".join(found) or "none"


def _causes(outcomes: Sequence[Outcome]) -> str:
    causes = breaks_of(one.replayed for one in outcomes)
    return f" ({', '.join(f'{count} {cause}' for cause, count in causes.most_common())})" if causes else ""


def short(value: Json) -> str:
    """A number of tokens or units, in three or four characters."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "-"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.0f}{letter}" if scaled >= 100 else f"{scaled:.1f}{letter}"
    return f"{value:.0f}"


def validation_table(validation: Validation) -> str:
    """How well the cache model foretold what was read."""
    pairs, breaks = validation.pairs, validation.breaks
    if not pairs:
        return "no two consecutive requests with usage numbers were found\n"
    wrong = pairs - validation.close
    lines = [
        f"pairs of consecutive requests  {pairs}",
        f"  foretold to the token        {validation.exact}  ({validation.exact / pairs:.1%})",
        f"  foretold within 2 %          {validation.close}  ({validation.close / pairs:.1%})",
        f"  wrong                        {wrong}  ({wrong / pairs:.1%})",
        f"breaks of the prefix           {breaks}",
    ]
    if breaks:
        lines.append(f"  explained                    {validation.explained}  ({validation.explained / breaks:.1%})")
        lines += [f"    {cause:<27}{count}" for cause, count in validation.causes.most_common()]
    return "\n".join(lines) + "\n"
