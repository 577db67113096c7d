"""What a change did to a file, as a unified diff that is bounded.

It knows two texts. It must never know a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from perdure.tools.encoding import shown

COMPARED = 4_000
"""Changed lines that are compared one by one; the time for it grows with the square."""
SHOWN = 200
"""Lines of a diff."""
LONG_LINE = 300
"""Characters of a line of it."""
AROUND = 3
"""Lines around a change."""


def diff_of(before: str, after: str, name: str) -> str:
    """The diff, or how much changed where it would be too long to make."""
    old, new = before.splitlines(), after.splitlines()
    start = _same(old, new)
    end = _same(old[start:][::-1], new[start:][::-1])
    first = max(0, start - AROUND)
    old_part, new_part = (lines[first : len(lines) - max(0, end - AROUND)] for lines in (old, new))
    if old == new:
        return f"Changed the end of the last line of {name}." if before != after else f"{name} is as it was."
    if len(old_part) + len(new_part) > COMPARED:
        return f"Changed {name}: lines {start + 1} to {len(old) - end} are now lines {start + 1} to {len(new) - end}."
    rows = [_shifted(row, first) for row in difflib.unified_diff(old_part, new_part, lineterm="", n=AROUND)][2:]
    cut = [f"[... {len(rows) - SHOWN:,} more lines of the diff]"] if len(rows) > SHOWN else []
    return "\n".join([f"--- {name}", f"+++ {name}", *(shown(row[:LONG_LINE]) for row in rows[:SHOWN]), *cut])


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the start are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _shifted(row: str, by: int) -> str:
    """A heading of a hunk, with the numbers that its lines have in the file."""
    if not row.startswith("@@ "):
        return row
    _, old, new, _ = row.split(" ")
    return f"@@ {_moved(old, by)} {_moved(new, by)} @@"


def _moved(span: str, by: int) -> str:
    start, comma, length = span[1:].partition(",")
    return f"{span[0]}{int(start) + by}{comma}{length}"
