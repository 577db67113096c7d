"""The context engine: what to send, at every call of the model.

It knows when each rung acts and in which order. It must never know a file, a network, a clock or a product: its entries
are generators that take `now`, yield requests (`Archive`, `Append`, `Summarize` ...) and receive the answers; `drive`
and `drive_async` perform them. Whatever it decides follows from transcript, ledger, `now` and those answers, so an
engine made anew after a restart goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from perdure.kernel.context.breaker import breaker_of
from perdure.kernel.context.economics import cache_life
from perdure.kernel.context.editing import EditingRule, propose_editing
from perdure.kernel.context.edits import (
    LIGHT_EDITS,
    AnyCheckpoint,
    Attempt,
    Checkpoint,
    ClearThinking,
    ClearToolResult,
    Commit,
    NativeCheckpoint,
    PrefixChange,
    ReduceOutput,
    Revert,
    TrimText,
    Why,
)
from perdure.kernel.context.entering import propose_entering
from perdure.kernel.context.folding import Wish, fold
from perdure.kernel.context.gauge import Gauge, mass_of
from perdure.kernel.context.ledger import Ledger
from perdure.kernel.context.lighten import first_clearable, take, thinking_forbids, with_thinking
from perdure.kernel.context.ports import Answer, Entry, Need, Rewritten
from perdure.kernel.context.render import Renderer, View, render
from perdure.kernel.context.results import Projection, Scope, Snapshot
from perdure.kernel.context.settings import Limits, Settings
from perdure.kernel.context.situation import FoldStrategy, LightStrategy, Proposal
from perdure.kernel.context.squeeze import check_feasible, squeeze
from perdure.kernel.context.strategies.extractive import Extractive
from perdure.kernel.context.strategies.full_summary import FullSummary
from perdure.kernel.context.strategies.light_trim import LightTrim
from perdure.kernel.context.strategies.session_memory import SessionMemoryFold
from perdure.kernel.context.strategies.tool_results import ToolResults
from perdure.kernel.context.work import Book, Work
from perdure.kernel.errors import RevertRefused
from perdure.kernel.messages import (
    Block,
    RedactedThinking,
    Text,
    Thinking,
    Tool,
    Transcript,
    Unknown,
    running_loop,
    weigh_blocks,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import UNCALIBRATED, overhead_tokens

Projecting: TypeAlias = Generator[Need, Answer, Projection]
"""What every entry is: yields what it needs, receives the answers, and returns the projection."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs, from cheap and certain to dear and lossy. A new strategy is one file and one entry here."""

    light: tuple[LightStrategy, ...] = field(default_factory=lambda: (ToolResults(), LightTrim()))
    folds: tuple[FoldStrategy, ...] = field(default_factory=lambda: (SessionMemoryFold(), FullSummary(), Extractive()))


