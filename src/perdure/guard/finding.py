"""What a detector says: where something secret stands in a text, and of which kind it is.

It knows places. It must never hold the secret itself, so that a finding can be logged, shown and raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from perdure.kernel.value import value


@value
class Finding:
    """A secret in a text, by its place."""

    kind: str
    """What it looks like, in our words: `GitHub token`."""
    start: int
    """Index of its first character in the text that was looked at."""
    end: int
    """Index behind its last character."""


class Detector(Protocol):
    """Finds secrets of some kinds. It raises nothing and blocks on nothing; places may overlap."""

    def find(self, text: str) -> Iterable[Finding]:
        """The secrets in a text, in any order."""
        ...


def disjoint(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in the order of the text, those that overlap as one, under the name of the one that starts first."""
    merged: list[Finding] = []
    for found in sorted(findings, key=lambda found: (found.start, -found.end)):
        last = merged[-1] if merged else None
        if last is None or found.start >= last.end:
            merged.append(found)
        elif found.end > last.end:
            merged[-1] = Finding(kind=last.kind, start=last.start, end=found.end)
    return tuple(merged)
