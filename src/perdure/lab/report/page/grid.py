"""The page of a grid of trials: the frontier, sizes over time, what requests are made of, breaks, the worst moments.

It knows the order in which a person reads. It must never reach out, nor run a script; whatever comes from a session is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files

from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import value
from perdure.lab.composition import KINDS
from perdure.lab.frontier import Total, number
from perdure.lab.report.page.words import brief, count, percent, plain, several, shown
from perdure.lab.report.sweep import COLUMNS, LEGEND, sweep_cells

SERIES = 6
"""Trials whose size over time is drawn: more lines cannot be told apart."""

WORST = 10

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 300, 46, 34
"""Of a chart, in its own units; room for the axes at the left and below."""

_STYLE = """
.grid-chart { width: 100%; max-width: 860px; height: auto; display: block; margin: 12px 0 4px; overflow: visible }
.grid-chart text { font: 11px system-ui, sans-serif; fill: var(--muted) }
.grid-chart .axis { stroke: var(--muted) } .grid-chart .rule { stroke: var(--grid) }
.grid-chart .trace { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round }
.grid-chart .dot { fill: var(--paper); stroke: var(--muted); stroke-width: 1.4 }
.grid-chart .dot.best { fill: var(--s2); stroke: var(--s2) }
.grid-chart .front { fill: none; stroke: var(--s2); stroke-dasharray: 3 3 }
.grid-chart .tag { fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px }
.legend { margin-left: 0 }
.legend span { display: inline-flex; align-items: center; gap: 7px }
.legend .swatch { width: 12px; height: 8px; border-radius: 2px; background: var(--c); flex: none }
.stack { display: flex; height: 14px; border-radius: 3px; overflow: hidden; min-width: 220px }
.stack i { display: block; height: 100%; background: var(--c) }
.kinds td:nth-child(2) { width: 60% }
.kinds td:first-child, .breaks td:first-child { text-align: left }
.trials td:nth-child(2), .kinds td:first-child, .breaks td:first-child { white-space: normal; min-width: 130px }
.trials td:nth-child(2), .trials th:nth-child(2), .moments td:last-child, .moments th:last-child { text-align: left }
.trials tr.best td { font-weight: 600 }
.moments td:last-child, .moments td:first-child { white-space: normal; min-width: 220px; overflow-wrap: anywhere }
.moments td:first-child { text-align: left; min-width: 130px }
@media print { .wide { overflow: visible } .tall { max-height: none } section { break-inside: avoid-page } }
@media (max-width: 600px) {
  main { padding: 24px 16px 40px }
  .grid-chart text { font-size: 20px } .grid-chart .tag:not(.far) { display: none }
  .stack { min-width: 0 }
  .trials, .trials tbody, .moments, .moments tbody { display: block } .trials thead, .moments thead { display: none }
  .trials tr, .moments tr { display: grid; grid-template-columns: 1fr 1fr; gap: 2px 20px; padding: 10px 0 }
  .trials tr, .moments tr { border-bottom: 1px solid var(--hair) }
  .trials td, .moments td { display: flex; justify-content: space-between; gap: 8px; padding: 0; border: 0 }
  .trials td::before, .moments td::before { content: attr(data-head); color: var(--muted); font-weight: 400 }
  .trials td:nth-child(1) { display: none } .trials tr.best td:nth-child(2)::after { content: "*" }
  .trials td:nth-child(2), .moments td:first-child, .moments td:last-child { grid-column: 1 / -1; min-width: 0 }
  .trials td:nth-child(2) { justify-content: start } .trials td:nth-child(2)::before { content: none }
  .moments td:last-child { text-align: right }
}
"""

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Perdure lab</title>
<style>
{style}</style>
</head>
<body>
<main>
"""

_FOOT = """<footer><p>Made by <code>perdure lab</code>. No model was called: stand-ins of measured size that carry no \
facts take the place of summaries, and their price is counted. What was needed later is counted on recorded sessions, \
whose agents had their own context: it is no measure of answer quality.</p></footer>
</main>
</body>
</html>
"""


