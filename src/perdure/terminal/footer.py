"""The footer: one line that tells the truth about the context. A pure function of the status.

It knows which part goes first where there is no room. It must never leave out that the window is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.session.status import Status

CELLS = 20
"""Of the bar."""

Fragments = list[tuple[str, str]]
"""Pairs of a style and a text, as prompt_toolkit has them."""


def footer(status: Status, columns: int, mode: str, queued: int) -> Fragments:
    """The line, cut to the columns there are. The least important parts go first."""
    parts = _parts(status, mode, queued)
    while len(parts) > 1 and sum(_width(part) + 2 for part in parts) > columns:
        parts.pop(_least(parts))
    line: Fragments = []
    for _, fragments in parts:
        line += [*fragments, ("class:footer", "  ")]
    return line


def bar(status: Status, cells: int = CELLS) -> Fragments:
    """The window: fixed, cached, fresh, what is free, and the reserve."""
    if not status.window:
        return [("class:footer.warn", f"{_short(status.tokens)} tokens, window unknown")]
    parts = (("fixed", status.fixed), ("cached", status.cached), ("fresh", status.fresh))
    line: Fragments = [("class:footer", "[")]
    used = 0
    shown = 0
    for name, size in parts:
        used += size
        until = min(cells, round(cells * used / status.window))
        line.append((f"class:bar.{name}", "█" * (until - shown)))
        shown = max(shown, until)
    reserve = min(cells - shown, round(cells * status.reserve / status.window))
    line += [("class:bar.free", "·" * (cells - shown - reserve)), ("class:bar.reserve", "░" * reserve)]
    return [*line, ("class:footer", f"] {_short(status.tokens)} of {_short(status.window)}")]


def _parts(status: Status, mode: str, queued: int) -> list[tuple[int, Fragments]]:
    """Each with its weight: the part with the smallest goes first."""
    cold = status.warm_for is not None and status.warm_for <= 0
    cache = "cache ?" if status.warm_for is None else "cold" if cold else f"warm {_minutes(status.warm_for)}"
    parts: list[tuple[int, Fragments]] = [
        (8, [("class:footer.model", status.model)]),
        (10, bar(status)),
        (6, [("class:footer.warn" if cold else "class:footer", cache)]),
        (7, [("class:footer", _price(status))]),
    ]
    if status.until_edit is not None:
        parts.insert(2, (5, [("class:footer", f"edit in {_short(status.until_edit)}")]))
    if status.saved_usd is not None and status.saved_usd >= 0.005:
        parts.append((4, [("class:footer.good", f"saved ${status.saved_usd:.2f}")]))
    if mode != "ask":
        parts.append((9, [("class:footer.mode", mode.replace("_", " "))]))
    if queued:
        parts.append((3, [("class:footer", f"{queued} queued")]))
    return parts


def _price(status: Status) -> str:
    """A model without a published price adds nothing to what is known: then that is the least that was paid."""
    if status.saved_usd is not None:
        return f"${status.usd:.2f}"
    return f"at least ${status.usd:.2f}" if status.usd else "price unknown"


def _least(parts: Sequence[tuple[int, Fragments]]) -> int:
    return min(range(len(parts)), key=lambda place: parts[place][0])


def _width(part: tuple[int, Fragments]) -> int:
    return sum(len(text) for _, text in part[1])


def _short(tokens: int) -> str:
    if abs(tokens) < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.1f}k" if abs(tokens) < 100_000 else f"{tokens / 1_000:.0f}k"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
