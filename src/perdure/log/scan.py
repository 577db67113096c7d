"""The lines of a whole log: where each entry stands, what is damaged, and what a crash left behind.

It knows lines. It must never open a file nor decode a payload: a log of 100 MB is opened to find its newest entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.kernel.value import record, value
from perdure.log.line import Header, head_of, header_of


@record(frozen=True)
class Row:
    """Where an entry stands, and what is known of it without decoding it."""

    id: int
    parent: int | None
    kind: str
    time: float
    line: int
    """Counted from 1."""
    start: int
    """Bytes from the beginning of the file to the payload."""
    size: int
    """Bytes of the payload."""


@value
class Damage:
    """A line that is not what was written."""

    line: int
    """Counted from 1."""
    reason: str


@value
class Scan:
    """What a file holds."""

    header: Header | None
    """None where the first line is damaged."""
    rows: dict[int, Row]
    """Every whole entry by its id, in the order of the file."""
    damage: tuple[Damage, ...]
    end: int
    """Bytes up to the end of the last whole line."""
    torn: int
    """Bytes behind it that a crash left: the beginning of a line that was never acknowledged."""
    unended: bool
    """Whether the last entry is whole but for its line end, which has to be added."""


def scan(data: bytes) -> Scan:
    """Look through a log.

    Raises:
        LogTooNew: a newer version wrote it.
    """
    rows: dict[int, Row] = {}
    damage: list[Damage] = []
    header: Header | None = None
    end = 0
    for number, start, stop in _lines(data):
        line = data[start:stop]
        if number == 1:
            header = header_of(line)
            if header is None:
                damage.append(Damage(line=1, reason="it does not open a session log"))
        elif reason := _take(line, number, start, rows):
            damage.append(Damage(line=number, reason=reason))
        end = stop + 1
    return _with_rest(data, Scan(header=header, rows=rows, damage=tuple(damage), end=end, torn=0, unended=False))


def path_to(leaf: int | None, rows: Mapping[int, Row]) -> list[Row]:
    """The entries from the first one to `leaf`. Where a parent was damaged, the entry written before it stands in."""
    path: list[Row] = []
    while leaf is not None:
        row = rows.get(leaf)
        if row is None:
            leaf = max((other for other in rows if other < leaf), default=None)
            continue
        path.append(row)
        leaf = row.parent
    path.reverse()
    return path


def _lines(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of every line that has an end."""
    number, start = 0, 0
    while (stop := data.find(b"\n", start)) >= 0:
        number += 1
        yield number, start, stop
        start = stop + 1


def _take(line: bytes, number: int, start: int, rows: dict[int, Row]) -> str:
    """Put the entry of a line among the rows, or say what is wrong with it."""
    head = head_of(line)
    if head is None:
        return "it is not what was written"
    if head.id in rows:
        return f"the entry {head.id} came before"
    if head.parent is not None and head.parent >= head.id:
        return f"the entry {head.id} follows {head.parent}, which did not come before it"
    rows[head.id] = Row(
        head.id, head.parent, head.kind, head.time, number, start + head.size, len(line) - head.size - 1
    )
    return ""


def _with_rest(data: bytes, found: Scan) -> Scan:
    """The same, with what stands behind the last line end: a whole entry that lacks it, or a torn one."""
    rest = data[found.end :]
    if not rest:
        return found
    number = len(found.rows) + len(found.damage) + (found.header is not None) + 1
    rows = dict(found.rows)
    header = header_of(rest) if number == 1 else None
    if header is None and _take(rest, number, found.end, rows):
        return Scan(
            header=found.header,
            rows=found.rows,
            damage=found.damage,
            end=found.end,
            torn=len(rest),
            unended=False,
        )
    return Scan(header=header or found.header, rows=rows, damage=found.damage, end=len(data), torn=0, unended=True)