def grid_page(totals: Sequence[Total], rows: Iterable[JsonObject], prefill: float | None = None) -> str:
    """One HTML file that needs nothing else. Of the rows only those matter that have a curve or dear moments."""
    style = files("perdure.lab.report.page").joinpath("page.css").read_text(encoding="utf-8") + _STYLE
    shared = _shared([one.label for one in totals])
    totals = [replace(one, label=_without(one.label, shared)) for one in totals]
    rows = [{**row, "label": _without(str(row["label"]), shared)} for row in rows]
    ordered = sorted(totals, key=lambda one: one.price)
    body = [
        _header(ordered, shared),
        _section("Frontier", _frontier(ordered)),
        _section("Trials", _trials(ordered, prefill)),
        _section("Size over time", _sizes(ordered, rows)),
        _section("What the requests were made of", _kinds(ordered)),
        _section("Breaks of the cache", _breaks(ordered)),
        _section("The ten dearest moments", _moments(ordered, rows)),
    ]
    return _HEAD.format(style=style) + "".join(body) + _FOOT


def _header(totals: Sequence[Total], shared: Sequence[str]) -> str:
    sessions, requests = totals[0].sessions, totals[0].requests
    best = next((one for one in totals if one.faults == 0), totals[0])
    ratio = "" if best.ratio is None else f", {best.ratio:.2f} of append-only"
    return (
        f'<header><p class="kicker">Perdure lab</p><h1>{several(sessions, "session")}, '
        f"{several(len(totals), 'trial')}</h1>"
        f'<p class="about">{shown(" · ".join([several(requests, "request"), *shared]))}</p><div class="result">'
        f"<p>The cheapest whose requests all fit is <strong>{shown(best.label)}</strong>: {brief(best.price)} "
        f"units{ratio}. Of what was needed later "
        f"{percent(best.survival)} stay visible and {percent(best.reach)} are within reach.</p></div></header>"
    )


def _shared(labels: Sequence[str]) -> list[str]:
    """What all trials have in common, which is told once."""
    others = [set(label.split()[1:]) for label in labels]
    return [word for word in labels[0].split()[1:] if all(word in words for words in others)]


def _without(label: str, words: Sequence[str]) -> str:
    return " ".join(word for word in label.split() if word not in words)


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _frontier(totals: Sequence[Total]) -> str:
    """Price against what stays visible; the best of each price are joined."""
    most = max(one.price for one in totals) * 1.05 or 1.0
    least = min(0.9, *(one.survival for one in totals))
    floor = int(least * 20) / 20

    def place(one: Total) -> tuple[float, float]:
        share = (one.survival - floor) / (1 - floor)
        return _across(one.price / most), _down(share)

    best = [place(one) for one in totals if one.best]
    joined = " ".join(f"{across:.1f},{down:.1f}" for across, down in best)
    dots: list[str] = []
    for one in totals:
        across, down = place(one)
        dots.append(
            f'<circle class="dot{" best" if one.best else ""}" cx="{across:.1f}" cy="{down:.1f}" r="5">'
            f"<title>{shown(one.label)}: {brief(one.price)} units, {percent(one.survival)} visible</title></circle>"
        )
    tags = _tags([(place(one), one.label) for one in sorted(totals, key=lambda one: not one.best)])
    axis = _axes(
        [(at / 4, brief(most * at / 4)) for at in range(5)],
        [(at / 4, f"{floor + (1 - floor) * at / 4:.0%}") for at in range(5)],
    )
    words = "Price of each trial in units of an uncached input token, against the visible part of what was needed later"
    return (
        f'<p class="note">{words}. Filled: no other trial is cheaper with as much visible.</p>'
        f'{_svg(words, axis + f"""<polyline class="front" points="{joined}"/>""" + "".join(dots) + tags)}'
    )


