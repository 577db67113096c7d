"""Search hits and lists of paths: the first hits of each file with path and line number, and how many more there are.

It knows `path:line:text`, hits under a heading, and bare paths. It must never know what was searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from perdure.kernel.context.entry.ends import clip
from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, both_ends, edges, in_turns, openings
from perdure.kernel.pattern import pattern

HIT = pattern(r"((?:[A-Za-z]:[\\/])?[^\s:][^:\n]{0,300}):(\d{1,9})[:-]")
"""`path:line:text`, as grep -n and rg print it; a Windows drive is part of the path."""

UNDER_HEADING = pattern(r"\s{0,4}(?:Line )?\d{1,9}[:-]")
"""A hit below the line that names its file."""

_NAMED = 2
"""Files that a mark names."""

_WIDEST = 240
"""Characters of one hit: its place and enough to judge it by."""


def draft_search_hits(text: str) -> Draft:
    """One hit of every file, then a second of every file, and so on."""
    lines = text.split("\n")
    owners = owners_of(openings(lines))
    groups: dict[str, list[int]] = {}
    for place, owner in enumerate(owners):
        if lines[place]:
            groups.setdefault(owner, []).append(place)
    hits = [[(place,) for place in group] for owner, group in groups.items() if owner]
    # A run of files wider than the room would show their first letters of the alphabet alone: both ends come first.
    by_turns = [hits[place] for place in both_ends(range(len(hits)))]
    sheet = Sheet(lines=lines, mark=lambda first, past: _mark(owners, first, past), mark_size=44, widest=_WIDEST)

    def order() -> Iterator[int]:
        yield from edges(len(lines), 2, 2)
        yield from both_ends(groups.get("", ()))
        yield from in_turns(by_turns)
        yield from both_ends(range(len(lines)))

    return lambda room: sheet.fill(order(), room)


def owners_of(lines: Sequence[str]) -> list[str]:
    """The file (for bare paths the folder) that each line belongs to; empty for lines that are about none."""
    owners: list[str] = []
    heading = ""
    for line in lines:
        if hit := HIT.match(line):
            owners.append(hit[1])
        elif heading and UNDER_HEADING.match(line):
            owners.append(heading)
        elif is_path(line):
            heading = line.strip().rstrip(":")
            folder = heading.rstrip("/").rpartition("/")[0]
            owners.append(folder or heading)
        else:
            owners.append("")
    return owners


def is_path(line: str) -> bool:
    """Whether a line is nothing but a path."""
    bare = line.strip().rstrip(":")
    return 0 < len(bare) < 400 and " " not in bare and ("/" in bare or "\\" in bare or "." in bare[1:-1])


def _mark(owners: Sequence[str], first: int, past: int) -> str:
    if first and owners[first] and all(owner == owners[first - 1] for owner in owners[first:past]):
        return f"[… {past - first:,} more of the same omitted]"
    counts = Counter(owner for owner in owners[first:past] if owner)
    named = [f"{clip(owner, 80)} {count:,}" for owner, count in counts.most_common(_NAMED)]
    rest = len(counts) - len(named)
    if rest > 0:
        named.append(f"{rest:,} more")
    places = f": {', '.join(named)}" if named else ""
    return f"[… {past - first:,} line{'s' if past - first != 1 else ''} omitted{places}]"
