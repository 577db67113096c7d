"""Diffs: the files, the hunks, the changed lines, and only then what stands around them.

It knows the unified format. It must never know what the change is good for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, both_ends, edges, in_turns, lines_omitted, openings
from perdure.kernel.pattern import pattern

_FILE = pattern(r"diff --git |diff -|Index: |\*\*\* (?:Update|Add|Delete) File|commit [0-9a-f]{7,40}\b")
_DETAIL = pattern(r"index [0-9a-f]|(?:new|deleted) file|(?:rename|copy|similarity|old mode|new mode)\b")
_BINARY = pattern(r"Binary files|GIT binary patch")
_GENERATED = pattern(r"[^\n]{0,400}(?:lock\b|\.lock|\.min\.|\.snap\b|\.svg\b|\.map\b|/dist/|/vendor/|_pb2|\.generated)")
"""Files that nobody reads line by line: their changes come last."""

_BODY = frozenset("+- @")
"""How lines inside a hunk, and its header, start."""

_NAMES = frozenset(("+++ ", "--- "))
_SIGNS = frozenset("+-")

_RUN = 16
"""Changed lines of one hunk that stay together: few hunks whole tell more than a line of each."""


def draft_diff(text: str) -> Draft:
    """Headers of files first, then the hunks' changed lines, the files in turns, generated files last."""
    full = text.split("\n")
    lines = openings(full)
    bare = [(place, line) for place, line in enumerate(lines) if line[:1] not in _BODY]
    headers = [place for place, line in bare if _FILE.match(line) or _BINARY.match(line)]
    details = [place for place, line in enumerate(lines) if line[:4] in _NAMES]
    details += (place for place, line in bare if _DETAIL.match(line))
    signs = [line[:1] or " " for line in lines]
    for place in details:
        signs[place] = "="
    written, generated = _changes(lines, signs, {*headers, *details})
    marked = "".join(signs)
    sheet = Sheet(lines=full, mark=lambda first, past: _mark(marked, first, past), mark_size=40)

    def order() -> Iterator[int]:
        yield from edges(len(lines), 1, 1)
        yield from both_ends(headers or details)
        yield from in_turns(written)
        yield from both_ends([place for place, sign in enumerate(signs) if sign == "@"])
        yield from both_ends(details)
        yield from in_turns(generated)
        yield from both_ends(range(len(lines)))

    return lambda room: sheet.fill(order(), room)


def _changes(
    lines: Sequence[str], signs: Sequence[str], headers: set[int]
) -> tuple[list[list[list[int]]], list[list[list[int]]]]:
    """The changed lines of each file, in runs that open with their hunk's header: of written and of generated files."""
    written: list[list[list[int]]] = [[]]
    generated: list[list[list[int]]] = [[]]
    into = written
    for place, sign in enumerate(signs):
        if place in headers:
            line = lines[place]
            if line.startswith(("diff ", "Index: ", "*** ")) or (line.startswith("+++ ") and into[-1]):
                into = generated if _GENERATED.match(line) else written
                into.append([])
        elif sign == "@":
            into[-1].append([place])
        elif sign in _SIGNS:
            if not into[-1] or len(into[-1][-1]) > _RUN:
                into[-1].append([])
            into[-1][-1].append(place)
    return written, generated


def _mark(signs: str, first: int, past: int) -> str:
    added, removed = signs.count("+", first, past), signs.count("-", first, past)
    if not added and not removed:
        return lines_omitted(first, past)
    return f"[… {past - first:,} lines omitted: +{added:,} −{removed:,}]"
