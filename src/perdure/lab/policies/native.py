"""Clearing as a provider does it when asked (Anthropic, context editing, `clear_tool_uses_20250919`, 2026-10).

It knows the documented defaults. It must never remember: the provider works out what to clear at each request anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Original
from perdure.kernel.messages import Transcript
from perdure.lab.policies.clearing import Clearing
from perdure.lab.policies.ruler import Ruler
from perdure.lab.policies.run import Policy, Sent

TRIGGER = 100_000
"""Input tokens over which it clears."""

KEEP = 3
"""Newest tool uses that stay."""


class Native:
    """Over the trigger all results but the newest go, if that frees enough."""

    def __init__(self, ruler: Ruler, clear_at_least: int) -> None:
        """Nothing is cleared yet."""
        self._ruler, self._least = ruler, clear_at_least
        self._clearing = Clearing(ruler)

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What the provider would put before the model."""
        self._clearing.follow(transcript)
        until = 0
        if self._ruler.request(self._ruler.between(0, len(transcript))) > TRIGGER:
            boundary = self._clearing.boundary(KEEP)
            freed = self._clearing.saved(transcript, boundary)
            until = boundary if freed >= self._ruler.history(self._least) else 0
        return self._clearing.send(transcript, until)

    def originals(self) -> Mapping[str, Original]:
        """Nothing can be recalled."""
        return {}


def native(clear_at_least: int = 0) -> Policy:
    """The provider's own clearing; with `clear_at_least` tokens as its floor."""
    return lambda profile, overhead: Native(Ruler(profile, overhead), clear_at_least)
