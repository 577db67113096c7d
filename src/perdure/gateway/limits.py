"""What a request may cost before anything is known of it: headers, bytes held in memory, levels of nesting.

It knows sizes. It must never know what is in a body. A caller without a key gets no further than its headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import Json

BUSY = 2
"""Seconds after which it is worth trying again where bodies fill the memory that is set aside for them."""


@dataclass(slots=True)
class Room:
    """Memory for the bodies of all requests under way."""

    most: int
    """Bytes."""
    held: int = 0

    def take(self, size: int) -> None:
        """Hold more bytes; they have to be given back.

        Raises:
            CallRefused: there is no room for them now.
        """
        if self.held + size > self.most:
            raise CallRefused(
                "too many large requests are under way; try again", status=503, code="busy", retry_after=BUSY
            )
        self.held += size

    def give(self, size: int) -> None:
        """Hold them no longer."""
        self.held -= size


def check_headers(headers: Sequence[object], most: int) -> None:
    """Refuse a request with more headers than that. Their bytes are bounded where they are read.

    Raises:
        CallRefused: it has more.
    """
    if len(headers) > most:
        raise CallRefused(f"the request has more than {most} headers, which is the most that is taken", status=431)


def check_depth(raw: bytes, body: Mapping[str, Json], most: int) -> None:
    """Refuse a body with more levels than that: what is read level by level here may be read recursively upstream.

    Raises:
        CallRefused: it has more.
    """
    # No walk through most bodies: each level opens with a bracket.
    if raw.count(b"[") + raw.count(b"{") <= most:
        return
    level: list[Json] = [cast("Json", body)]
    for _ in range(most):
        level = [item for part in level for item in _inside(part) if isinstance(item, dict | list)]
        if not level:
            return
    raise CallRefused(f"the body is nested deeper than {most} levels, which is the most that is taken")


def _inside(part: Json) -> Sequence[Json]:
    if isinstance(part, dict):
        return list(part.values())
    return part if isinstance(part, list) else []
