"""What a request may cost before anything is known of it: headers, bytes held in memory, levels of nesting.

It knows sizes. It must never know what is in a body. A caller without a key gets no further than its headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import record
from perdure.memory import Principal

BUSY = 2
"""Seconds after which it is worth trying again where bodies fill the memory that is set aside for them."""


@record()
class Room:
    """Memory for the bodies of all requests under way, of which each caller has a share."""

    most: int
    """Bytes."""
    share: int
    """Of these, what one caller may fill."""
    held: dict[Principal | None, int] = field(default_factory=dict[Principal | None, int])

    def take(self, who: Principal | None, size: int) -> None:
        """Hold more bytes; they have to be given back.

        Raises:
            CallRefused: there is no room for them now.
        """
        own = self.held.get(who, 0) + size
        if own > self.share or sum(self.held.values()) + size > self.most:
            raise CallRefused(
                "too many large requests are under way; try again", status=503, code="busy", retry_after=BUSY
            )
        self.held[who] = own

    def give(self, who: Principal | None, size: int) -> None:
        """Hold them no longer."""
        left = self.held.pop(who, 0) - size
        if left > 0:
            self.held[who] = left


def check_headers(headers: Sequence[object], most: int) -> None:
    """Refuse a request with more headers than that. Their bytes are bounded where they are read.

    Raises:
        CallRefused: it has more.
    """
    if len(headers) > most:
        raise CallRefused(f"the request has more than {most} headers, which is the most that is taken", status=431)


def check_depth(body: JsonObject, most: int) -> None:
    """Refuse a body with more levels than that: what is read level by level here may be read recursively upstream.

    Raises:
        CallRefused: it has more.
    """
    level: list[JsonObject | list[Json]] = [body]
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    if level:
        raise CallRefused(f"the body is nested deeper than {most} levels, which is the most that is taken")