def _tags(placed: Sequence[tuple[tuple[float, float], Json]]) -> str:
    """Names beside their points, the frontier's first, where they lie neither on one another nor on a point.

    A narrow screen draws words twice as large in the chart's units; names that would not fit then are left out there.
    """
    points = [_Box(left=across - 6, top=down - 6, right=across + 6, bottom=down + 6) for (across, down), _ in placed]
    taken: dict[int, list[_Box]] = {1: [], 2: []}
    tags: list[str] = []
    for (across, down), name in placed:
        word = plain(str(name), 28)
        for anchor, left, below in (("start", 9, 4), ("end", -9, 4), ("middle", 0, -10), ("middle", 0, 18)):
            at = across + left, down + below
            boxes = {scale: _box(at, anchor, len(word), scale) for scale in taken}
            fits = {scale: _free(box, [*taken[scale], *points]) for scale, box in boxes.items()}
            if not fits[1]:
                continue
            for scale in taken:
                taken[scale] += [boxes[scale]] if fits[scale] else []
            mark = "tag far" if fits[2] else "tag"
            tags.append(
                f'<text class="{mark}" x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{shown(word)}</text>'
            )
            break
    return "".join(tags)


@value
class _Box:
    left: float
    top: float
    right: float
    bottom: float


def _box(at: tuple[float, float], anchor: str, letters: int, scale: int) -> _Box:
    """The room of a word at 11 units, or twice as much."""
    width = letters * 6.2 * scale
    left = at[0] - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return _Box(left=left, top=at[1] - 9 * scale, right=left + width, bottom=at[1] + 3 * scale)


def _free(box: _Box, others: Sequence[_Box]) -> bool:
    """Whether a box lies in the chart and touches no other."""
    inside = box.left >= _LEFT and box.right <= _WIDTH and box.top >= 0 and box.bottom <= _HEIGHT - _BOTTOM
    return inside and not any(
        box.left < other.right and other.left < box.right and box.top < other.bottom and other.top < box.bottom
        for other in others
    )


def _trials(totals: Sequence[Total], prefill: float | None) -> str:
    rows = [(("best" if one.best else ""), sweep_cells(one, prefill)) for one in totals]
    return f'{_table("trials", COLUMNS, rows)}<p class="note">{shown(LEGEND, 1_000)}</p>'


def _sizes(totals: Sequence[Total], rows: Sequence[JsonObject]) -> str:
    """The session with the most requests, under the trials that matter."""
    longest = max(rows, key=lambda row: number(row["requests"]))
    wanted = [
        one.label for one in totals if one.best or one.trial["policy"] in ("append-only", "balanced", "summary-85")
    ]
    found = [row for row in rows if row["label"] in wanted[: SERIES * 2] and _same(row, longest)][:SERIES]
    most = max((number(size) for row in found for size in _list(row["curve"])), default=1.0) or 1.0
    traces = "".join(_trace(_list(row["curve"]), most, at) for at, row in enumerate(found))
    legend = _legend("s", [str(row["label"]) for row in found])
    axis = _axes(
        [(at / 4, count(int(number(longest["requests"]) * at / 4))) for at in range(5)],
        [(at / 4, brief(most * at / 4)) for at in range(5)],
    )
    words = f"Tokens of each request of {shown(str(longest['file']), 80)}, the session with the most requests"
    return f'<p class="note">{words}</p>{_svg(words, axis + traces)}{legend}'


def _trace(sizes: Sequence[Json], most: float, at: int) -> str:
    last = max(1, len(sizes) - 1)
    points = " ".join(
        f"{_across(place / last):.1f},{_down(number(size) / most):.1f}" for place, size in enumerate(sizes)
    )
    return f'<polyline class="trace s{at}" points="{points}"/>'


def _kinds(totals: Sequence[Total]) -> str:
    sums = {one.label: [float(one.kinds.get(kind, 0)) for kind in KINDS] for one in totals}
    most = max((sum(found) for found in sums.values()), default=1.0) or 1.0
    lines = [("", (label, _stack(found, most), f"{brief(sum(found))}B")) for label, found in sums.items()]
    return (
        f'<p class="note">Bytes of all requests together, by kind</p>{_legend("k", KINDS)}'
        f"{_table('kinds', ('trial', '', 'bytes'), lines, raw=1)}"
    )


