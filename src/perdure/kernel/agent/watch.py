"""What the loop knows of the provider's cache: where marks go, how long they live, and why a read fell short.

It knows requests, chains and the provider's counts. It must never decide what a request holds. What is derived from
the history is kept from call to call, so that a long one costs what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure.kernel.agent.ports import Ask
from perdure.kernel.cache import CacheMonitor, Head, Pause, PrefixChain, Reading, plan_marks, rolling_mark
from perdure.kernel.context import Projection
from perdure.kernel.messages import Mark, Message, Request, Ttl, Usage
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire import Codec

SHORT, LONG = 300.0, 3_600.0
"""Seconds of the two lives that a mark can be given (Anthropic, prompt caching guide, 2026-08)."""

GAPS = 50
"""How many of the newest pauses between calls tell what the next one will be like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A conversation between two runs: what a ping has to repeat, and what tells whether one pays."""

    ask: Ask
    """The last question."""
    pause: Pause
    gaps: tuple[float, ...]
    """The pauses between requests so far, in seconds, the newest last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an answer's usage told."""

    predicted: int
    """Tokens that should have been read."""
    reading: Reading | None
    where: str = ""
    byte: int | None = None


class CacheWatch:
    """The cache side of one conversation."""

    def __init__(self, profile: ModelProfile) -> None:
        self._profile = profile
        self._chain: PrefixChain | None = None
        self._monitor = CacheMonitor()
        self._rolling: Mark | None = None
        self._gaps: list[float] = []
        self._grown = 0
        self._last: float | None = None
        self._asked: tuple[Ask, float] | None = None
        self._pair: tuple[Request | None, Request | None] = (None, None)

    def marked(self, ask: Ask, projection: Projection, now: float | None) -> Ask:
        """The same question with the marks of this call, and the time of it noted."""
        chain = self._follow(ask)
        if now is not None and self._last is not None:
            self._gaps = [*self._gaps[1 - GAPS :], now - self._last]
        self._last = now
        marks = plan_marks(
            chain,
            [True] * len(ask.system),
            frontier=projection.frontier - 1,
            previous=None if projection.changed else self._rolling,
        )
        self._rolling = rolling_mark(marks)
        if choose_life(self._gaps, chain.tokens, self._grown, self._profile) == "1h":
            marks = tuple(replace(mark, ttl="1h") for mark in marks)
        life = LONG if any(mark.ttl == "1h" for mark in marks[-1:]) else self._short()
        self._monitor = self._monitor.sent(chain, now or 0.0, life, edited=projection.changed)
        marked = replace(ask, marks=marks)
        self._asked = (marked, life)
        return marked

    @property
    def warm_until(self) -> float | None:
        """Until when the provider holds the last request's prefix, in Unix seconds; None where no time is known."""
        return self._last + self._asked[1] if self._last is not None and self._asked is not None else None

    def resting(self) -> Resting | None:
        """The conversation as it rests; None where no time is known or nothing was asked yet."""
        if self._asked is None or self._last is None or self._chain is None:
            return None
        ask, life = self._asked
        pause = Pause(prefix=self._chain.tokens, started=self._last, life=life)
        return Resting(ask=ask, pause=pause, gaps=tuple(self._gaps))

    def sent(self, request: Request) -> None:
        """What left, to compare a later one with."""
        self._pair = (self._pair[1], request)

    def answered(self, usage: Usage, codec: Codec) -> Seen:
        """What the provider's count says of the cache."""
        reading, self._monitor = self._monitor.answered(usage)
        self._grown = usage.cache_write_tokens + usage.input_tokens
        if reading is None or reading.outcome != "break":
            return Seen(predicted=reading.predicted if reading else 0, reading=reading)
        before, after = self._pair
        where, byte = first_difference(codec, before, after) if before and after else ("", None)
        return Seen(predicted=reading.predicted, reading=reading, where=where, byte=byte)

    def _follow(self, ask: Ask) -> PrefixChain:
        chain = self._chain
        if chain is None or chain.head.tools != ask.tools or chain.head.system != ask.system:
            chain = PrefixChain(Head(profile=self._profile, tools=ask.tools, system=ask.system), ask.messages)
        else:
            chain = chain.over(ask.messages)
        self._chain = chain
        return chain

    def _short(self) -> float:
        lives = self._profile.cache.lives
        return float(lives[0].seconds) if lives else SHORT


def choose_life(gaps: Sequence[float], prefix: int, grown: int, profile: ModelProfile) -> Ttl:
    """The life of the rolling mark, by what pauses like the past ones would cost with either.

    A mark of five minutes writes the whole prefix again after each pause between five minutes and an hour; one of an
    hour pays the dearer write for what each call adds. `prefix` and `grown` are the tokens of both.
    """
    lives = profile.cache.lives
    if profile.dialect != "anthropic" or len(lives) < 2 or not gaps:
        return "5m"
    short, long = lives[0], lives[-1]
    saved = sum(1 for gap in gaps if short.seconds <= gap < long.seconds) * prefix * (short.write - profile.cache.read)
    paid = len(gaps) * grown * (long.write - short.write)
    return "1h" if saved > paid else "5m"


def first_difference(codec: Codec, before: Request, after: Request) -> tuple[str, int | None]:
    """The first part in which two requests differ, and the byte, counted in the request without marks.

    Empty and None where the later request only goes on from the earlier.
    """
    place = _part(before, after)
    if not place:
        return "", None
    old, new = (codec.encode_request(replace(request, marks=())) for request in (before, after))
    least = min(len(old), len(new))
    low, high = 0, least
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    return place, low if low < least else None


def _part(before: Request, after: Request) -> str:
    if before.tools != after.tools:
        return "tools"
    for index, (old, new) in enumerate(zip(before.system, after.system, strict=False)):
        if old != new:
            return f"system[{index}]"
    if len(before.system) != len(after.system):
        return f"system[{min(len(before.system), len(after.system))}]"
    for index, (old, new) in enumerate(zip(before.messages, after.messages, strict=False)):
        if old is not new and (old.role, old.content) != (new.role, new.content):
            return f"messages[{index}].content[{_block(old, new)}]"
    shorter = len(after.messages) < len(before.messages)
    return f"messages[{len(after.messages)}]" if shorter else ""


def _block(old: Message, new: Message) -> int:
    pairs = enumerate(zip(old.content, new.content, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(old.content), len(new.content)))
