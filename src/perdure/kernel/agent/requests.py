"""What a transcript tells of the requests that its answers answer: when each began, where it ended, how long its marks
live.

It knows messages, times and the provider's counts. It must never know a request: whoever goes on with a transcript, the
process that wrote it or one that found it on the disk, finds the same here, and so sets the same marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.context import Attempt, Commit, Ledger, PrefixChange
from perdure.kernel.messages import Message, Transcript, Ttl
from perdure.kernel.models import ModelProfile

SHORT, LONG = 300.0, 3_600.0
"""Seconds of the two lives that a mark can be given (Anthropic, prompt caching guide, 2026-08)."""

GAPS = 50
"""How many of the newest pauses between calls tell what the next one will be like."""


class Requests:
    """Follows one conversation. A request begins at the time of the last message that it carries."""

    def __init__(self, profile: ModelProfile) -> None:
        self._profile = profile
        self._begin()

    def _begin(self) -> None:
        self.started: float | None = None
        """When the last request that was answered began, in Unix seconds."""
        self.place: int | None = None
        """Where in the transcript the newest answer stands."""
        self._gaps: tuple[float, ...] = ()
        self._prefix, self._grown = 0, 0
        self._life: Ttl = "5m"
        self._seen = 0
        self._last: Message | None = None

    def follow(self, transcript: Transcript) -> None:
        """Take in what is new; all of it, where the conversation went back."""
        if self._seen and (len(transcript) < self._seen or transcript[self._seen - 1] is not self._last):
            self._begin()
        for message in transcript[self._seen :]:
            if message.role == "assistant" and self._seen:
                self._answered(message, self._last)
            self._last = message
            self._seen += 1

    def next_gaps(self) -> tuple[float, ...]:
        """The pauses before each request so far, and before the one that would be sent now; in seconds."""
        return self._with(self._last.time if self._last is not None else None)

    def next_life(self) -> Ttl:
        """The life of the rolling mark of the request that would be sent now."""
        return choose_life(self.next_gaps(), self._prefix, self._grown, self._profile)

    @property
    def warm_until(self) -> float | None:
        """Until when the provider holds the last request's prefix, in Unix seconds; None where no time is known."""
        return None if self.started is None else self.started + seconds_of(self._life, self._profile)

    def _answered(self, message: Message, before: Message | None) -> None:
        start = before.time if before is not None else None
        gaps = self._with(start)
        self._life = choose_life(gaps, self._prefix, self._grown, self._profile)
        self._gaps, self.place = gaps, self._seen
        self.started = self.started if start is None else start
        if message.usage is not None:
            self._prefix = message.usage.prompt_tokens
            self._grown = message.usage.cache_write_tokens + message.usage.input_tokens

    def _with(self, start: float | None) -> tuple[float, ...]:
        if start is None or self.started is None:
            return self._gaps
        return (*self._gaps[1 - GAPS :], max(0.0, start - self.started))


def moved_since(ledger: Ledger, place: int) -> bool:
    """Whether an edit moved the view behind the answer at this place of the transcript. What was reduced before its
    first send moved nothing that a request had carried."""
    for edit in reversed(ledger):
        if edit.reason.at <= place:
            return False
        if not isinstance(edit, Attempt | Commit | PrefixChange) and edit.reason.why != "entry":
            return True
    return False


def seconds_of(life: Ttl, profile: ModelProfile) -> float:
    """How long an entry with a mark of this life lives."""
    if life == "1h":
        return LONG
    lives = profile.cache.lives
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