def _stack(parts: Sequence[float], most: float) -> str:
    pieces = (f'<i class="k{at}" style="width:{100 * part / most:.2f}%"></i>' for at, part in enumerate(parts))
    return f'<span class="stack">{"".join(pieces)}</span>'


def _legend(shade: str, names: Sequence[str]) -> str:
    swatches = (
        f'<span class="{shade}{at}"><i class="swatch"></i>{shown(name)}</span>' for at, name in enumerate(names)
    )
    return f'<p class="legend">{"".join(swatches)}</p>'


def _breaks(totals: Sequence[Total]) -> str:
    causes = list(dict.fromkeys(cause for one in totals for cause in one.breaks))
    lines = [("", (one.label, *(count(one.breaks.get(cause, 0)) for cause in causes))) for one in totals]
    return _table("breaks", ("trial", *causes), lines) if causes else "<p>None.</p>"


def _moments(totals: Sequence[Total], rows: Sequence[JsonObject]) -> str:
    """Of the cheapest trial whose requests all fit: the dearest requests of all sessions."""
    label = next((one.label for one in totals if one.faults == 0), totals[0].label)
    worst = [one for row in rows if row["label"] == label for one in _list(row["worst"]) if isinstance(one, dict)]
    dearest = sorted(worst, key=lambda one: -number(one["units"]))[:WORST]
    lines = [
        (
            "",
            (
                str(one["file"]),
                count(one["request"]),
                brief(one["units"]),
                brief(one["recall"]),
                brief(one["tokens"]),
                str(one["what"]),
            ),
        )
        for one in dearest
    ]
    heads = ("session", "request", "units", "of that recall", "tokens", "what happened")
    return f'<p class="note">Under {shown(label)}</p>{_table("moments", heads, lines)}'


def _table(kind: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], raw: int | None = None) -> str:
    """A table; the cells of column `raw` are markup of ours already."""
    top = "".join(f'<th scope="col">{shown(head)}</th>' for head in heads)
    body = "".join(f'<tr class="{mark}">{_cells(heads, cells, raw)}</tr>' for mark, cells in rows)
    return (
        f'<div class="wide" tabindex="0"><table class="{kind}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(heads: Sequence[str], cells: Sequence[str], raw: int | None) -> str:
    """Cells that carry the name of their column, for screens on which a row is a block."""
    return "".join(
        f'<td data-head="{shown(head)}">{cell if at == raw else shown(cell)}</td>'
        for at, (head, cell) in enumerate(zip(heads, cells, strict=True))
    )


def _svg(words: str, content: str) -> str:
    return f'<svg class="grid-chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{words}">{content}</svg>'


def _axes(xs: Sequence[tuple[float, str]], ys: Sequence[tuple[float, str]]) -> str:
    rules = "".join(
        f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH}" y1="{_down(at):.1f}" y2="{_down(at):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{_down(at) + 4:.1f}" text-anchor="end">{word}</text>'
        for at, word in ys
    )
    marks = "".join(
        f'<text x="{_across(at):.1f}" y="{_HEIGHT - 10}" text-anchor="{_anchor(at)}">{word}</text>' for at, word in xs
    )
    return f'{rules}<line class="axis" x1="{_LEFT}" x2="{_WIDTH}" y1="{_down(0):.1f}" y2="{_down(0):.1f}"/>{marks}'


def _anchor(at: float) -> str:
    return "start" if at == 0 else "end" if at == 1 else "middle"


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 8)


def _down(share: float) -> float:
    return 10 + (1 - share) * (_HEIGHT - _BOTTOM - 10)


def _same(row: JsonObject, other: JsonObject) -> bool:
    return row["file"] == other["file"] and row.get("path") == other.get("path")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
