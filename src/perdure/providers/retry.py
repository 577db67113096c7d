"""When to try again, and how long to wait.

It knows kinds of failure, bounds and chance. It must never send anything.
"""

from __future__ import annotations

import random

from perdure.kernel.agent import Failure, FailureKind
from perdure.kernel.value import value

PASSING: frozenset[FailureKind] = frozenset({"rate_limit", "overloaded", "server", "network", "cut"})
"""Failures that may be gone the next time. A spending cap is a rate limit without `retry-after`, and is not cured by
waiting; the bound on tries ends that."""


@value
class Patience:
    """How often and how long."""

    tries: int = 6
    first: float = 1.0
    """Seconds before the second try; each further one doubles it."""
    longest: float = 30.0
    """Seconds at most between two tries, where the provider names none."""
    longest_asked: float = 120.0
    """Seconds that a provider may ask for; when it asks for more, the failure is told instead."""

    def wait_before(self, attempt: int, failure: Failure, dice: random.Random) -> float | None:
        """Seconds before try number `attempt` (2 is the first repetition); None for no further try."""
        wanted = failure.kind in PASSING if failure.retryable is None else failure.retryable
        # What a provider calls retryable is retried only where the same bytes could fare better.
        if attempt > self.tries or not wanted or failure.kind in ("overflow", "thinking_bound"):
            return None
        if failure.retry_after is not None:
            if failure.retry_after > self.longest_asked:
                return None
            return failure.retry_after + dice.uniform(0.0, 0.25 * self.first)
        step = min(self.longest, self.first * 2.0 ** (attempt - 2))
        return step * dice.uniform(0.5, 1.0)
