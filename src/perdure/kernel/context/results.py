"""What the engine's entries give back: the view, what changed, why, at what price, and what was lost where to.

It knows values for people and hosts. It must never decide anything.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.context.edits import Edit, Rung, Why
from perdure.kernel.context.render import View
from perdure.kernel.context.settings import Limits
from perdure.kernel.messages import Message
from perdure.kernel.tokens import Estimate
from perdure.kernel.value import value


@value
class Lost:
    """One thing that left the view."""

    handle: str
    """Recalls it."""
    message_id: str
    what: str
    """A few words: the tool and its main argument, or the range of messages."""
    tokens: int
    """By which the view became smaller; for a range of messages, what they had in it."""
    rung: Rung


@value
class Price:
    """What a rewrite costs and brings, in units of one uncached input token."""

    rewritten: int
    """Tokens behind the first change: the next request writes them again instead of reading them."""
    cost: float
    """Units that the next request pays for that beyond what reading would cost; 0 where the cache is cold anyway."""
    saving: float
    """Units that every further request saves."""
    model: float = 0.0
    """Units that a model's narrative cost."""

    @property
    def payback(self) -> float | None:
        """Further requests after which the rewrite has earned its cost; None where it never does."""
        return (self.cost + self.model) / self.saving if self.saving > 0 else None


@value
class Step:
    """One rung that ran."""

    rung: Rung
    why: Why
    changed: bool
    tokens_before: int
    tokens_after: int
    price: Price | None = None
    note: str = ""
    """Why it changed nothing, for people."""


Note: TypeAlias = Literal[
    "window_unknown",
    "archive_refused",
    "log_refused",
    "circuit_breaker",
    "no_progress",
    "nothing_to_fold",
    "drop_block_needed",
]
"""What a host should know beyond the steps. `drop_block_needed`: kept thinking stands behind an edit, so requests must
set `thinking.block_binding.prefix_mismatch_behavior` to `drop_block` from now on."""


@value
class Projection:
    """The result of an entry."""

    view: View
    usage: Estimate
    """Size of the request, fixed overhead included, in tokens."""
    limits: Limits | None
    """None where the window is not known."""
    edits: tuple[Edit, ...] = ()
    """New in the ledger."""
    steps: tuple[Step, ...] = ()
    lost: tuple[Lost, ...] = ()
    """The loss report of these edits."""
    notes: tuple[Note, ...] = ()
    compacted_count: int = 0
    """Messages that a new checkpoint folded."""
    kept_count: int = 0
    """Messages of the transcript that the view still shows."""
    split_turn: bool = False
    frontier: int = 0
    """Position in the view behind which later batches may change something: a cache mark belongs before it."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What to send."""
        return self.view.messages[:]

    @property
    def changed(self) -> bool:
        """Whether the view moved."""
        return any(step.changed for step in self.steps)

    @property
    def strategy(self) -> Rung | None:
        """The last rung that changed the view."""
        return next((step.rung for step in reversed(self.steps) if step.changed), None)

    @property
    def why(self) -> Why | None:
        """What made that rung run."""
        return next((step.why for step in reversed(self.steps) if step.changed), None)

    @property
    def tokens_before(self) -> int:
        """Size of the request before the entry did anything."""
        return self.steps[0].tokens_before if self.steps else self.usage.tokens

    @property
    def tokens_after(self) -> int:
        """Size of the request now."""
        return self.usage.tokens

    @property
    def price(self) -> Price | None:
        """The price of the last change of the view."""
        return next((step.price for step in reversed(self.steps) if step.changed), None)

    @property
    def max_tokens(self) -> int | None:
        """The longest answer that still fits, in tokens: window less estimate less margin."""
        return None if self.limits is None else max(1, self.limits.window - self.usage.upper)


Scope: TypeAlias = Literal["baseline", "projected", "committed", "recovered", "skipped"]
"""What the last entry did: nothing; light or provisional edits; a committed checkpoint; a recovery; a skip."""


@value
class Snapshot:
    """What a screen shows of the engine."""

    scope: Scope
    transcript_messages: int
    view_messages: int
    checkpoints: int
    """Checkpoints in force: 0 or the number that the present one continues."""
    cleared_results: int
    reduced_outputs: int
    trimmed_texts: int
    usage: Estimate
    limits: Limits | None
    last_strategy: Rung | None
    breaker_failures: int
    warm_for: float | None
    """Seconds that the provider still holds the prefix; 0 when cold, None where that is not known."""
