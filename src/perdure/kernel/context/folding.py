"""Checkpoints: which prefix is folded, which strategy writes the document, and how it comes into force.

It knows cuts, the breaker, the progress guard and what a checkpoint must bring. It must never know how a document is
written: the fold strategies do, one after the other, until one gives a document that is smaller than what it replaces.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from perdure.kernel.context.checkpoint import CheckpointDocument, Fold, Handle, render
from perdure.kernel.context.cut import Cut, Cuts, cut_at, find_cut
from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.economics import price_of
from perdure.kernel.context.edits import (
    Attempt,
    Checkpoint,
    ClearThinking,
    ClearToolInput,
    Edit,
    Outcome,
    TrimText,
    Why,
)
from perdure.kernel.context.gauge import mass_of
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.lighten import closed_thinking, edits_of, loop_thinks, unsent_from
from perdure.kernel.context.ports import Answer, Need, Original, Restore, Restored, Rewritten
from perdure.kernel.context.render import render_message
from perdure.kernel.context.settings import FOLD_MARGIN, Limits
from perdure.kernel.context.situation import Declined, Folding, FoldStrategy, Situation
from perdure.kernel.context.work import Work
from perdure.kernel.messages import Message, Transcript, weigh_blocks, weigh_text
from perdure.kernel.value import value

SUMMARY_FRAMING = 16
"""Tokens that the summary's own message costs beside its text."""


@value
class Wish:
    """What a caller wants of a fold."""

    why: Why
    keep: int
    """Tokens to keep verbatim; 0: only what the model has not seen yet."""
    forced: bool = False
    """Whether only strategies that may be forced are asked."""


def fold(work: Work, limits: Limits, strategies: Sequence[FoldStrategy], wish: Wish) -> Generator[Need, Answer, bool]:
    """Fold a prefix with the first strategy that can. Says whether the view changed."""
    situation = work.situation(limits)
    cut = choose_cut(work, situation, wish.keep)
    if cut is None:
        work.note("nothing_to_fold")
        return False
    folding = folding_of(work, situation, limits, cut)
    worthwhile = wish.forced or folding.replaced >= int(work.history() * work.settings.progress_floor)
    if not worthwhile and wish.why == "fold_point":
        work.note("nothing_to_fold")
        return False
    for strategy in strategies:
        if wish.forced and not strategy.forced:
            continue
        last = strategy is strategies[-1]
        if not last and (not worthwhile or work.guard.rests(strategy.name, work.grown)):
            continue
        if strategy.asks_model and work.breaker.open:
            yield from _skip(work, strategy, wish)
            continue
        written = yield from strategy.fold(situation, folding)
        if strategy.asks_model:
            yield from _count(work, strategy, wish, written)
        if isinstance(written, Declined):
            work.unchanged(strategy.name, wish.why, written.reason)
            continue
        if (yield from _install(work, limits, wish, _bid(work, strategy, last, folding, written))):
            return True
    return False


def choose_cut(work: Work, situation: Situation, keep: int) -> Cut | None:
    """Where to cut for a tail of about `keep` tokens; None where nothing new would be folded."""
    transcript, start = work.transcript, work.view.tail_start
    cuts = Cuts(transcript, start)
    profile = work.profile
    bound = profile.binds_thinking and not profile.offers("drop_block")
    if keep > 0:
        cut = _of_what_was_sent(
            find_cut(cuts, transcript, start, keep, lambda place: tail_tokens(work, place)), cuts, transcript, start
        )
        if cut is None or not (bound and loop_thinks(situation, cut.index)):
            return cut
    # Everything that can be folded: the words that the user has just typed stay, and so does an open round.
    end = len(transcript)
    if end and transcript[end - 1].is_typed and cuts.legal(end - 1):
        end -= 1
    else:
        end = cuts.last()
    return cut_at(transcript, end, start) if end > start else None


def _of_what_was_sent(cut: Cut | None, cuts: Cuts, transcript: Transcript, start: int) -> Cut | None:
    """The cut, moved back until nothing is folded that no request has carried yet; None where nothing is left then."""
    unsent = unsent_from(transcript)
    if cut is None or cut.index <= unsent:
        return cut
    place = cuts.before(unsent)
    return cut_at(transcript, place, start) if place > start else None


