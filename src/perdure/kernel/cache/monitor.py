"""The cache monitor: whether the provider read what it should have, and if not, why.

It knows chains, times and the provider's counts. It must never act: what it says is shown and logged. What was sent is
kept pending until the answer's usage commits it; a request that failed leaves the baseline as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from perdure.kernel.cache.chain import PrefixChain
from perdure.kernel.messages import Usage
from perdure.kernel.value import value

LEAST_DROP = 2_000
"""Tokens by which a read must fall short of the last one to be called a break: less is a block more or less."""

LEAST_SHARE = 0.05
"""The share of the last read that it must be, too."""

Cause: TypeAlias = Literal[
    "expired", "model_changed", "tools_changed", "system_changed", "edited", "messages_changed", "unexplained"
]
"""`expired`: the pause outlasted the cache. `edited`: the ledger grew, so that the drop was expected.
`messages_changed`: the messages, or settings that are part of their prompt, differ without an edit, which is alarming.
`unexplained`: the request extended the last one, and the provider read less all the same."""


@value
class Reading:
    """What one answer told about the cache."""

    outcome: Literal["first", "hit", "break"]
    cause: Cause | None
    """Why a break came; None otherwise."""
    predicted: int
    """Tokens that the last request left to be read."""
    seen: int
    """Tokens that were read."""
    lost: int
    """Tokens of the last read that were not read again; 0 unless it is a break."""

    @property
    def expected(self) -> bool:
        """Whether a break has a cause that somebody chose or that time brought."""
        return self.cause in {"expired", "edited"}


@value
class Sent:
    """A request that was sent."""

    chain: PrefixChain
    start: float
    """Unix seconds."""
    life: float
    """Seconds that its entries live."""
    edited: bool
    """Whether the ledger grew since the request before."""


@value
class CacheMonitor:
    """The last answered request, and the one that waits for its answer."""

    baseline: Sent | None = None
    read: int = 0
    """Tokens that the baseline read."""
    written: int = 0
    """Tokens that the baseline wrote."""
    pending: Sent | None = None

    def sent(self, chain: PrefixChain, start: float, life: float, *, edited: bool) -> CacheMonitor:
        """A request left. Edits of one that was never answered still count."""
        unanswered = self.pending is not None and self.pending.edited
        return replace(self, pending=Sent(chain=chain, start=start, life=life, edited=edited or unanswered))

    def answered(self, usage: Usage) -> tuple[Reading | None, CacheMonitor]:
        """The answer's usage, judged against the baseline, which the request then becomes.

        None where nothing can be told: no request is pending, or the usage is all zero, as after an error.
        """
        pending = self.pending
        if pending is None or usage.prompt_tokens == 0:
            return None, self
        reading = self._judge(pending, usage.cache_read_tokens)
        after = CacheMonitor(baseline=pending, read=usage.cache_read_tokens, written=usage.cache_write_tokens)
        return reading, after

    def _judge(self, pending: Sent, seen: int) -> Reading:
        predicted = self.read + self.written
        if self.baseline is None:
            return Reading(outcome="first", cause=None, predicted=0, seen=seen, lost=0)
        # What the last request read is what a break is measured by; the first one has only written.
        held = self.read or self.written
        lost = held - seen
        if lost < LEAST_DROP or lost < LEAST_SHARE * held:
            return Reading(outcome="hit", cause=None, predicted=predicted, seen=seen, lost=0)
        cause = _cause(self.baseline, pending)
        return Reading(outcome="break", cause=cause, predicted=predicted, seen=seen, lost=lost)


def _cause(before: Sent, now: Sent) -> Cause:
    """The first cause, in the order in which one alone would have sufficed: time, then prefix order."""
    old, new = before.chain, now.chain
    if now.start - before.start >= before.life:
        return "expired"
    if old.head.profile.id != new.head.profile.id:
        return "model_changed"
    common, tools = old.common(new), old.overhead - len(old.head.system)
    if common < tools or tools != new.overhead - len(new.head.system):
        return "tools_changed"
    if common < old.overhead or old.overhead != new.overhead:
        return "system_changed"
    if now.edited:
        return "edited"
    return "messages_changed" if common < len(old) else "unexplained"