class Engine:
    """Keeps one session's requests valid, cheap and inside the window."""

    def __init__(
        self,
        profile: ModelProfile,
        settings: Settings | None = None,
        *,
        overhead: int = 0,
        ledger: Ledger | None = None,
        ladder: Ladder | None = None,
    ) -> None:
        """An engine for one session.

        Args:
            profile: The model that the requests go to.
            settings: Limits; None for `balanced`.
            overhead: Tokens of tools and system blocks; see `overhead_of`.
            ledger: The edits made so far, after a restart.
            ladder: The rungs; None for all of them.
        """
        self.settings = settings or Settings()
        self.ladder = ladder or Ladder()
        self.pins: tuple[str, ...] = ()
        """Statements of the user's that every checkpoint carries first."""
        self._book = Book(ledger or Ledger())
        self._gauge = Gauge(profile, overhead)
        self._renderer = Renderer()
        self._frontier: tuple[object, int] | None = None
        self._last: Projection | None = None
        self._last_entry: Entry | None = None

    @property
    def profile(self) -> ModelProfile:
        """The model."""
        return self._gauge.profile

    @property
    def ledger(self) -> Ledger:
        """Every edit made so far."""
        return self._book.ledger

    def project(self, transcript: Transcript, now: float | None) -> Projecting:
        """What to send as the next request. To be called before every model call.

        It changes no message and commits nothing: a checkpoint that it makes is provisional.

        Raises:
            Infeasible: fixed overhead and the current request alone exceed the window.
        """
        work = self._work(transcript, now, "project")
        if work.limits is not None:
            check_feasible(work, work.limits)
        yield from self._reduce_at_entry(work)
        limits = work.limits
        if limits is None:
            work.note("window_unknown")
        else:
            yield from self._ladder(work, limits)
        return (yield from self._finish(work))

    def compact(self, transcript: Transcript, reason: str, now: float | None) -> Projecting:
        """A checkpoint becomes the new baseline, because somebody asked.

        `reason` is what the user wants the summary to mind; empty for nothing in particular. Where nothing new can be
        folded, a provisional checkpoint is committed, or nothing changes and `notes` says so.
        """
        work = self._work(transcript, now, "compact")
        work.instructions = reason
        limits = work.limits
        if limits is None:
            work.note("window_unknown")
            return self._result(work)
        folded = yield from fold(work, limits, self.ladder.folds, Wish(why="asked", keep=limits.keep_tail, forced=True))
        checkpoint = work.ledger.in_force.checkpoint
        if not folded and checkpoint is not None and checkpoint is not work.ledger.in_force.committed:
            commit = Commit(id=work.next_id, reason=work.reason("asked", "asked"), edit_id=checkpoint.id)
            yield from work.enforce((commit,), (), None)
        return (yield from self._finish(work))

    def recover_overflow(self, transcript: Transcript, error: str, now: float | None) -> Projecting:
        """The provider said that the request is too long: a checkpoint, and what else it takes, for one retry.

        `error` is the provider's own message, for people.

        Raises:
            Infeasible: nothing is left that could be made smaller.
        """
        work = self._work(transcript, now, "recover_overflow")
        limits = work.limits
        if limits is None:
            work.note("window_unknown")
            return self._result(work)
        # The estimate was wrong, by how much nobody says: a quarter of the history has to go, whatever it thinks.
        enough = work.usage.upper - max(1, work.history() // 4)
        # Where the window is smaller than it is said to be, so is the tail that may stay.
        keep = min(limits.keep_tail, work.history() // 2)
        yield from fold(work, limits, self.ladder.folds, Wish(why="overflow", keep=keep, forced=True))
        limits = replace(limits, threshold=min(limits.threshold, enough))
        if work.usage.upper > limits.threshold:
            yield from squeeze(work, limits, "overflow")
        return (yield from self._finish(work))

    def edit_context(self, transcript: Transcript, rules: Sequence[EditingRule], now: float | None) -> Projecting:
        """Context editing with a provider's parameters, as sticky light edits."""
        work = self._work(transcript, now, "project")
        for rule in rules:
            limits = work.limits or _boundless(0)
            situation = work.situation(limits)
            proposals = propose_editing(situation, rule, work.usage.tokens)
            if proposals and not thinking_forbids(situation):
                batch = with_thinking(situation, proposals) if self.profile.binds_thinking else proposals
                yield from work.lighten(_distinct(batch), "editing", "asked")
        return (yield from self._finish(work))

    def sync(self, transcript: Transcript, ledger: Ledger) -> View:
        """Take over a session as it was stored: after a restore, a fork or a rewind."""
        self._book = Book(ledger)
        self._gauge = Gauge(self._gauge.profile, self._gauge.overhead)
        self._renderer = Renderer()
        self._frontier, self._last, self._last_entry = None, None, None
        self._gauge.follow(transcript, ledger)
        return self._renderer.view(transcript, ledger)

    def revert(self, transcript: Transcript, edit_id: str, now: float | None) -> Projecting:
        """Take an edit back. Thinking never comes back: its signature is bound to bytes that have moved on.

        Raises:
            RevertRefused: no such edit, one that cannot be taken back now, or the view would not fit with it.
        """
        work = self._work(transcript, now, "project")
        self._check_revert(work, edit_id)
        undo = Revert(id=work.next_id, reason=work.reason("asked", "asked"), edit_id=edit_id)
        trial = Gauge(work.profile, self._gauge.overhead)
        trial.follow(transcript, work.ledger.append(undo))
        size = trial.estimate().upper
        if work.limits is not None and size > work.limits.threshold:
            raise RevertRefused(
                f"without the edit {edit_id!r} the request would have {size} tokens, and {work.limits.threshold} fit; "
                f"recall the original instead"
            )
        yield from work.rewrite_prefix(undo, work.limits or _boundless(0))
        return (yield from self._finish(work))

    def prefix_changed(
        self, transcript: Transcript, profile: ModelProfile, overhead: int, now: float | None
    ) -> Projecting:
        """Tools, system blocks or the model changed: limits follow, and the ledger says what it cost."""
        work = self._work(transcript, now, "project")
        change = PrefixChange(
            id=work.next_id,
            reason=work.reason("asked", "asked"),
            part="tools" if profile.id == self.profile.id else "model",
            overhead=overhead,
            rewritten=work.usage.tokens,
        )
        self._gauge = Gauge(profile, overhead)
        yield from work.rewrite_prefix(change, work.limits or _boundless(0))
        work.measure_with(self._gauge)
        return (yield from self._finish(work))

    def view(self, transcript: Transcript) -> View:
        """What the edits so far leave of a transcript, without doing anything."""
        return self._renderer.view(transcript, self._book.ledger)

    def usage(self, transcript: Transcript) -> Projection:
        """The present estimate, without doing anything."""
        return self._result(self._work(transcript, None, "project"))

    def kept_warm(self, until: float | None) -> None:
        """The provider holds the prefix until this Unix time, by a mark of a longer life, or by a request of which the
        transcript knows nothing. None: as long as its shortest life says."""
        self._gauge.warm_until = until

    def snapshot(self, transcript: Transcript, now: float | None) -> Snapshot:
        """What a screen shows."""
        work = self._work(transcript, now, "project")
        lights = [edit for edits in work.ledger.in_force.lights.values() for edit in edits.values()]
        idle, last = work.gauge.idle(now), self._last
        return Snapshot(
            scope=_scope(last, self._last_entry, work.ledger.in_force.checkpoint),
            transcript_messages=len(transcript),
            view_messages=len(work.view.messages),
            checkpoints=sum(isinstance(edit, Checkpoint | NativeCheckpoint) for edit in work.ledger),
            cleared_results=sum(isinstance(edit, ClearToolResult) for edit in lights),
            reduced_outputs=sum(isinstance(edit, ReduceOutput) for edit in lights),
            trimmed_texts=sum(isinstance(edit, TrimText) for edit in lights),
            usage=work.usage,
            limits=work.limits,
            last_strategy=last.strategy if last else None,
            breaker_failures=breaker_of(work.ledger, self.settings.breaker_limit).failures,
            warm_for=None if idle is None else max(0.0, cache_life(self.profile) - idle, work.gauge.warm_for(now)),
        )

    def _work(self, transcript: Transcript, now: float | None, entry: Entry) -> Work:
        work = Work(
            transcript,
            now,
            book=self._book,
            gauge=self._gauge,
            renderer=self._renderer,
            settings=self.settings,
        )
        work.pins, work.entry = self.pins, entry
        return work

    def _check_revert(self, work: Work, edit_id: str) -> None:
        edit = work.ledger.find(edit_id)
        if edit is None:
            raise RevertRefused(f"there is no edit {edit_id!r}; the loss report lists those that there are")
        if edit_id in work.ledger.in_force.reverted:
            raise RevertRefused(f"the edit {edit_id!r} was taken back already")
        if isinstance(edit, ClearThinking):
            raise RevertRefused(
                f"the edit {edit_id!r} cleared thinking, whose signature is bound to what stood before it; "
                f"recall it by its handle instead"
            )
        if isinstance(edit, Attempt | Commit | PrefixChange | Revert):
            raise RevertRefused(f"the edit {edit_id!r} took nothing out of the view, so there is nothing to bring back")
        if work.limits is not None and thinking_forbids(work.situation(work.limits)):
            raise RevertRefused(
                f"the edit {edit_id!r} stands before thinking that is bound to it; take it back in the next turn"
            )

    def _reduce_at_entry(self, work: Work) -> Generator[Need, Answer, None]:
        """Outputs that no request has carried yet cost no cache to reduce."""
        limit = work.limits.entry_limit if work.limits is not None else self.settings.entry_limit
        if limit is None:
            return
        situation = work.situation(work.limits or _boundless(limit))
        proposals = tuple(propose_entering(situation, limit, _reductions_taken_back(work.ledger)))
        if proposals:
            yield from work.lighten(proposals, "entry_reduction", "entry")

    def _ladder(self, work: Work, limits: Limits) -> Generator[Need, Answer, None]:
        """The rungs, each at its own point."""
        if work.cold:
            yield from self._light(work, limits, "cold", floor=self.settings.batch_floor)
        if work.usage.upper > limits.clear_at:
            yield from self._light(work, limits, "clear_point", floor=limits.batch_floor)
        if work.usage.upper > limits.fold_at:
            why: Why = "fold_point" if work.usage.upper <= limits.threshold else "threshold"
            yield from fold(work, limits, self.ladder.folds, Wish(why=why, keep=limits.keep_tail))
        if work.usage.upper > limits.threshold:
            yield from squeeze(work, limits, "threshold")

    def _light(self, work: Work, limits: Limits, why: Why, floor: int) -> Generator[Need, Answer, None]:
        """Light rungs down to the low water; when the cache is cold, everything but the newest."""
        situation = work.situation(limits)
        if thinking_forbids(situation):
            return
        aim = work.history() if why == "cold" else int(work.history() * (1 - self.settings.low_water))
        for strategy in self.ladder.light:
            if aim <= 0 or (why == "cold" and strategy is not self.ladder.light[0]):
                return
            if why != "cold" and work.guard.rests(strategy.name, work.grown):
                continue
            situation = work.situation(limits)
            taken = take(strategy.propose(situation), aim, min(floor, limits.batch_floor))
            batch = with_thinking(situation, taken)
            if not batch:
                if why != "cold":
                    yield from work.no_progress(strategy.name, why, f"frees less than {limits.batch_floor} tokens")
                continue
            if (yield from work.lighten(batch, strategy.name, why)):
                aim -= sum(proposal.saved for proposal in batch)

    def _finish(self, work: Work) -> Projecting:
        """Tell the host what moved, and give the result."""
        result = self._result(work)
        if result.changed:
            yield Rewritten(
                entry=work.entry,
                strategy=result.strategy,
                reason=result.why or "asked",
                changed=True,
                tokens_before=result.tokens_before,
                tokens_after=result.tokens_after,
            )
        self._last, self._last_entry = result, work.entry
        return result

    def _result(self, work: Work) -> Projection:
        notes = list(work.notes)
        if _needs_drop_block(work):
            notes.append("drop_block_needed")
        return Projection(
            view=work.view,
            usage=work.usage,
            limits=work.limits,
            edits=tuple(work.made),
            steps=tuple(work.steps),
            lost=tuple(work.lost),
            notes=tuple(notes),
            compacted_count=work.folded,
            kept_count=len(work.view.messages) - work.view.tail,
            split_turn=work.split_turn,
            frontier=self._frontier_of(work),
        )

    def _prior(self, blocks: tuple[Block, ...]) -> int:
        return mass_of(weigh_blocks(blocks), self.profile).tokens(UNCALIBRATED)

    def _frontier_of(self, work: Work) -> int:
        """Worked out anew whenever an edit came into force; in between it stands still. It is what it was then, by
        priors that no later count moves, also where a stored session is found with messages behind that edit."""
        in_force = work.ledger.in_force
        if self._frontier is not None and self._frontier[0] is in_force:
            return self._frontier[1]
        settled = _settled_at(work)
        place = 0
        if work.limits is not None:
            situation = replace(work.situation(work.limits), weigh=self._prior)
            place = first_clearable(situation, len(work.transcript) if settled is None else settled)
        # Before the first answer more may still come, and who looks on must not settle where it stands.
        if settled is not None:
            self._frontier = (in_force, place)
        return place


def _settled_at(work: Work) -> int | None:
    """The length of the transcript when the newest edit came into force, or when the first request was made that was
    answered; None before."""
    moved = (edit for edit in reversed(work.ledger) if not isinstance(edit, Attempt | PrefixChange))
    newest = next(moved, None)
    if newest is not None:
        return newest.reason.at
    answers = (place for place, message in enumerate(work.transcript) if message.role == "assistant")
    return next(answers, None)


def overhead_of(profile: ModelProfile, *, system: Sequence[Text | Unknown] = (), tools: Sequence[Tool] = ()) -> int:
    """Tokens of the fixed overhead of a conversation, by the model's priors."""
    return overhead_tokens(tools, system, profile)


def view_of(transcript: Transcript, ledger: Ledger) -> View:
    """The view of a stored session, by nothing but its transcript and ledger."""
    return render(transcript, ledger)


def _reductions_taken_back(ledger: Ledger) -> frozenset[str]:
    """The handles of outputs that somebody wants to see whole."""
    reverted = ledger.in_force.reverted
    if not reverted:
        return frozenset()
    return frozenset(
        edit.handle
        for edit in ledger
        if isinstance(edit, LIGHT_EDITS) and edit.reason.rung == "entry_reduction" and edit.id in reverted
    )


def _distinct(proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """Each target once."""
    return tuple({(proposal.message_id, proposal.kind, proposal.ref): proposal for proposal in proposals}.values())


def _needs_drop_block(work: Work) -> bool:
    """Whether kept thinking stands behind an edit that was made after it."""
    if not work.profile.binds_thinking:
        return False
    moved = (edit for edit in reversed(work.ledger) if not isinstance(edit, Attempt | Commit))
    newest = next((edit.reason.at for edit in moved if edit.reason.why != "entry"), 0)
    loop = running_loop(work.transcript)
    return any(
        isinstance(block, Thinking | RedactedThinking)
        for message in work.transcript[loop:newest]
        if work.view.messages.index_of(message.id) is not None
        for block in message.content
    )


def _scope(last: Projection | None, entry: Entry | None, checkpoint: AnyCheckpoint | None) -> Scope:
    if last is None or not last.changed:
        if last is not None and "circuit_breaker" in last.notes:
            return "skipped"
        return "committed" if checkpoint is not None and not checkpoint.provisional else "baseline"
    if entry == "recover_overflow":
        return "recovered"
    return "committed" if entry == "compact" else "projected"


def _boundless(limit: int) -> Limits:
    """Limits for a window that nobody knows: only what reduction at entry looks at has a meaning."""
    return Limits(
        window=0,
        reserve=0,
        threshold=0,
        overhead=0,
        clear_at=0,
        fold_at=0,
        keep_tail=0,
        checkpoint_size=0,
        batch_floor=0,
        entry_limit=limit,
        trim_over=0,
    )
