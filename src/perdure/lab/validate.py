"""The cache model against recorded usage: would it have foretold what each request read?

It knows pairs of consecutive requests. It must never look at the request that it predicts: only at the one before, the
times, and what changed in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from perdure.kernel.messages import Usage
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.lab.recording import Asked, Recording

Cause: TypeAlias = Literal["idle", "compacted", "edited", "model", "unexplained"]

CLOSE = 0.02
"""Part of the predicted read within which a prediction counts as close."""


@value
class Pair:
    """One prediction."""

    predicted: int
    """Tokens that the request should read."""
    seen: int
    """Tokens that it read."""
    expected: Cause | None
    """Why the model expected a break; None where it expected a hit."""

    @property
    def exact(self) -> bool:
        """To the token."""
        return self.predicted == self.seen

    @property
    def close(self) -> bool:
        """Within 2 %."""
        return abs(self.predicted - self.seen) <= CLOSE * max(self.predicted, self.seen)


@value
class Validation:
    """How well the cache model does on some sessions."""

    pairs: int
    exact: int
    close: int
    """Within 2 %, the exact ones included."""
    breaks: int
    """Recorded reads that fell short of what the request before had left, by 2,000 tokens and 5 %."""
    explained: int
    """Breaks that the model expected."""
    causes: Counter[str]
    """Breaks by cause."""


def validate(recordings: Iterable[Recording]) -> Validation:
    """Predict every request that has usage and a predecessor with usage."""
    pairs = [pair for recording in recordings for pair in pairs_of(recording)]
    broken = [pair for pair, left in pairs if _broke(pair, left)]
    return Validation(
        pairs=len(pairs),
        exact=sum(pair.exact for pair, _ in pairs),
        close=sum(pair.close for pair, _ in pairs),
        breaks=len(broken),
        explained=sum(pair.expected is not None for pair in broken),
        causes=Counter(pair.expected or "unexplained" for pair in broken),
    )


def pairs_of(recording: Recording) -> Iterator[tuple[Pair, int]]:
    """Each prediction, with the tokens that the request before had left in the cache."""
    threads: dict[str, list[Asked]] = {}
    for asked in recording.asked:
        if asked.usage is not None and asked.usage.prompt_tokens > 0:
            threads.setdefault(asked.thread, []).append(asked)
    for thread in threads.values():
        yield from _of_thread(thread, recording)


def _of_thread(thread: Sequence[Asked], recording: Recording) -> Iterator[tuple[Pair, int]]:
    steady = 0
    for before, now in pairwise(thread):
        profile = lookup(now.model or recording.model or "")
        was, seen = before.usage or Usage(), now.usage or Usage()
        left = left_by(was, profile)
        steady = min(steady or was.cache_read_tokens, was.cache_read_tokens or steady)
        cause = cause_of(before, now, profile)
        predicted = left if cause is None else _after(cause, steady)
        yield Pair(predicted=predicted, seen=seen.cache_read_tokens, expected=cause), left


def left_by(usage: Usage, profile: ModelProfile) -> int:
    """What a request leaves in the cache: what it read and wrote; with an automatic cache, all of it in whole steps."""
    if profile.dialect == "anthropic":
        return usage.cache_read_tokens + usage.cache_write_tokens
    step = max(1, profile.cache.step)
    return usage.prompt_tokens // step * step


def cause_of(before: Asked, now: Asked, profile: ModelProfile) -> Cause | None:
    """Why a request is expected not to read what the one before it left; None where it should."""
    if before.model and now.model and before.model != now.model:
        return "model"
    if now.baseline != before.baseline:
        return "compacted"
    if now.edits != before.edits:
        return "edited"
    if before.time is not None and now.time is not None and now.time - before.time > _life(before.usage, profile):
        return "idle"
    return None


def _life(usage: Usage | None, profile: ModelProfile) -> float:
    """Seconds that the newest entries live: an hour where the request wrote for an hour."""
    lives = profile.cache.lives
    if not lives:
        return 0.0
    return float(lives[-1].seconds if usage is not None and usage.cache_write_1h_tokens else lives[0].seconds)


def _after(cause: Cause, steady: int) -> int:
    """What is still read after a break: a compaction and an edit keep tools and system, whose size is the smallest read
    so far."""
    return steady if cause in ("compacted", "edited") else 0


def _broke(pair: Pair, left: int) -> bool:
    return fell_short(pair.seen, left)


def fell_short(seen: int, left: int) -> bool:
    """Whether a read fell short of what was left by so much that it counts as a break."""
    short = left - seen
    return short >= 2_000 and short >= 0.05 * left
