"""Lines chosen by importance and shown in their own order, with a mark wherever some are missing.

It knows lines, their order of importance and the room there is. It must never know why a line is important.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from perdure.kernel.context.entry.ends import clip
from perdure.kernel.value import value

Mark: TypeAlias = Callable[[int, int], str]
"""Says what the lines from the first index up to, without, the second were."""

_PATIENCE = 60
"""Lines in a row that may be too long for what is left before the search for shorter ones ends."""

_OPENING = 400
"""Characters of a line that tell what it is."""

_NARROWEST = 100
"""Characters to which a long line may always extend."""


def lines_omitted(first: int, past: int) -> str:
    """The plain mark."""
    return f"[… {past - first:,} line{'s' if past - first != 1 else ''} omitted]"


@value
class Sheet:
    """Lines, and how the gaps between chosen ones are marked."""

    lines: Sequence[str]
    mark: Mark = lines_omitted
    mark_size: int = 28
    """Characters of a usual mark with its line end."""
    widest: int = 20_000
    """Characters of a line, even where there is room for more."""

    def fill(self, order: Iterable[int], room: int) -> str:
        """Take lines in the order of their importance until `room` characters are full; show them in their own order.

        Single lines that are far longer than the rest are clipped in the middle, so that one never fills the room.
        """
        width = min(self.widest, max(_NARROWEST, room // 5))
        chosen = self._choose(order, room, width)
        shown: list[str] = []
        place = 0
        while place < len(chosen):
            past = _next(chosen, 0, place)
            shown.extend(clip(line, width) for line in self.lines[place:past])
            place = _next(chosen, 1, past)
            if place > past:
                shown.extend(self._gap(past, place))
        return "\n".join(shown)

    def _choose(self, order: Iterable[int], room: int, width: int) -> bytearray:
        lines, last = self.lines, len(self.lines) - 1
        chosen = bytearray(len(lines))
        used, misses = self.mark_size, 0
        for place in order:
            if chosen[place]:
                continue
            joins = (place == 0 or chosen[place - 1]) + (place == last or chosen[place + 1])
            cost = min(len(lines[place]), width) + 1 + self.mark_size * (1 - joins)
            if used + cost <= room:
                chosen[place] = 1
                used += cost
                misses = 0
            elif (misses := misses + 1) > _PATIENCE:
                break
        return chosen

    def _gap(self, first: int, past: int) -> Sequence[str]:
        """The mark, or the lines themselves where they are shorter than it."""
        if past - first <= 2 and sum(len(line) + 1 for line in self.lines[first:past]) < self.mark_size:
            return self.lines[first:past]
        return (self.mark(first, past),)


def openings(lines: Sequence[str]) -> list[str]:
    """What patterns look at: the start of each line, so that no line however long makes a pattern slow."""
    return [line if len(line) <= _OPENING else line[:_OPENING] for line in lines]


def both_ends(places: Sequence[int]) -> Iterator[int]:
    """The first, the last, the second, the last but one, and so on."""
    low, high = 0, len(places) - 1
    while low < high:
        yield places[low]
        yield places[high]
        low, high = low + 1, high - 1
    if low == high:
        yield places[low]


def edges(count: int, head: int, tail: int) -> Iterator[int]:
    """The very first and the very last line, then further ones from both sides, towards the middle."""
    yield from both_ends(range(min(1, count)))
    yield from range(count - 1, max(0, count - tail) - 1, -1)
    yield from range(min(head, count))


def around(places: Iterable[int], before: int, after: int, count: int) -> Iterator[int]:
    """The neighbours of each place, the nearest first."""
    for place in places:
        for distance in range(1, max(before, after) + 1):
            if distance <= after and place + distance < count:
                yield place + distance
            if distance <= before and place >= distance:
                yield place - distance


def in_turns(groups: Sequence[Sequence[Sequence[int]]]) -> Iterator[int]:
    """The first run of each group, then the second of each, and so on."""
    left = [group for group in groups if group]
    turn = 0
    while left:
        for group in left:
            yield from group[turn]
        turn += 1
        left = [group for group in left if len(group) > turn]


def lines_with(text: str, words: Iterable[str]) -> set[int]:
    """Indices of the lines that hold one of the words, as they are spelled: where case is no matter, both are lowered.

    One search per word and no pattern: `str.find` is a hundred times faster than a regular expression of many words.
    """
    found: set[int] = set()
    for word in words:
        line = start = 0
        spot = text.find(word)
        while spot >= 0:
            line += text.count("\n", start, spot)
            found.add(line)
            start = text.find("\n", spot)
            if start < 0:
                break
            spot = text.find(word, start)
    return found


def _next(chosen: bytearray, value: int, start: int) -> int:
    """Where the value stands next, or the end."""
    place = chosen.find(value, start)
    return len(chosen) if place < 0 else place
