"""How large the view is, and how warm: followed through a session, message by message and edit by edit.

It knows sizes and times. It must never plan an edit. Everything here follows from transcript and ledger alone, so an
engine that is made anew after a restart measures what the one before it measured. Sizes are kept as whole
thousandths of a token of the model's prior, since sums of floats depend on their order and this must not.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from perdure.kernel.context.edits import LIGHT_EDITS, Checkpoint, Edit, NativeCheckpoint, PrefixChange, Revert
from perdure.kernel.context.ledger import InForce, Ledger
from perdure.kernel.context.render import head_of, opening_of, render_message
from perdure.kernel.messages import Message, Transcript, Weight, weigh, weigh_text
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import UNCALIBRATED, Calibration, Estimate, margin_of, text_tokens, tokens_of_media
from perdure.kernel.value import value


@value
class Mass:
    """The size of some content before calibration."""

    text: int = 0
    """Thousandths of a token, by the model's prior."""
    media: int = 0
    """Tokens, by the provider's formulas; calibration leaves them alone."""
    blocks: int = 0
    """Blocks, whose framing is a part of the error."""

    def __add__(self, other: Mass) -> Mass:
        return Mass(text=self.text + other.text, media=self.media + other.media, blocks=self.blocks + other.blocks)

    def __sub__(self, other: Mass) -> Mass:
        return Mass(text=self.text - other.text, media=self.media - other.media, blocks=self.blocks - other.blocks)

    def tokens(self, calibration: Calibration) -> int:
        """The size in tokens; negative for what was taken away."""
        return round(self.text * calibration.scale / 1000) + self.media


EMPTY = Mass()

IMPLAUSIBLE = 5
"""A count that the estimate exceeds by this factor is none of the whole view."""

IMPOSSIBLE = 50_000_000
"""Tokens that no model reads in one request; the largest windows have two million. A factor would not do for a bound
from above, since tools and system blocks may be hidden from us."""


def mass_of(weight: Weight, profile: ModelProfile) -> Mass:
    """The mass of a weight under a model's prior."""
    media = sum(tokens_of_media(item, profile) for item in weight.media)
    return Mass(text=round(text_tokens(weight, profile) * 1000), media=media, blocks=weight.blocks)


def message_mass(message: Message, profile: ModelProfile) -> Mass:
    """The mass of a message, worked out once for each model."""
    return message.keep(("mass", profile.id), lambda given: mass_of(weigh(given), profile))


@value
class Anchored:
    """The newest count of the provider's that still says something about the view."""

    tokens: int
    """The whole prompt, as counted."""
    mass: Mass
    """The view that it was counted for."""


