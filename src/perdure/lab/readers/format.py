"""What a reader of a format is, and what it is given: decoded values, never a file.

It knows the contract. It must never know a format, nor open anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Literal, TypeAlias

from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import record, value
from perdure.lab.recording import Recording, Trouble

MAX_TROUBLES = 200
"""Troubles that are told one by one; the others are counted. A broken file of a million lines is no million texts."""


@value
class Line:
    """One decoded value of a file: a line of a JSONL, or the whole document."""

    number: int | None
    """Counted from 1; None for a document."""
    value: Json


@record()
class Troubles:
    """What went wrong so far, in a file that is read on behind it."""

    told: list[Trouble] = field(default_factory=list[Trouble])
    untold: int = 0

    def add(self, line: int | None, reason: str) -> None:
        """Report one; beyond the limit it is only counted."""
        if len(self.told) < MAX_TROUBLES:
            self.told.append(Trouble(line=line, reason=reason))
        else:
            self.untold += 1

    def taken(self) -> tuple[Trouble, ...]:
        """What was reported since the last time, which is forgotten here."""
        more = (Trouble(line=None, reason=f"{self.untold} more troubles are not told"),) if self.untold else ()
        taken = (*self.told, *more)
        self.told, self.untold = [], 0
        return taken


@value
class Sample:
    """What the first bytes of a file show."""

    lines: tuple[JsonObject, ...]
    """The objects among its first whole lines."""
    document: Json
    """The value that it begins with, as far as it is there; None where that is no array or object."""


@value
class Input:
    """A file as a reader sees it."""

    file: str
    """The name that it is reported under."""
    lines: Iterator[Line]
    """The values in order; broken ones are left out and reported."""
    troubles: Troubles

    def objects(self) -> Iterator[tuple[int | None, JsonObject]]:
        """The values that are objects; others are reported."""
        for line in self.lines:
            if isinstance(line.value, dict):
                yield line.number, line.value
            else:
                self.troubles.add(line.number, "not an object")


Layout: TypeAlias = Literal["lines", "document", "either"]


@value
class Format:
    """One format that recordings come in."""

    name: str
    about: str
    """What the file is, for the message that lists what was looked for."""
    layout: Layout
    recognises: Callable[[Sample], bool]
    read: Callable[[Input], Iterator[Recording]]
