"""Geometry: values to places on a plot of 1000 by 1000, and few enough of them.

It knows numbers and SVG paths. It must never know what they stand for. Plots are stretched to the width that there is,
so nothing but lines and areas is drawn here; words and marks are laid over them at percentages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, floor, log10

from perdure.kernel.value import value

EXTENT = 1000


@value
class Frame:
    """A plot: how many requests lie along it, how many columns they share, and the value at its top."""

    requests: int
    columns: int
    top: float

    @property
    def merged(self) -> bool:
        """Whether columns hold more than one request."""
        return self.columns < self.requests

    def column(self, request: int) -> int:
        """The column of a request."""
        return request * self.columns // self.requests

    def first(self, column: int) -> int:
        """The first request of a column."""
        return ceil(column * self.requests / self.columns)

    def across(self, request: float) -> float:
        """Where the middle of a request's place lies, from 0 to 1."""
        return (request + 0.5) / self.requests

    def up(self, value: float) -> float:
        """How far below the top a value lies, from 0 to 1; a little less than 0 where it lies above."""
        return max(-0.03, 1 - value / self.top)


def frame(requests: int, columns: int, highest: float) -> Frame:
    """A plot with a little air at its top."""
    return Frame(requests=max(1, requests), columns=max(1, min(requests, columns)), top=max(1.0, highest * 1.06))


def ticks(top: float, most: int = 5) -> list[float]:
    """Round values from 0 to below the top."""
    rough = top / most
    power = 10.0 ** floor(log10(rough))
    step = next((power * factor for factor in (1, 2, 2.5, 5) if power * factor >= rough), power * 10)
    return [step * place for place in range(int(top / step) + 1)]


def request_ticks(requests: int) -> list[int]:
    """Requests, counted from 0, to name below a plot: the first, and round ones."""
    round_ones = [int(value) - 1 for value in ticks(requests, 6) if value >= 1 and value == int(value)]
    return sorted({0, *(one for one in round_ones if one >= requests * 0.08)}) if requests > 1 else [0]


def extremes(values: Sequence[tuple[int, float]], plot: Frame) -> list[tuple[int, float]]:
    """Of each column the lowest and the highest value, in the order in which they came."""
    if not plot.merged:
        return list(values)
    columns: dict[int, list[tuple[int, float]]] = {}
    for request, found in values:
        columns.setdefault(plot.column(request), []).append((request, found))
    kept: list[tuple[int, float]] = []
    for held in columns.values():
        lowest, highest = min(held, key=lambda one: one[1]), max(held, key=lambda one: one[1])
        kept += sorted({lowest, highest})
    return kept


def line(values: Sequence[tuple[int, float]], plot: Frame) -> str:
    """The path through values."""
    points = [_point(plot.across(request), plot.up(value)) for request, value in extremes(values, plot)]
    return _through(points) + ("h0" if len(points) == 1 else "")


def area(heights: Sequence[float], plot: Frame) -> str:
    """The path around what lies below one height for each column."""
    width = EXTENT / len(heights)
    points = [(round((place + 0.5) * width), round(plot.up(height) * EXTENT)) for place, height in enumerate(heights)]
    outline = [(0, EXTENT), (0, points[0][1]), *points, (EXTENT, points[-1][1]), (EXTENT, EXTENT)]
    return _through(outline) + "z"


def bars(heights: Iterable[tuple[int, float]], plot: Frame) -> str:
    """The path around one bar for each given column."""
    pieces: list[str] = []
    for column, height in heights:
        left, right = (round(EXTENT * (column + side) / plot.columns) for side in (0.1, 0.9))
        tall = EXTENT - round(plot.up(height) * EXTENT)
        pieces.append(f"M{left} {EXTENT}v-{max(2, tall)}h{max(1, right - left)}v{max(2, tall)}z")
    return "".join(pieces)


def grid(values: Iterable[float], plot: Frame) -> str:
    """The path of level lines."""
    return "".join(f"M0 {round(plot.up(value) * EXTENT)}h{EXTENT}" for value in values)


def apart(wanted: Sequence[float], gap: float, top: float = 0.0, bottom: float = 1.0) -> list[float]:
    """Places near the wanted ones that keep a gap, so that labels do not lie on one another."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    placed = [min(max(wanted[place], top), bottom) for place in order]
    for place in range(1, len(placed)):
        placed[place] = max(placed[place], placed[place - 1] + gap)
    if placed and placed[-1] > bottom:
        placed[-1] = bottom
        for place in range(len(placed) - 2, -1, -1):
            placed[place] = min(placed[place], placed[place + 1] - gap)
    found = dict(zip(order, placed, strict=True))
    return [found[place] for place in range(len(wanted))]


def _point(across: float, down: float) -> tuple[int, int]:
    return round(across * EXTENT), round(down * EXTENT)


def _through(points: Sequence[tuple[int, int]]) -> str:
    if not points:
        return ""
    steps = [f"{to[0] - at[0]} {to[1] - at[1]}" for at, to in pairwise(points)]
    return f"M{points[0][0]} {points[0][1]}" + ("l" + " ".join(steps) if steps else "").replace(" -", "-")
