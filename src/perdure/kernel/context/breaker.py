"""The breaker and the progress guard: when not to try again.

It knows past attempts, as the ledger holds them. It must never know a clock or a model: whatever it says follows from
the ledger, so a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from perdure.kernel.context.edits import Attempt, Edit, Rung
from perdure.kernel.value import value


@value
class Breaker:
    """Half open after a skip: at the limit the model is skipped once, then tried once more.

    Only a model's success clears it.
    """

    limit: int = 3
    failures: int = 0

    @property
    def open(self) -> bool:
        """Whether the next model call is to be skipped."""
        return self.failures >= self.limit

    def failed(self) -> Breaker:
        """The breaker after a failure."""
        return replace(self, failures=min(self.limit, self.failures + 1))

    def skipped(self) -> Breaker:
        """The breaker after a skip."""
        return replace(self, failures=self.limit - 1)

    def succeeded(self) -> Breaker:
        """The breaker after a success of the model."""
        return replace(self, failures=0)


@value
class Guard:
    """Which rungs made no progress, and up to which size of the transcript they rest."""

    rests_until: dict[Rung, int] = field(default_factory=dict[Rung, int])
    """By rung: the length of the transcript, in tokens, before which it is not tried again."""

    def rests(self, rung: Rung, size: int) -> bool:
        """Whether a rung is to be left alone at this size of the transcript, in tokens."""
        return size < self.rests_until.get(rung, 0)


def breaker_of(edits: Iterable[Edit], limit: int) -> Breaker:
    """The breaker as the recorded attempts leave it."""
    breaker = Breaker(limit=limit)
    for edit in edits:
        if isinstance(edit, Attempt):
            breaker = after(breaker, edit)
    return breaker


def guard_of(edits: Iterable[Edit]) -> Guard:
    """The progress guard as the recorded attempts leave it."""
    attempts = (edit for edit in edits if isinstance(edit, Attempt) and edit.outcome == "no_progress")
    return Guard(rests_until={attempt.reason.rung: attempt.rests_until for attempt in attempts})


def after(breaker: Breaker, attempt: Attempt) -> Breaker:
    """The breaker after one more attempt."""
    match attempt.outcome:
        case "model_failed":
            return breaker.failed()
        case "model_succeeded":
            return breaker.succeeded()
        case "skipped":
            return breaker.skipped()
        case "no_progress":
            return breaker
