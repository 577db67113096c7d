"""What the loop knows of the provider's cache: where marks go, how long they live, and why a read fell short.

It knows requests, chains and the provider's counts. It must never decide what a request holds, and marks follow from
transcript and ledger alone: a resumed conversation has the marks that it would have had. What is derived from the
history is kept from call to call, so that a long one costs what is new.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.kernel.agent.ports import Ask
from perdure.kernel.agent.requests import Requests, moved_since, seconds_of
from perdure.kernel.cache import CacheMonitor, Head, Pause, PrefixChain, Reading, plan_marks
from perdure.kernel.cache.chain import last_markable
from perdure.kernel.context import Ledger, Projection
from perdure.kernel.messages import Mark, Message, Request, Transcript, Usage
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value
from perdure.kernel.wire import Codec


@value
class Resting:
    """A conversation between two runs: what a ping has to repeat, and what tells whether one pays."""

    ask: Ask
    """The last question."""
    pause: Pause
    gaps: tuple[float, ...]
    """The pauses between requests so far, in seconds, the newest last."""


@value
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
        self._requests = Requests(profile)
        self._pinged: float | None = None
        self._last: float | None = None
        self._asked: tuple[Ask, float] | None = None
        self._pair: tuple[Request | None, Request | None] = (None, None)

    def marked(
        self, ask: Ask, projection: Projection, transcript: Transcript, ledger: Ledger, *, now: float | None
    ) -> Ask:
        """The same question with the marks of this call, and the time of it noted."""
        chain = self._follow(ask)
        self._requests.follow(transcript)
        marks = plan_marks(
            chain,
            [True] * len(ask.system),
            frontier=projection.frontier - 1,
            previous=self._previous(chain, projection, transcript, ledger),
        )
        life = self._requests.next_life()
        if life == "1h":
            marks = tuple(replace(mark, ttl="1h") for mark in marks)
        seconds = seconds_of(life, self._profile)
        self._monitor = self._monitor.sent(chain, now or 0.0, seconds, edited=projection.changed)
        marked = replace(ask, marks=marks)
        self._asked, self._last = (marked, seconds), now
        return marked

    def warm_until(self, transcript: Transcript) -> float | None:
        """Until when the provider holds the last request's prefix, in Unix seconds; None where no time is known."""
        self._requests.follow(transcript)
        known = [until for until in (self._requests.warm_until, self._pinged) if until is not None]
        return max(known, default=None)

    def pinged(self, until: float) -> None:
        """A request of which the transcript knows nothing keeps the prefix alive until then."""
        self._pinged = until

    def resting(self) -> Resting | None:
        """The conversation as it rests; None where no time is known or nothing was asked yet."""
        if self._asked is None or self._last is None or self._chain is None:
            return None
        ask, life = self._asked
        pause = Pause(prefix=self._chain.tokens, started=self._last, life=life)
        return Resting(ask=ask, pause=pause, gaps=self._requests.next_gaps())

    def sent(self, request: Request) -> None:
        """What left, to compare a later one with."""
        self._pair = (self._pair[1], request)

    def answered(self, usage: Usage, codec: Codec) -> Seen:
        """What the provider's count says of the cache."""
        reading, self._monitor = self._monitor.answered(usage)
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

    def _previous(
        self, chain: PrefixChain, projection: Projection, transcript: Transcript, ledger: Ledger
    ) -> Mark | None:
        """Where the rolling mark of the last request that was answered stood, if the view still is what it was."""
        place = self._requests.place
        if place is None or moved_since(ledger, place):
            return None
        end = projection.view.messages.index_of(transcript[place - 1].id)
        last = None if end is None else last_markable(chain, chain.message_end(end), chain.overhead)
        return None if last is None else chain.mark_at(last)


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
