"""What a double received and gave, for a test to look at.

It knows requests as bytes and usage as numbers. It must never judge them.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.value import value
from perdure.testing.doubles.shape import Body


@value
class Received:
    """One request and what came of it."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    """The body, byte for byte."""
    body: Body
    """The body decoded; empty if it was no JSON object."""
    at: float
    """Unix seconds by the double's clock, at the start."""
    status: int
    """HTTP status of the answer; 200 for a stream, whatever happens in it later."""
    answer: Body
    """The whole answer, or the error body."""

    @property
    def usage(self) -> Body:
        """The usage given; empty for a refusal."""
        usage: Body = self.answer.get("usage") or {}
        return usage


def shared_prefix(earlier: bytes, later: bytes) -> int:
    """Bytes that two bodies have in common at their start."""
    limit = min(len(earlier), len(later))
    if earlier[:limit] == later[:limit]:
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if earlier[:middle] == later[:middle] else (low, middle - 1)
    return low
