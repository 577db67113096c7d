"""Reduction of one tool output to a size: pick its kind's reducer, write, measure, correct.

It knows limits, the note and how to fit. It must never know messages, edits or where the original is kept; and it
decides nothing anew: the same text gives the same result for ever, since the result stands in a cached prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from perdure.kernel.context.entry.clean import clean
from perdure.kernel.context.entry.ends import draft_ends
from perdure.kernel.context.entry.envelope import draft_of
from perdure.kernel.context.entry.kind import Draft, Kind

Measure: TypeAlias = Callable[[str], int]
"""Tokens of a text."""

_TRIES = 4
"""Corrections of the room before the plain cut takes over. Text is never evenly dense, so the first room is a guess."""

_GOOD = 0.85
"""The share of the limit from which a result is long enough."""

_LABELS: dict[Kind, str] = {
    "json": "JSON",
    "ndjson": "lines of JSON",
    "log": "log",
    "test_report": "test report",
    "search_hits": "search hits",
    "diff": "diff",
    "table": "table",
    "file": "file text",
    "traceback": "traceback",
    "prose": "text",
    "minified": "text in long lines",
}


def reduce_text(text: str, *, limit: int, measure: Measure, recall: str, hint: str = "") -> str:
    """The text at no more than `limit` tokens, opened by a note that says how to see all of it.

    A text that fits comes back unchanged. Where not even the note fits, the note alone comes back, or the text itself
    if that is smaller. Pure: the same arguments give the same result.

    Args:
        text: what a tool returned.
        limit: tokens, at the most, by `measure`.
        measure: counts tokens; called once on the whole text and a few times on results.
        recall: the words that recall the original, such as `recall h0123456789`; empty where nothing can.
        hint: the call's description, such as `read src/app.py` or `bash pytest -q`.
    """
    tokens = measure(text)
    if not text or tokens <= limit:
        return text
    plain = clean(text)
    kind, draft = draft_of(plain, hint)
    note = _note(kind, text, recall)
    if measure(note) >= limit * 0.6:
        note = f"[Reduced; to see all: {recall}]" if recall else "[Reduced]"
    per_character = max(tokens, 1) / len(text)
    page = _Fit(note=note, limit=limit, measure=measure, per_character=per_character)
    reduced = page.whole(plain) or page.best(draft) or page.cut(draft_ends(plain)) or note
    return reduced if measure(reduced) < tokens else text


def _note(kind: Kind, text: str, recall: str) -> str:
    lines = text.count("\n") + 1
    size = f"{lines:,} lines, {len(text):,} characters" if lines > 1 else f"{len(text):,} characters"
    part = f"this is a part of {_LABELS[kind]} of {size}"
    return f"[Reduced: {part}. To see all of it: {recall}]" if recall else f"[Reduced: {part}.]"


class _Fit:
    """Turns tokens into characters, and corrects that by what was measured."""

    def __init__(self, *, note: str, limit: int, measure: Measure, per_character: float) -> None:
        self._note = note
        self._limit = limit
        self._measure = measure
        self._first_room = int((limit - measure(note + "\n")) / per_character)

    def whole(self, plain: str) -> str | None:
        """All of the text, if its escapes and overwritten lines were all that was too much."""
        if len(plain) > max(0, self._first_room) * 2:
            return None
        return self._fitting(plain)[0]

    def best(self, draft: Draft) -> str | None:
        """The longest of a few drafts that fits, or None."""
        best: str | None = None
        room, most = self._first_room, len(self._note) + 40
        for _ in range(_TRIES):
            if room < most:
                return best
            written = draft(room)
            fitting, tokens = self._fitting(written)
            if fitting is None:
                room = min(int(room * 0.95), int(room * 0.98 * self._limit / tokens))
                continue
            if best is None or len(fitting) > len(best):
                best = fitting
            if tokens >= self._limit * _GOOD or best is not fitting:
                return best
            room = max(room + 1, int(room * 0.97 * self._limit / tokens))
        return best

    def cut(self, draft: Draft) -> str | None:
        """The plain cut, shrunk until it fits, or None where there is no room at all."""
        room = self._first_room
        while room > 0:
            fitting, tokens = self._fitting(draft(room))
            if fitting is not None:
                return fitting
            room = min(room * 9 // 10, int(room * 0.98 * self._limit / tokens))
        return None

    def _fitting(self, body: str) -> tuple[str | None, int]:
        """The note and the body if they fit, and what they measure."""
        reduced = f"{self._note}\n{body}"
        tokens = self._measure(reduced)
        return (reduced if tokens <= self._limit else None), max(1, tokens)
