"""Head and tail of a text: the cut that fits anything, at line or sentence ends where there are some.

It knows lines and sentences. It must never know kinds of output: it is what is left when a kind's own way does not fit.
"""

from __future__ import annotations

from perdure.kernel.context.entry.kind import Draft

HEAD_SHARE = 0.6
"""Of the room; the rest goes to the tail."""

MARK_SIZE = 34
"""Characters of a mark that says what was left out."""

_SLACK = 0.25
"""The share of an end that may be given up to finish at a line or sentence end."""


def draft_ends(text: str) -> Draft:
    """Head and tail, whatever the text is."""
    return lambda room: cut_ends(text, room)


def cut_ends(text: str, room: int) -> str:
    """Head, a mark that counts what was left out, tail: at most `room` characters where that is possible."""
    if len(text) <= room:
        return text
    free = max(0, room - MARK_SIZE)
    head = _head(text, int(free * HEAD_SHARE))
    tail = _tail(text, free - int(free * HEAD_SHARE))
    between = text[len(head) : len(text) - len(tail)]
    mark = f"[… {amount_of(between)} omitted]"
    return "\n".join(part for part in (head.rstrip("\n"), mark, tail.lstrip("\n")) if part)


def amount_of(text: str) -> str:
    """How much a text is, in lines where it has several, else in characters."""
    lines = text.strip("\n").count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


def clip(line: str, width: int) -> str:
    """One line of about `width` characters, both ends kept."""
    if len(line) <= width:
        return line
    free = max(2, width - 24)
    tail = free // 3
    return f"{line[: free - tail]}[… {len(line) - free:,} characters]{line[-tail:] if tail else ''}"


def _head(text: str, size: int) -> str:
    head = text[:size]
    if not head or text[size : size + 1] == "\n":
        return head
    least = int(size * (1 - _SLACK))
    for end in ("\n", ". ", "。", "; ", " "):
        spot = head.rfind(end, least)
        if spot >= 0:
            return head[: spot + len(end)]
    return head


def _tail(text: str, size: int) -> str:
    if size <= 0:
        return ""
    start = len(text) - size
    if text[start - 1] == "\n":
        return text[start:]
    most = start + int(size * _SLACK)
    for end in ("\n", ". ", "。", "; ", " "):
        spot = text.find(end, start, most)
        if spot >= 0:
            return text[spot + len(end) :]
    return text[start:]
