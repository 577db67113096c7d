"""The charts of a session: size and cost over its requests, what requests are made of, and what each costs.

It knows lines, areas, bars, and the words around them. It must never put a session's text on the page: only names of
policies and figures get here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from perdure.lab.composition import KINDS, Kind
from perdure.lab.replay import Replayed
from perdure.lab.report.page.plot import (
    Frame,
    apart,
    area,
    bars,
    frame,
    grid,
    line,
    request_ticks,
    ticks,
)
from perdure.lab.report.page.sessions import Detail, Session, edits_of, numbered, shade
from perdure.lab.report.page.words import brief, mark, pause, several, shown, whole

KIND_WORDS: dict[Kind, str] = {
    "fixed": "system, tools",
    "checkpoint": "checkpoint",
    "user": "user",
    "harness": "harness",
    "assistant": "assistant",
    "thinking": "thinking",
    "calls": "tool calls",
    "results": "tool results",
}

RUNG_WORDS = {
    "entry_reduction": "reduced at entry",
    "tool_result_microcompact": "old results cleared",
    "light_trim": "long texts trimmed",
    "session_memory": "folded into session memory",
    "full_summary": "folded into a summary",
    "extractive": "folded without a model",
    "native": "folded by the provider",
    "editing": "cleared by the provider",
    "asked": "asked for",
}

RUNG_SHORT = {
    "entry_reduction": "at entry",
    "tool_result_microcompact": "cleared",
    "light_trim": "trimmed",
    "session_memory": "to memory",
    "full_summary": "summarized",
    "extractive": "extracted",
    "native": "by provider",
    "editing": "by provider",
}

NUMBERS_APART, NUMBERS_APART_ON_NARROW = 0.028, 0.11
"""Parts of a chart's width that two numbers of edits lie apart at least."""

CAUSES = ("edited", "idle", "unexplained", "model", "compacted", "picture")

_CAUSE_WORDS = {
    "edited": "an edit changed the prefix",
    "idle": "a pause outlived the cache",
    "unexplained": "no cause was found",
    "model": "another model",
    "compacted": "the recorded harness compacted",
    "picture": "the first picture came",
}


def size_chart(session: Session, detail: Detail) -> str:
    """Context size over requests: a line for each policy, the window, and the edits of the chosen one."""
    peaks = [max((point.tokens for point in one.replayed.points), default=0) for one in session.outcomes]
    plot = frame(session.requests, detail.columns, _highest(peaks, session.window))
    series = [
        [(number, float(point.tokens)) for number, point in numbered(session, one.replayed)] for one in session.outcomes
    ]
    limits = _limits(session, plot)
    note = (
        "Tokens of each request, fixed overhead included. Shapes are the edits of the policy shown, numbered as in its "
    )
    note += "table; where many lie close, some are left out."
    if session.window is not None and session.window > plot.top:
        note += f" The window of {whole(session.window)} lies above the chart."
    outside = [
        f"{shown(one.replayed.policy)} leaves it upwards and reaches {brief(peak)}"
        for one, peak in zip(session.outcomes, peaks, strict=True)
        if peak > plot.top
    ]
    if outside:
        note += f" The chart ends at {brief(plot.top)}: {'; '.join(outside)}."
    names = [shown(one.replayed.policy) for one in session.outcomes]
    read = "Peak: " + " · ".join(f"{name} {brief(peak)}" for name, peak in zip(names, peaks, strict=True))
    drawn = f'<path class="grid" d="{grid(ticks(plot.top), plot)}"/>{limits[0]}{_lines(session, series, plot)}'
    marks = "".join(_marks(session, at, plot, detail.shapes_apart) for at in range(len(series)))
    over = f"{_pauses(session, plot)}{marks}{limits[1]}"
    return _figure(
        "size",
        ("Context size", note, read),
        plot,
        (drawn, over, _ends(session, series, plot)),
    ) + _mark_legend(session)


def cost_chart(session: Session, detail: Detail) -> str:
    """What a session had cost by each request, a line for each policy."""
    series = [
        list(
            zip(
                [number for number, _ in numbered(session, one.replayed)],
                accumulate(point.bill.units for point in one.replayed.points),
                strict=True,
            )
        )
        for one in session.outcomes
    ]
    totals = [values[-1][1] if values else 0.0 for values in series]
    plot = frame(session.requests, detail.columns, max(totals))
    drawn = f'<path class="grid" d="{grid(ticks(plot.top), plot)}"/>{_lines(session, series, plot)}'
    names = [shown(one.replayed.policy) for one in session.outcomes]
    read = "In all: " + " · ".join(f"{name} {brief(total)}" for name, total in zip(names, totals, strict=True))
    note = "Units of one uncached input token, added up: requests, answers, and the summaries that a policy asked for."
    return _figure("cost", ("Cost so far", note, read), plot, (drawn, "", _ends(session, series, plot)))


