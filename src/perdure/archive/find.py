"""Lines of a text: by their numbers, by a pattern, by words.

It knows text. It must never run a regular expression that somebody else wrote: one of ten characters can take hours.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.archive.words import indexed
from perdure.kernel.value import value

LONGEST_LINE = 400
"""Characters of a line in a list of hits."""


@value
class Line:
    """One line of an original."""

    number: int
    """Counted from 1."""
    text: str


@value
class Hit:
    """An original that has the words that were asked for."""

    handle: str
    """Recalls it: a handle, or the id of a message."""
    message_id: str
    what: str
    lines: tuple[Line, ...]
    """The first lines with most of the words, cut to `LONGEST_LINE`."""


def lines_matching(text: str, pattern: str) -> list[Line]:
    """The lines that contain a text, letter case ignored; a `*` in it stands for any characters."""
    parts = [part for part in pattern.casefold().split("*") if part]
    return [
        Line(number=number, text=line)
        for number, line in enumerate(text.split("\n"), start=1)
        if _has_in_order(line.casefold(), parts)
    ]


def lines_with(text: str, words: Sequence[str], most: int) -> tuple[Line, ...]:
    """The first of those lines that have the most of the words."""
    best: list[Line] = []
    highest = 1
    for number, line in enumerate(text.split("\n"), start=1):
        lowered = line.lower() if line.isascii() else indexed(line).lower()
        count = sum(word in lowered for word in words)
        if count > highest:
            highest, best = count, []
        if count == highest and len(best) < most:
            best.append(Line(number=number, text=line[:LONGEST_LINE]))
    return tuple(best)


def _has_in_order(line: str, parts: list[str]) -> bool:
    place = 0
    for part in parts:
        place = line.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True