class Gauge:
    """Follows one session and tells the size of its view."""

    def __init__(self, profile: ModelProfile, overhead: int) -> None:
        self.profile = profile
        self.overhead = overhead
        """Tokens of tools and system blocks, until the provider's own count includes them."""
        self.calibration: Calibration = UNCALIBRATED
        self.view = EMPTY
        """The mass of the view as it stands."""
        self.total = EMPTY
        """The mass of the whole transcript."""
        self.requests = 0
        """Responses since the last checkpoint, for the growth of a request."""
        self.base = EMPTY
        """The mass of the view right behind the last checkpoint."""
        self.last_request: float | None = None
        self.warm_until: float | None = None
        """When the last request was made: the time of the newest message that it carried."""
        self._anchor: Anchored | None = None
        self._sent: tuple[int, Mass] | None = None
        self._messages = 0
        self._edits = 0
        self._ledger = Ledger()
        self._in_force: InForce = self._ledger.in_force
        self._estimated: tuple[Mass, Anchored | None, Calibration, Estimate] | None = None
        """The last estimate of the whole view, and what it was made from."""

    def follow(self, transcript: Transcript, ledger: Ledger) -> None:
        """Take in what is new, in the order in which it happened."""
        edits = ledger[self._edits :]
        for message in transcript[self._messages :]:
            # A ledger's edits stand in the order in which they were planned.
            due = tuple(takewhile(self._is_due, edits))
            if due:
                self._edit(transcript, ledger, due)
                edits = edits[len(due) :]
            self._message(transcript, message)
        if edits:
            self._edit(transcript, ledger, edits)

    def _is_due(self, edit: Edit) -> bool:
        return edit.reason.at <= self._messages

    def estimate(self, extra: Mass = EMPTY) -> Estimate:
        """The size of the view, of which `extra` is added or taken away; fixed overhead included."""
        if extra is not EMPTY:
            return self._estimate(self.view + extra)
        known = self._estimated
        if (
            known is None
            or known[0] is not self.view
            or known[1] is not self._anchor
            or known[2] is not self.calibration
        ):
            known = self._estimated = (self.view, self._anchor, self.calibration, self._estimate(self.view))
        return known[3]

    def _estimate(self, mass: Mass) -> Estimate:
        if self._anchor is None:
            tokens = mass.tokens(self.calibration)
            margin = margin_of(tokens, mass.blocks, self.calibration)
            return Estimate(tokens=tokens + self.overhead, margin=margin)
        since = mass - self._anchor.mass
        change = since.tokens(self.calibration)
        margin = margin_of(abs(change), abs(since.blocks), self.calibration)
        return Estimate(tokens=max(0, self._anchor.tokens + change), margin=margin)

    def tokens(self, mass: Mass) -> int:
        """A mass in tokens, as calibrated so far."""
        return mass.tokens(self.calibration)

    def idle(self, now: float | None) -> float | None:
        """Seconds since the last request; None where either time is not known or nothing was sent yet."""
        if now is None or self.last_request is None:
            return None
        return max(0.0, now - self.last_request)

    def warm_for(self, now: float | None) -> float:
        """Seconds for which the prefix is known to live beyond its shortest life; 0 where nothing is known."""
        return 0.0 if now is None or self.warm_until is None else max(0.0, self.warm_until - now)

    @property
    def growth(self) -> int:
        """Tokens that one request adds to the history, on average since the last checkpoint."""
        grown = (self.view - self.base).tokens(self.calibration)
        return max(1, grown // max(1, self.requests))

    def _message(self, transcript: Transcript, message: Message) -> None:
        place = self._messages
        if message.role == "assistant" and not (place and transcript[place - 1].role == "assistant"):
            self.requests += 1
            if place and (sent := transcript[place - 1].time) is not None:
                self.last_request = sent
            if message.usage is not None:
                self._counted(message.usage.prompt_tokens)
        rendered = render_message(message, self._in_force)
        if rendered is not None:
            self.view += message_mass(rendered, self.profile)
        self.total += message_mass(message, self.profile)
        self._messages = place + 1

    def _counted(self, prompt: int) -> None:
        """The provider counted the view as it stands; of an answer that was broken off some tell nothing, or a rest."""
        if not 0 < prompt < IMPOSSIBLE or prompt * IMPLAUSIBLE < self.view.tokens(UNCALIBRATED):
            return
        if self._sent is not None:
            tokens, mass = self._sent
            appended = self.view - mass
            self.calibration = self.calibration.observe(appended.text / 1000, prompt - tokens - appended.media)
        self._anchor = Anchored(tokens=prompt, mass=self.view)
        self._sent = prompt, self.view

    def _edit(self, transcript: Transcript, ledger: Ledger, edits: tuple[Edit, ...]) -> None:
        self._edits += len(edits)
        known = ledger if self._edits == len(ledger) else self._ledger.append(*edits)
        self._ledger = known
        before, self._in_force = self._in_force, known.in_force
        for edit in edits:
            if isinstance(edit, PrefixChange):
                self._forget(edit)
        if any(isinstance(edit, Checkpoint | NativeCheckpoint | Revert) for edit in edits):
            self._refold(transcript)
            return
        touched = {edit.message_id for edit in edits if isinstance(edit, LIGHT_EDITS)}
        self._retouch(transcript, touched, before)

    def _forget(self, change: PrefixChange) -> None:
        """Counts so far hold another overhead, or are another tokenizer's."""
        self._anchor, self._sent = None, None
        if change.part == "model":
            self.calibration = UNCALIBRATED

    def _refold(self, transcript: Transcript) -> None:
        """A checkpoint came or went: no count so far says anything about the view."""
        checkpoint = self._in_force.checkpoint
        head = head_of(transcript)
        start = head
        if checkpoint is not None:
            last = transcript.index_of(checkpoint.covers_until)
            start = max(head, (last if last is not None else -1) + 1)
        self.view = self._sum(transcript[:head]) + self._sum(opening_of(checkpoint))
        for message in transcript[start : self._messages]:
            if (rendered := render_message(message, self._in_force)) is not None:
                self.view += message_mass(rendered, self.profile)
        self._anchor, self._sent = None, None
        self.base, self.requests = self.view, 0

    def _retouch(self, transcript: Transcript, touched: Iterable[str], before: InForce) -> None:
        """Light edits: the view is smaller by what each message lost; the anchor follows by the same difference."""
        checkpoint = self._in_force.checkpoint
        covered = transcript.index_of(checkpoint.covers_until) if checkpoint else None
        for message_id in touched:
            place = transcript.index_of(message_id)
            if place is None or place >= self._messages or (covered is not None and place <= covered):
                continue
            old = render_message(transcript[place], before)
            new = render_message(transcript[place], self._in_force)
            self.view -= message_mass(old, self.profile) if old else EMPTY
            self.view += message_mass(new, self.profile) if new else EMPTY
        # The next count belongs to another prefix than the last one: no difference to learn from.
        self._sent = None

    def _sum(self, messages: Iterable[Message]) -> Mass:
        total = EMPTY
        for message in messages:
            total += message_mass(message, self.profile)
        return total


def text_mass(text: str, profile: ModelProfile) -> Mass:
    """The mass of one piece of text."""
    return mass_of(weigh_text(text), profile)