def kinds_chart(session: Session, replayed: Replayed, detail: Detail) -> str:
    """What the requests of one policy are made of."""
    held = column_sizes(session, replayed, detail)
    if held is None:
        return (
            '<p class="note">What the recorded requests were made of is not in the recording: '
            "it shows the bill alone.</p>"
        )
    plot = frame(session.requests, detail.columns, max(sum(sizes) for sizes in held))
    heights = [list(accumulate(sizes)) for sizes in held]
    used = [place for place in range(len(KINDS)) if any(sizes[place] for sizes in held)]
    layers = [
        f'<path class="k{place}" d="{area([float(column[place]) for column in heights], plot)}"/>'
        for place in reversed(used)
    ]
    middles = [plot.up(heights[-1][place] - held[-1][place] / 2) for place in used]
    labels = "".join(
        f'<span class="k{place}" style="top:{top:.1%}"><i></i>{KIND_WORDS[KINDS[place]]}</span>'
        for place, top in zip(used, apart(middles, 0.085, 0.02, 0.96), strict=True)
    )
    note = "Bytes of text by kind, in the order of the stack. Pictures and files are not counted."
    read = "Last request: " + " · ".join(
        f"{KIND_WORDS[KINDS[place]]} {brief(held[-1][place])}" for place in reversed(used)
    )
    drawn = "".join(layers) + f'<path class="grid over" d="{grid(ticks(plot.top), plot)}"/>'
    return _figure("kinds", ("What the requests are made of", note, read), plot, (drawn, "", labels))


def price_chart(session: Session, replayed: Replayed, detail: Detail) -> str:
    """What each request of one policy costs, with broken prefixes in colour."""
    dearest = column_prices(session, replayed, detail)
    prices = [units for units, _ in dearest.values()]
    plot = frame(session.requests, detail.columns, max(prices, default=0.0))
    counted = Counter(point.broke for point in replayed.points if point.broke is not None)
    drawn = [f'<path class="grid" d="{grid(ticks(plot.top), plot)}"/>']
    for cause in (None, *CAUSES):
        found = [(column, units) for column, (units, broke) in dearest.items() if broke == cause]
        if found:
            drawn.append(f'<path class="b {f"b-{cause}" if cause else "b-none"}" d="{bars(found, plot)}"/>')
    legend = "".join(
        f'<li><i class="b-{cause}"></i>{_CAUSE_WORDS[cause]}: {counted[cause]}</li>'
        for cause in CAUSES
        if counted[cause]
    )
    note = "Units of one uncached input token, answer included. In colour where the prefix had to be written again."
    if plot.merged:
        note += " A bar is the dearest of the requests that share its place."
    read = f"{several(sum(counted.values()), 'break')} of the prefix in {several(len(replayed.points), 'request')}"
    figure = _figure("price", ("Price of each request", note, read), plot, ("".join(drawn), "", ""))
    return figure + (f'<ul class="legend">{legend}</ul>' if legend else "")


def shape_of(rung: str) -> str:
    """The class of the shape that marks a rung."""
    return f"r{list(RUNG_WORDS).index(rung)}" if rung in RUNG_WORDS else "r"


def column_sizes(session: Session, replayed: Replayed, detail: Detail) -> list[tuple[int, ...]] | None:
    """For each column the sizes by kind of its largest request; None where they are not known."""
    plot = frame(session.requests, detail.columns, 0)
    held: list[tuple[int, ...]] = [()] * plot.columns
    wholes = [0] * plot.columns
    for number, point in numbered(session, replayed):
        column, whole = plot.column(number), sum(point.sizes)
        if whole > wholes[column]:
            held[column], wholes[column] = point.sizes, whole
    if not any(held):
        return None
    nothing = (0,) * len(KINDS)
    return [sizes or nothing for sizes in held]


def column_prices(session: Session, replayed: Replayed, detail: Detail) -> dict[int, tuple[float, str | None]]:
    """For each column the price of its dearest request, and why that one broke the prefix, if it did."""
    plot = frame(session.requests, detail.columns, 0)
    dearest: dict[int, tuple[float, str | None]] = {}
    for number, point in numbered(session, replayed):
        column = plot.column(number)
        if column not in dearest or point.bill.units > dearest[column][0]:
            dearest[column] = (point.bill.units, point.broke)
    return dearest


def _highest(peaks: Sequence[int], window: int | None) -> float:
    """The top of the size chart: the window where requests come near it, and not far beyond where some exceed it."""
    highest = max(peaks)
    if window is None or highest < window * 0.55:
        return highest
    return min(max(highest, window), window * 1.2)


def _limits(session: Session, plot: Frame) -> tuple[str, str]:
    """The lines of window and threshold, and their names."""
    drawn: list[str] = []
    names: list[str] = []
    for value, name, side in ((session.window, "window", "above"), (session.threshold, "threshold", "below")):
        if value is not None and value <= plot.top:
            drawn.append(f'<path class="limit {name}" d="{grid([value], plot)}"/>')
            names.append(f'<span class="limit {side}" style="top:{plot.up(value):.2%}">{name} {whole(value)}</span>')
    return "".join(drawn), "".join(names)


