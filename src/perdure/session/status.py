"""What a screen shows of a session: sizes, warmth, costs; what the context is made of, and what left it and why.

It knows values for people. It must never change anything, nor look at more than what is new since it looked last: a
status is asked for at every event.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.context import Attempt, Checkpoint, Commit, Edit, Limits, NativeCheckpoint, PrefixChange, Revert
from perdure.kernel.context import Price as EditPrice
from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.economics import is_cold, price_of
from perdure.kernel.context.edits import LIGHT_EDITS, Rung, Why
from perdure.kernel.messages import Transcript, weigh
from perdure.kernel.tokens import tokens_of
from perdure.kernel.value import value
from perdure.session.costs import saved_usd
from perdure.session.session import Session

NO_EDIT = (Attempt, Commit, PrefixChange, Revert)
"""Entries of a ledger that take nothing out of the view."""


@value
class Status:
    """A session at a glance. Sizes are in tokens; `fixed`, `cached` and `fresh` add up to the next request."""

    model: str
    window: int | None
    """None where nobody knows it."""
    fixed: int
    """Tools and system blocks."""
    cached: int
    """What the provider should read of the rest, were the request sent now. What stands behind an edit that no answer
    has counted yet is none of it."""
    fresh: int
    """What it has to write or read anew."""
    reserve: int
    """Kept free for the answer; 0 where the window is not known."""
    until_edit: int | None
    """What the view may still grow by before an edit is due; None where the window is not known."""
    warm_for: float | None
    """Seconds that the provider still holds the prefix; 0 when cold, None where that is not known."""
    usd: float
    """So far, with summaries, subagents and former processes, as far as prices are known."""
    saved_usd: float | None
    """Against append-only up to where that would have overflowed, by `perdure.session.costs.Tally`: an estimate that
    takes our own requests and adds what edits had taken out of each. None where the model has no published price."""
    turns: int
    """Messages that the user typed."""
    answers: int
    """Answers of the model."""
    mode: str
    """`plan` where only a plan is wanted, else `work`."""

    @property
    def tokens(self) -> int:
        """The next request as it stands."""
        return self.fixed + self.cached + self.fresh


@value
class Reasons:
    """The newest edit: what was done, why, and whether it pays."""

    rung: Rung
    why: Why
    tokens_before: int
    """Of the request before the edit, estimated."""
    tokens_after: int
    """Of the request behind it, as the provider counted it, or as estimated where no answer came yet."""
    price: EditPrice
    """Its `payback` says after how many further requests the edit has earned its cost."""
    left: tuple[Loss, ...]
    """What it took out of the view."""


@value
class Loss:
    """One thing that left the view, or that was taken back since."""

    edit_id: str
    """For `Session.expand`."""
    handle: str
    """For `Session.recall`."""
    what: str
    tokens: int
    """By which the view became smaller."""
    rung: Rung
    time: float | None
    back: bool
    """Whether it stands in the view again."""


def status_of(session: Session, now: float | None) -> Status:
    """What a status line shows. Costs what is new since the last call: below a millisecond."""
    engine, profile = session.agent.engine, session.model.profile
    transcript = session.transcript
    usage = engine.usage(transcript)
    tally = session.tally
    tally.follow(transcript, engine.ledger)
    # Who answered twice, the second time on what it had read before, and tells of no cache has none to count on.
    silent = tally.counted > 1 and not tally.cached
    warm = None if silent else engine.snapshot(transcript, now).warm_for
    fixed = min(session.fixed, usage.usage.tokens)
    cached = min(_held(session), usage.usage.tokens) - fixed if warm != 0.0 and not silent else 0
    limits = usage.limits
    return Status(
        model=profile.id,
        window=profile.window.tokens,
        fixed=fixed,
        cached=max(0, cached),
        fresh=usage.usage.tokens - fixed - max(0, cached),
        reserve=limits.reserve if limits is not None else 0,
        until_edit=None if limits is None else _until(limits, usage.usage.upper),
        warm_for=warm,
        usd=session.costs.usd,
        saved_usd=saved_usd(tally, session.costs.beside, profile),
        turns=tally.typed,
        answers=tally.answers,
        mode="plan" if session.spec.planning() else "work",
    )


def why_of(session: Session) -> Reasons | None:
    """The newest edit that took something out of the view; None where there is none."""
    ledger = session.agent.engine.ledger
    newest = next((edit for edit in reversed(ledger) if not isinstance(edit, NO_EDIT)), None)
    if newest is None:
        return None
    batch = [edit for edit in ledger if edit.reason.batch == newest.reason.batch and not isinstance(edit, NO_EDIT)]
    saved = sum(edit.saved for edit in batch if not isinstance(edit, NO_EDIT))
    after = _counted_behind(session.transcript, newest.reason.at)
    if after is None:
        after = session.agent.engine.usage(session.transcript).usage.tokens
    before = next((edit.tokens_before for edit in batch if isinstance(edit, Checkpoint | NativeCheckpoint)), None)
    return Reasons(
        rung=newest.reason.rung,
        why=newest.reason.why,
        tokens_before=before if before is not None else after + saved,
        tokens_after=after,
        price=_price(session, batch, saved),
        left=tuple(loss for loss in losses_of(session) if loss.edit_id in {edit.id for edit in batch}),
    )


def losses_of(session: Session) -> tuple[Loss, ...]:
    """Everything that edits took out of the view, the newest first."""
    ledger, transcript = session.agent.engine.ledger, session.transcript
    reverted = ledger.in_force.reverted
    calls = call_names(transcript)
    losses: list[Loss] = []
    start = 0
    for edit in ledger:
        match edit:
            case Attempt() | Commit() | PrefixChange() | Revert():
                continue
            case Checkpoint(covers_until=last) | NativeCheckpoint(covers_until=last):
                end = (transcript.index_of(last) or 0) + 1
                what, start = f"messages {start + 1} to {end}", end
            case _:
                use = calls.get(getattr(edit, "tool_use_id", ""))
                what = describe_call(use) if use is not None else _part_of(edit)
        losses.append(
            Loss(
                edit_id=edit.id,
                handle=edit.handle,
                what=what,
                tokens=edit.saved,
                rung=edit.reason.rung,
                time=edit.reason.time,
                back=edit.id in reverted,
            )
        )
    return tuple(reversed(losses))


def _part_of(edit: Edit) -> str:
    return "thinking" if type(edit).__name__ == "ClearThinking" else "text"


def _until(limits: Limits, upper: int) -> int:
    """The nearest point at which a rung acts that is not passed yet."""
    ahead = [point - upper for point in (limits.clear_at, limits.fold_at, limits.threshold) if point > upper]
    return min(ahead, default=0)


def _held(session: Session) -> int:
    """Tokens that the provider holds of the view: the last request whole, or its fixed part behind a later edit."""
    newest, place = session.tally.newest, session.tally.newest_at
    if newest is None or newest.usage is None:
        return 0
    ledger = session.agent.engine.ledger
    moved = next((edit for edit in reversed(ledger) if not isinstance(edit, Attempt | Commit)), None)
    if moved is not None and moved.reason.at > place:
        return session.fixed
    usage = newest.usage
    marked = usage.cache_read_tokens + usage.cache_write_tokens
    return marked if session.model.profile.cache.max_marks else usage.prompt_tokens


def _counted_behind(transcript: Transcript, at: int) -> int | None:
    """What the provider counted for the first request behind a place."""
    for message in transcript[at:]:
        if message.role == "assistant":
            return message.usage.prompt_tokens if message.usage is not None else None
    return None


def _price(session: Session, batch: Sequence[Edit], saved: int) -> EditPrice:
    """The price of a batch, from what stands in transcript and ledger: the same after a resume."""
    transcript, profile = session.transcript, session.model.profile
    reason = batch[0].reason
    places = [transcript.index_of(edit.message_id) for edit in batch if isinstance(edit, LIGHT_EDITS)]
    folds = [edit for edit in batch if isinstance(edit, Checkpoint | NativeCheckpoint)]
    covered = [transcript.index_of(edit.covers_until) for edit in folds]
    first = min((place for place in (*places, *covered) if place is not None), default=reason.at)
    behind = sum(tokens_of(weigh(message), profile) for message in transcript[first : reason.at])
    for fold in folds:
        behind += sum(tokens_of(weigh(message), profile) for message in fold.after)
    last = max((message.time for message in transcript[: reason.at] if message.time is not None), default=None)
    idle = None if reason.time is None or last is None else reason.time - last
    asked = folds[0].tokens_before if folds and reason.rung == "full_summary" else 0
    rewritten = max(0, behind - (0 if folds else saved)) if reason.why != "entry" else 0
    return price_of(profile, rewritten=rewritten, saved=saved, cold=is_cold(profile, idle), asked=asked)
