"""The page of a grid of trials: the frontier, sizes over time, what requests are made of, breaks, the worst moments.

It knows the order in which a person reads. It must never reach out, nor run a script; whatever comes from a session is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files

from perdure.kernel.messages import Json, JsonObject
from perdure.lab.composition import KINDS
from perdure.lab.frontier import Total, number
from perdure.lab.report.page.words import brief, count, percent, several, shown
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
.grid-chart .tag { fill: var(--ink) }
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
@media (max-width: 600px) { main { padding: 24px 16px 40px } .grid-chart text { font-size: 20px } }
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
    """Names beside the points of the frontier, where they do not lie on one another."""
    taken: list[tuple[float, float]] = []
    tags: list[str] = []
    for (across, down), name in placed:
        if any(abs(across - other[0]) < 130 and abs(down - other[1]) < 16 for other in taken):
            continue
        taken.append((across, down))
        left = across > _WIDTH * 0.75
        tags.append(
            f'<text class="tag" x="{across + (-9 if left else 9):.1f}" y="{down + 4:.1f}"'
            f"{' text-anchor=' + chr(34) + 'end' + chr(34) if left else ''}>{shown(str(name), 28)}</text>"
        )
    return "".join(tags)


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
    body = "".join(f'<tr class="{mark}">{_cells(cells, raw)}</tr>' for mark, cells in rows)
    return (
        f'<div class="wide" tabindex="0"><table class="{kind}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(cells: Sequence[str], raw: int | None) -> str:
    return "".join(f"<td>{cell if at == raw else shown(cell)}</td>" for at, cell in enumerate(cells))


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
