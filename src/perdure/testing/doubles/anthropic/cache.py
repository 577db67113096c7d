"""The prompt cache of the double, kept by its own clock.

It knows hashes of prefixes, marks and lifetimes. It must never know `perdure.kernel.cache`, which predicts what happens
here. Rules: Anthropic, prompt caching guide, 2026-08.
"""

from __future__ import annotations

import hashlib
from itertools import accumulate

from perdure.kernel.value import record, value
from perdure.testing.doubles.anthropic.prompt import Piece, Prompt
from perdure.testing.doubles.shape import Body

LOOKBACK = 20
"""Positions that a mark searches, itself counted as the first."""

LIFETIMES = {"5m": 300.0, "1h": 3_600.0}
"""Seconds, from the start of the request that wrote or last read the entry."""


@value
class Billed:
    """The input of one sampling, split by price."""

    read: int
    written_1h: int
    written_5m: int
    rest: int
    """What follows the last mark."""

    def usage(self) -> Body:
        """The input half of a usage object."""
        return {
            "input_tokens": self.rest,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


@record()
class _Entry:
    lifetime: float
    expires: float


class PromptCache:
    """Prefixes that were written, by workspace and model."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def bill(self, scope: str, prompt: Prompt, minimum: int, started: float) -> Billed:
        """Read and write the cache for one sampling that started at `started`."""
        keys = _keys(scope, prompt.pieces)
        ends = list(accumulate(piece.tokens for piece in prompt.pieces))
        total = ends[-1] if ends else 0
        marks = [i for i, piece in enumerate(prompt.pieces) if piece.mark is not None and ends[i] >= minimum]
        hits = [hit for mark in marks if (hit := self._find(keys, mark, started)) is not None]
        for hit in hits:
            entry = self._entries[keys[hit]]
            entry.expires = started + entry.lifetime
        read = max((ends[hit] for hit in hits), default=0)
        long = max((ends[i] for i in marks if prompt.pieces[i].mark == "1h"), default=0)
        last = max((ends[i] for i in marks), default=0)
        for i in marks:
            if ends[i] > read:
                lifetime = LIFETIMES[prompt.pieces[i].mark or "5m"]
                self._entries[keys[i]] = _Entry(lifetime=lifetime, expires=started + lifetime)
        # A: read; B: the last one-hour mark behind A; C: the last mark behind B. Billed A, B - A, C - B.
        until_long = max(read, long)
        until_last = max(until_long, last)
        return Billed(
            read=read, written_1h=until_long - read, written_5m=until_last - until_long, rest=total - until_last
        )

    def _find(self, keys: list[str], mark: int, now: float) -> int | None:
        """The longest living entry that a mark reaches: entries stand only where something was marked before."""
        for position in range(mark, max(-1, mark - LOOKBACK), -1):
            entry = self._entries.get(keys[position])
            if entry is not None and entry.expires > now:
                return position
        return None


def _keys(scope: str, pieces: tuple[Piece, ...]) -> list[str]:
    running = hashlib.sha256(scope.encode())
    keys: list[str] = []
    for piece in pieces:
        running.update(piece.text.encode("utf-8", "backslashreplace"))
        running.update(b"\0")
        keys.append(running.hexdigest())
    return keys