def _lines(session: Session, series: Sequence[Sequence[tuple[int, float]]], plot: Frame) -> str:
    order = sorted(range(len(series)), key=lambda at: at == session.chosen)
    return "".join(
        f'<path class="line s{shade(session.outcomes[at].replayed.policy, at)} p{at}" d="{line(series[at], plot)}"/>'
        for at in order
        if series[at]
    )


def _ends(session: Session, series: Sequence[Sequence[tuple[int, float]]], plot: Frame) -> str:
    """The names of the lines, at their right ends."""
    drawn = [at for at, values in enumerate(series) if values]
    wanted = [plot.up(series[at][-1][1]) for at in drawn]
    labels: list[str] = []
    for at, top in zip(drawn, apart(wanted, 0.075, 0.02, 0.97), strict=True):
        policy, last = session.outcomes[at].replayed.policy, series[at][-1][1]
        value = f"{'↑ ' if last > plot.top else ''}{brief(last)}"
        place = f'class="s{shade(policy, at)} p{at}" style="top:{top:.1%}"'
        labels.append(f"<span {place}>{shown(policy)} <small>{value}</small></span>")
    return "".join(labels)


def _pauses(session: Session, plot: Frame) -> str:
    """A line for each pause that outlived the cache; the longest are named, where there is room."""
    found = sorted(session.pauses(), key=lambda one: -one[1])
    named: list[float] = []
    pieces: list[str] = []
    for number, seconds in found[:60]:
        place = plot.across(number - 0.5)
        room = all(abs(place - other) > 0.14 for other in named)
        if room:
            named.append(place)
        most = "" if len(named) > 1 else ' class="most"'
        label = f"<span{most}>idle {pause(seconds)}</span>" if room else ""
        pieces.append(f'<i class="idle{" left" if place > 0.7 else ""}" style="left:{place:.2%}">{label}</i>')
    return "".join(pieces)


def _marks(session: Session, at: int, plot: Frame, gap: float) -> str:
    """The edits of one policy, as shapes on its line; where they lie close, some go without number or shape."""
    replayed = session.outcomes[at].replayed
    tokens = {number: point.tokens for number, point in numbered(session, replayed)}
    pieces: list[str] = []
    shaped: dict[str, float] = {}
    last = last_on_narrow = -1.0
    for edit in edits_of(session, replayed):
        across, down = plot.across(edit.request), max(0.0, plot.up(tokens[edit.request]))
        if across - shaped.get(edit.rung, -1.0) < gap:
            continue
        shaped[edit.rung] = across
        label = far = ""
        if edit.rung != "entry_reduction" and across - last > NUMBERS_APART:
            label, last = str(edit.number), across
            if across - last_on_narrow > NUMBERS_APART_ON_NARROW:
                far, last_on_narrow = " far", across
        pieces.append(f'<b class="m {shape_of(edit.rung)}{far}" style="left:{across:.1%};top:{down:.1%}">{label}</b>')
    return f'<div class="panel p{at} marks s{shade(replayed.policy, at)}">{"".join(pieces)}</div>' if pieces else ""


def _mark_legend(session: Session) -> str:
    """Which shape stands for which rung, and how often."""
    lists: list[str] = []
    for at, outcome in enumerate(session.outcomes):
        rungs = Counter(rung for point in outcome.replayed.points for rung in point.rungs)
        entries = "".join(
            f'<li><b class="m {shape_of(rung)}"></b>{word}: {rungs[rung]}</li>'
            for rung, word in RUNG_WORDS.items()
            if rungs[rung]
        )
        color = f"s{shade(outcome.replayed.policy, at)}"
        lists.append(f'<ul class="legend panel p{at} {color}">{entries or "<li>no edits</li>"}</ul>')
    return "".join(lists)


def _figure(kind: str, words: tuple[str, str, str], plot: Frame, layers: tuple[str, str, str]) -> str:
    """A chart: title, note and read-out; what is drawn, what lies over it, and the names at its right."""
    title, note, read = words
    drawn, over, ends = layers
    levels = "".join(
        f'<span style="top:{plot.up(value):.2%}">{mark(value)}</span>' for value in ticks(plot.top) if value or kind
    )
    requests = "".join(
        f'<span style="left:{plot.across(request):.2%}">{request + 1:,}</span>'
        for request in request_ticks(plot.requests)
    )
    return (
        f'<figure class="chart" data-chart="{kind}"><figcaption><h4>{title}</h4><p class="note">{note}</p></figcaption>'
        f'<p class="read">{read}</p><div class="plot"><div class="ys">{levels}</div><div class="area">'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label="{title}">{drawn}'
        f'</svg>{over}<i class="cursor"></i></div><div class="ends">{ends}</div>'
        f'<div class="xs">{requests}</div></div></figure>'
    )
