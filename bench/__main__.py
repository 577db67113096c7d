"""`python -m bench [PART ...] [--sessions PATH]`: measures, and prints one table. It never fails by a time."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bench import cache, engine, entry, footprint, gateway_peers, log, prefix, replay, screen, start, tokens, wire
from bench.measure import Figure, Missing, Row

PARTS: dict[str, Callable[[], Iterable[Row]]] = {
    "engine": engine.figures,
    "wire": wire.figures,
    "tokens": tokens.figures,
    "cache": cache.figures,
    "entry": entry.figures,
    "prefix": prefix.figures,
    "log": log.figures,
    "start": start.figures,
    "footprint": footprint.figures,
    "gateway": gateway_peers.figures,
    "replay": replay.figures,
    "screen": screen.figures,
}

HEAD = ("what", "ours", "wall", "goal", "", "peer", "theirs", "ratio")
WIDTHS = (66, 12, 12, 12, 4, 37, 12, 10)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--sessions", type=Path, help="recorded sessions to replay as well: a file or a folder")
    options = parser.parse_args()
    parts = {name: PARTS[name] for name in options.parts or PARTS}
    if options.sessions is not None:
        parts[str(options.sessions)] = lambda: replay.recorded(options.sessions)
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("Times are of the processor; `wall` is the clock beside them, which other work on the machine adds to.")
    for name, measured in parts.items():
        print(f"\n{name}")
        _line(HEAD)
        for row in measured():
            print(f"not measured: {row.what}") if isinstance(row, Missing) else _line(_cells(row))
            sys.stdout.flush()


def _cells(figure: Figure) -> Iterator[str]:
    yield figure.what
    yield _number(figure.ours, figure.unit)
    yield _number(figure.wall, figure.unit)
    yield _goal(figure)
    yield "" if figure.met is None else "met" if figure.met else "no"
    yield figure.peer
    yield _number(figure.theirs, figure.unit)
    yield "" if figure.ratio is None else f"{figure.ratio:,.1f} x"


def _goal(figure: Figure) -> str:
    if figure.most is not None:
        return f"< {_number(figure.most, figure.unit)}"
    if figure.least is not None:
        return f">= {_number(figure.least, figure.unit)}"
    return "" if figure.faster is None else f">= {figure.faster:g} x"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f} {unit}"


def _line(cells: Iterable[str]) -> None:
    texts = [
        f"{cell:<{width}}" if place in {0, 4, 5} else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    print(" ".join(texts).rstrip())


if __name__ == "__main__":
    main()
