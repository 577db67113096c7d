"""Tables (ls -l, ps, psql, csv): the header, the first and the last rows, the number of rows.

It knows rows. It must never know columns: what they mean is up to whoever asked.
"""

from __future__ import annotations

from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, edges

_HEADER = 3
"""Lines that may be header: names, a rule, or a total."""

_FOOTER = 3
"""Lines that may be a count or a total."""


def draft_table(text: str) -> Draft:
    """The header, then rows from both ends."""
    lines = text.split("\n")
    count = len(lines)
    sheet = Sheet(
        lines=lines, mark=lambda first, past: f"[… {past - first:,} lines omitted, rows of {count:,} lines in all]"
    )

    def fill(room: int) -> str:
        usual = sum(map(len, lines)) // count + 1
        half = room // usual // 2 + 1
        return sheet.fill((*edges(count, _HEADER, _FOOTER), *edges(count, half, half)), room)

    return fill
