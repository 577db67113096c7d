"""One call of an entry: what it sees, what it has done so far, and how an edit comes into force.

It knows the order that nothing may break: archive, then log, then ledger, then render. It must never know which rung
it serves.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from perdure.kernel.context.breaker import Breaker, Guard, breaker_of, guard_of
from perdure.kernel.context.economics import best_growth, is_cold, price_of
from perdure.kernel.context.edits import LIGHT_EDITS, Attempt, Edit, PrefixChange, Reason, Revert, Rung, Why
from perdure.kernel.context.gauge import Gauge, mass_of, text_mass
from perdure.kernel.context.ledger import Ledger
from perdure.kernel.context.lighten import closed_thinking, edits_of, originals_of
from perdure.kernel.context.ports import Answer, Append, Archive, Entry, Need, Original, Refused
from perdure.kernel.context.render import Renderer, View
from perdure.kernel.context.results import Lost, Note, Price, Step
from perdure.kernel.context.settings import Limits, Settings, limits_of
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.messages import Block, Transcript, weigh_blocks
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import Estimate


class Book:
    """Where an engine keeps its ledger: what is durable is in it at once, also when the call that made it fails."""

    __slots__ = ("ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger


class Work:
    """One call of an entry on one session."""

    def __init__(
        self,
        transcript: Transcript,
        now: float | None,
        *,
        book: Book,
        gauge: Gauge,
        renderer: Renderer,
        settings: Settings,
    ) -> None:
        self.transcript = transcript
        self.gauge = gauge
        self.settings = settings
        self.now = now
        self.pins: tuple[str, ...] = ()
        """Statements that every checkpoint carries first."""
        self.instructions = ""
        """What the user asked a summary to mind."""
        self.entry: Entry = "project"
        self.folded = 0
        """Messages that new checkpoints folded."""
        self.split_turn = False
        self._book = book
        self._renderer = renderer
        gauge.follow(transcript, book.ledger)
        self.view: View = renderer.view(transcript, book.ledger)
        self.limits: Limits | None = self._limits()
        self.steps: list[Step] = []
        self.lost: list[Lost] = []
        self.notes: list[Note] = []
        self.refusal = ""
        """What log or archive said when they last refused an edit; empty where they took each."""
        self.made: list[Edit] = []

    @property
    def ledger(self) -> Ledger:
        """Every edit made so far."""
        return self._book.ledger

    @property
    def profile(self) -> ModelProfile:
        """The model."""
        return self.gauge.profile

    @property
    def usage(self) -> Estimate:
        """The size of the request as the view stands."""
        return self.gauge.estimate()

    @property
    def cold(self) -> bool:
        """Whether the provider has lost the prefix."""
        return is_cold(self.profile, self.gauge.idle(self.now)) and not self.gauge.warm_for(self.now)

    @property
    def breaker(self) -> Breaker:
        """The summarizer's breaker."""
        return breaker_of(self.ledger, self.settings.breaker_limit)

    @property
    def guard(self) -> Guard:
        """The progress guard."""
        return guard_of(self.ledger)

    @property
    def grown(self) -> int:
        """Tokens of the whole transcript: the clock of the progress guard."""
        return self.gauge.tokens(self.gauge.total)

    @property
    def overhead(self) -> int:
        """Tokens of the fixed overhead: tools and system blocks, and what system and developer say at the head."""
        head = self.view.messages.weight(0, self.view.head)
        return self.gauge.overhead + self.gauge.tokens(mass_of(head, self.profile))

    @property
    def next_id(self) -> str:
        """The id of the next edit."""
        return f"e{self.ledger.next_number}"

    def history(self) -> int:
        """Tokens of the request above the fixed overhead, error margin included."""
        return max(0, self.usage.upper - self.overhead)

    def situation(self, limits: Limits) -> Situation:
        """What a strategy is told."""
        return Situation(
            transcript=self.transcript,
            view=self.view,
            in_force=self.ledger.in_force,
            limits=limits,
            settings=self.settings,
            profile=self.profile,
            measure=self.measure,
            weigh=self.weigh,
        )

    def measure(self, text: str) -> int:
        """Tokens of a text, as calibrated so far."""
        return self.gauge.tokens(text_mass(text, self.profile))

    def weigh(self, blocks: tuple[Block, ...]) -> int:
        """Tokens of some blocks, as calibrated so far."""
        return self.gauge.tokens(mass_of(weigh_blocks(blocks), self.profile))

    def behind(self, place: int) -> int:
        """Tokens of the view from a position on: what a change there makes the provider write again."""
        return self.gauge.tokens(mass_of(self.view.messages.weight(max(0, place)), self.profile))

    def reason(self, rung: Rung, why: Why) -> Reason:
        """The reason of a batch that is planned now."""
        return Reason(rung=rung, why=why, at=len(self.transcript), time=self.now, batch=f"b{self.ledger.next_number}")

    def lighten(self, proposals: Sequence[Proposal], rung: Rung, why: Why) -> Generator[Need, Answer, bool]:
        """Bring a batch of light edits into force. Says whether it did."""
        first = min(proposal.place for proposal in proposals)
        rewritten = self.behind(first) if why != "entry" else 0
        price = price_of(
            self.profile,
            rewritten=max(0, rewritten - sum(proposal.saved for proposal in proposals)),
            saved=sum(proposal.saved for proposal in proposals),
            cold=self.cold or why == "entry",
        )
        edits = edits_of(proposals, self.reason(rung, why), self.ledger.next_number)
        originals = originals_of(proposals, lambda proposal: self.weigh(proposal.original))
        return (yield from self.enforce(edits, originals, price))

    def enforce(
        self, edits: Sequence[Edit], originals: tuple[Original, ...], price: Price | None
    ) -> Generator[Need, Answer, bool]:
        """Archive, log, ledger, render. A refusal at any step leaves the view as it was."""
        before = self.usage.tokens
        reason = edits[0].reason
        if originals and (yield from self._refused(Archive(originals=originals), "archive_refused", reason)):
            return False
        if (yield from self._refused(Append(edits=tuple(edits)), "log_refused", reason)):
            return False
        self.adopt(edits)
        # What was reduced before has left in part already: it is the rest that leaves now.
        saved = {edit.handle: edit.saved for edit in edits if isinstance(edit, LIGHT_EDITS)}
        self.lost += [
            Lost(
                handle=original.handle,
                message_id=original.message_id,
                what=original.what,
                tokens=saved.get(original.handle, original.tokens),
                rung=reason.rung,
            )
            for original in originals
        ]
        self._step(reason, before, price)
        return True

    def rewrite_prefix(self, edit: Revert | PrefixChange, limits: Limits) -> Generator[Need, Answer, bool]:
        """Bring an edit into force that moves every byte, together with what thinking is bound to those bytes."""
        reason = edit.reason
        proposals = tuple(closed_thinking(self.situation(limits))) if self.profile.binds_thinking else ()
        cleared = edits_of(proposals, reason, self.ledger.next_number + 1)
        originals = originals_of(proposals, lambda proposal: self.weigh(proposal.original))
        return (yield from self.enforce((edit, *cleared), originals, None))

    def measure_with(self, gauge: Gauge) -> None:
        """Go on under another gauge: the model or the fixed overhead changed."""
        gauge.follow(self.transcript, self.ledger)
        self.gauge = gauge
        self.limits = self._limits()

    def adopt(self, edits: Sequence[Edit]) -> None:
        """Put edits that are durable into the ledger, and render anew."""
        self._book.ledger = self.ledger.append(*edits)
        self.made += edits
        self.gauge.follow(self.transcript, self.ledger)
        self.view = self._renderer.view(self.transcript, self.ledger)

    def attempt(self, attempt: Attempt) -> Generator[Need, Answer, None]:
        """Record something that changed nothing. If the log refuses even that, the attempt holds for this process."""
        yield Append(edits=(attempt,))
        self.adopt((attempt,))

    def no_progress(self, rung: Rung, why: Why, detail: str) -> Generator[Need, Answer, None]:
        """Record that a rung made no progress: it rests until the transcript has grown by a part of the window."""
        window = self.limits.window if self.limits is not None else 0
        self.note("no_progress")
        self.unchanged(rung, why, detail)
        yield from self.attempt(
            Attempt(
                id=self.next_id,
                reason=self.reason(rung, why),
                outcome="no_progress",
                detail=detail,
                rests_until=self.grown + int(window * self.settings.retry_growth),
            )
        )

    def unchanged(self, rung: Rung, why: Why, note: str) -> None:
        """Report a rung that changed nothing, and why."""
        tokens = self.usage.tokens
        self.steps.append(Step(rung=rung, why=why, changed=False, tokens_before=tokens, tokens_after=tokens, note=note))

    def note(self, note: Note) -> None:
        """Tell the host something, once."""
        if note not in self.notes:
            self.notes.append(note)

    def _step(self, reason: Reason, before: int, price: Price | None) -> None:
        after = self.usage.tokens
        self.steps.append(
            Step(
                rung=reason.rung,
                why=reason.why,
                changed=True,
                tokens_before=before,
                tokens_after=after,
                price=price,
            )
        )

    def _refused(self, need: Archive | Append, note: Note, reason: Reason) -> Generator[Need, Answer, bool]:
        answer = yield need
        if not isinstance(answer, Refused):
            return False
        self.note(note)
        self.refusal = answer.reason
        self.unchanged(reason.rung, reason.why, answer.reason)
        return True

    def _limits(self) -> Limits | None:
        limits = limits_of(self.settings, self.profile, self.overhead)
        if limits is None or self.settings.fold_growth != "auto":
            return limits
        growth = best_growth(
            self.profile,
            context=self.usage.tokens,
            kept=limits.checkpoint_size + limits.keep_tail,
            per_request=self.gauge.growth,
        )
        return limits_of(self.settings, self.profile, self.overhead, growth)