def tail_tokens(work: Work, place: int) -> int:
    """Tokens of the view from a position of the transcript to the end."""
    messages = work.view.messages
    for message in work.transcript[place:]:
        shown = messages.index_of(message.id)
        if shown is not None:
            return work.gauge.tokens(mass_of(messages.weight(shown), work.profile))
    return 0


def folding_of(work: Work, situation: Situation, limits: Limits, cut: Cut) -> Folding:
    """Everything that a strategy needs to write the document of this fold."""
    start, in_force = work.view.tail_start, work.ledger.in_force
    shown = [
        index
        for message in work.transcript[start : cut.index]
        if (index := work.view.messages.index_of(message.id)) is not None
    ]
    end = shown[-1] + 1 if shown else work.view.tail
    previous = in_force.checkpoint.document if in_force.checkpoint is not None else None
    replaced = mass_of(work.view.messages.weight(work.view.head, end), work.profile)
    folded = [_as_typed(message, situation) for message in work.transcript[start : cut.index]]
    return Folding(
        cut=cut,
        view_prefix=work.view.messages[:end],
        fold=Fold(
            folded=folded,
            previous=previous,
            pins=work.pins,
            handles=_handles(work, start, cut.index) if work.settings.recall_tool is not None else (),
            splits_turn=cut.split_turn,
        ),
        budget=limits.checkpoint_size,
        replaced=work.gauge.tokens(replaced),
        instructions=work.instructions,
    )


@value
class _Bid:
    """A document that a strategy offers for a folded prefix."""

    strategy: FoldStrategy
    last: bool
    """Whether it is the last rung, which no guard holds back."""
    folding: Folding
    document: CheckpointDocument
    content: str
    freed: int
    """Tokens by which the view becomes smaller."""


def _bid(work: Work, strategy: FoldStrategy, last: bool, folding: Folding, document: CheckpointDocument) -> _Bid:
    content = render(document)
    size = work.gauge.tokens(mass_of(weigh_text(content), work.profile)) + SUMMARY_FRAMING
    return _Bid(
        strategy=strategy,
        last=last,
        folding=folding,
        document=document,
        content=content,
        freed=folding.replaced - size,
    )


def _install(work: Work, limits: Limits, wish: Wish, bid: _Bid) -> Generator[Need, Answer, bool]:
    """Bring a document into force, if it frees enough."""
    folding = bid.folding
    least = 1 if bid.last else max(1, int(folding.replaced * work.settings.progress_floor))
    if bid.freed < least:
        detail = f"a checkpoint would free {bid.freed} of {folding.replaced} tokens"
        if bid.last:
            work.unchanged(bid.strategy.name, wish.why, detail)
        else:
            yield from work.no_progress(bid.strategy.name, wish.why, detail)
        return False
    room = max(0, _ceiling(limits) - work.usage.upper + bid.freed)
    tail = work.transcript[folding.cut.index :]
    answer = yield Restore(document=bid.document, tail=tail, room=room)
    after = _within(work, answer.messages if isinstance(answer, Restored) else (), tail, room)
    checkpoint = _checkpoint(work, wish, bid, after)
    edits: list[Edit] = [checkpoint, *_unbound(work, work.situation(limits), folding.cut, checkpoint)]
    price = price_of(
        work.profile,
        rewritten=work.usage.tokens - limits.overhead - bid.freed,
        saved=bid.freed,
        cold=work.cold,
        asked=folding.replaced if bid.strategy.asks_model else 0,
    )
    start = work.view.tail_start
    if not (yield from work.enforce(edits, (_folded(work, folding, checkpoint),), price)):
        return False
    work.folded += folding.cut.index - start
    work.split_turn = folding.cut.split_turn
    return True


