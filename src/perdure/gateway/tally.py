"""What one call used upstream, added up over all requests that were made for it.

It knows counts of providers and prices. It must never know whose call it is. What a provider did not count, since the
answer was not read to its end, is estimated by its size: leaving early saves nobody anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perdure.gateway.meter import Spent
from perdure.kernel.cache import bill_of
from perdure.kernel.messages import Json, Usage
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import record

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What dialects call the longest answer."""

UNTOLD = 4_096
"""Tokens of an answer whose longest is not told."""

MOST_HELD = 1_000_000
"""Tokens of an answer: no model writes more, whatever a request says."""

BYTES = 4
"""Of a token, where nobody counted."""


@record()
class Tally:
    """The sum of one call."""

    tokens: int = 0
    usd: float = 0.0
    open: list[tuple[ModelProfile, int]] = field(default_factory=list[tuple[ModelProfile, int]])
    """Requests that an upstream took and nobody counted yet: the model, and the bytes that were sent."""

    def taken(self, profile: ModelProfile, size: int) -> None:
        """An upstream took a request of so many bytes."""
        self.open.append((profile, size))

    def counted(self, profile: ModelProfile, usage: Usage | None) -> None:
        """The answer to the request that was taken last came to its end, and says what was used."""
        if usage is None or not usage.total_tokens:
            return
        if self.open:
            self.open.pop()
        self._add(profile, usage)

    def settled(self, answer: int) -> Spent:
        """All of it, where the client was sent an answer of so many bytes."""
        while self.open:
            profile, size = self.open.pop()
            self._add(profile, Usage(input_tokens=size // BYTES + 1, output_tokens=answer // BYTES))
        return Spent(tokens=self.tokens, usd=self.usd)

    def _add(self, profile: ModelProfile, usage: Usage) -> None:
        self.tokens += usage.total_tokens
        self.usd += bill_of(usage, profile).usd or 0.0


def hold_of(profile: ModelProfile, body: Mapping[str, Json], size: int) -> Spent:
    """What a call may come to, as far as its request of so many bytes tells: set aside while it is under way."""
    told = [value for name in LIMITS if isinstance(value := body.get(name), int) and value > 0]
    answer = min(told[0] if told else UNTOLD, MOST_HELD)
    usage = Usage(input_tokens=size // BYTES + 1, output_tokens=answer)
    return Spent(tokens=usage.total_tokens, usd=bill_of(usage, profile).usd or 0.0)