def _ceiling(limits: Limits) -> int:
    """How large a view may be right behind a checkpoint. What is told again leaves room to work in before the next one:
    else it would be told again at each call."""
    return limits.fold_at - min(FOLD_MARGIN, limits.room // 4)


def _checkpoint(work: Work, wish: Wish, bid: _Bid, after: tuple[Message, ...]) -> Checkpoint:
    last_folded = work.transcript[bid.folding.cut.index - 1].id
    return Checkpoint(
        id=work.next_id,
        reason=work.reason(bid.strategy.name, wish.why),
        covers_until=last_folded,
        content=bid.content,
        document=bid.document,
        after=after,
        provisional=work.entry == "project" and not work.settings.commit_on_project,
        split_turn=bid.folding.cut.split_turn,
        handle=handle_of(last_folded, "through"),
        tokens_before=work.usage.tokens,
        saved=bid.freed,
    )


def _folded(work: Work, folding: Folding, checkpoint: Checkpoint) -> Original:
    """The folded messages, for the archive."""
    start = work.view.tail_start
    return Original(
        handle=checkpoint.handle,
        message_id=checkpoint.covers_until,
        what=f"messages {work.transcript[start].id} to {checkpoint.covers_until}",
        tokens=folding.replaced,
        messages=work.transcript[start : folding.cut.index],
    )


def _unbound(work: Work, situation: Situation, cut: Cut, checkpoint: Checkpoint) -> tuple[ClearThinking, ...]:
    """Where thinking is bound to its prefix, the kept tail loses that of all closed turns with the checkpoint."""
    if not work.profile.binds_thinking:
        return ()
    proposals = [
        proposal
        for proposal in closed_thinking(situation)
        if (index := work.transcript.index_of(proposal.message_id)) is not None and index >= cut.index
    ]
    edits = edits_of(proposals, checkpoint.reason, work.ledger.next_number + 1)
    return tuple(edit for edit in edits if isinstance(edit, ClearThinking))


def _within(work: Work, messages: Sequence[Message], tail: Sequence[Message], room: int) -> tuple[Message, ...]:
    """As many of the messages, from the first on, as fit. One that has the id of another in the view is passed over:
    once the checkpoint is durable, no view of the session could be made any more."""
    kept: list[Message] = []
    taken = {message.id for message in (*work.view.messages[: work.view.head], *tail)}
    for message in messages:
        if not message.id or message.id in taken:
            continue
        taken.add(message.id)
        room -= work.gauge.tokens(mass_of(weigh_blocks(message.content), work.profile))
        if room < 0:
            break
        kept.append(message)
    return tuple(kept)


def _skip(work: Work, strategy: FoldStrategy, wish: Wish) -> Generator[Need, Answer, None]:
    """The breaker is open: leave the model alone once, observably."""
    work.note("circuit_breaker")
    work.unchanged(strategy.name, wish.why, "circuit_breaker")
    yield from work.attempt(_attempt(work, strategy, wish, "skipped", "circuit_breaker"))
    yield Rewritten(
        entry=work.entry,
        strategy=None,
        reason="circuit_breaker",
        changed=False,
        tokens_before=work.usage.tokens,
        tokens_after=work.usage.tokens,
    )


def _count(
    work: Work, strategy: FoldStrategy, wish: Wish, written: CheckpointDocument | Declined
) -> Generator[Need, Answer, None]:
    """Failures of the model count, and only its success clears them."""
    if isinstance(written, Declined):
        if written.failed:
            yield from work.attempt(_attempt(work, strategy, wish, "model_failed", written.reason))
    elif work.breaker.failures:
        yield from work.attempt(_attempt(work, strategy, wish, "model_succeeded", ""))


def _attempt(work: Work, strategy: FoldStrategy, wish: Wish, outcome: Outcome, detail: str) -> Attempt:
    return Attempt(id=work.next_id, reason=work.reason(strategy.name, wish.why), outcome=outcome, detail=detail)


def _as_typed(message: Message, situation: Situation) -> Message:
    """The message that code reads facts from: the original, except where what the user pasted had to be trimmed."""
    edits = situation.in_force.lights.get(message.id, {})
    if message.is_typed and any(isinstance(edit, TrimText) for edit in edits.values()):
        return render_message(message, situation.in_force) or message
    return message


def _handles(work: Work, start: int, end: int) -> tuple[Handle, ...]:
    """The handles of what light edits evicted from the folded range, and the one of the range itself."""
    calls = call_names(work.transcript[start:end])
    handles: list[Handle] = []
    for message in work.transcript[start:end]:
        for edit in work.ledger.in_force.lights.get(message.id, {}).values():
            if isinstance(edit, ClearThinking):
                continue
            call = None if isinstance(edit, TrimText) else calls.get(edit.tool_use_id)
            what = describe_call(call) if call is not None else "a long text"
            named = f"arguments of {what}" if isinstance(edit, ClearToolInput) else what
            handles.append(Handle(handle=edit.handle, what=named, size=edit.saved))
    first, last = work.transcript[start], work.transcript[end - 1]
    size = work.gauge.tokens(mass_of(work.transcript.weight(start, end), work.profile))
    whole = Handle(handle=handle_of(last.id, "through"), what=f"messages {first.id} to {last.id}", size=size)
    return (*handles, whole)
