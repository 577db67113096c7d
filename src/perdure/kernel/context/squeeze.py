"""The last resort: whatever it takes to make a request fit, in the order in which protections yield.

It knows that order: older tool results, then a checkpoint with an ever smaller tail, then the newest tool results, then
what the user pasted, each leaving a handle. It must never call a model, and it never gives up while something can
still be made smaller: only fixed overhead and the current request may be irreducible, and then it says so by name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from perdure.kernel.context.checkpoint import Fold, build, render
from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.edits import Checkpoint, ClearToolResult, Rung, Why
from perdure.kernel.context.entry import reduce_text
from perdure.kernel.context.folding import Wish, fold
from perdure.kernel.context.gauge import text_mass
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.lighten import thinking_forbids, unsent_from, with_thinking
from perdure.kernel.context.ports import Answer, Need
from perdure.kernel.context.settings import Limits
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.context.strategies.extractive import Extractive
from perdure.kernel.context.strategies.light_trim import propose_trims
from perdure.kernel.context.strategies.tool_results import ToolResults, clear_result, propose_input
from perdure.kernel.context.work import Work
from perdure.kernel.errors import Infeasible
from perdure.kernel.messages import ToolResult, text_of

SMALLEST_RESULT = 60
"""Tokens that a reduced tool result keeps at the least before it gives way to a placeholder."""

SMALLEST_CHECKPOINT = 100
"""Tokens of the smallest checkpoint document that is still tried."""

SMALLEST_TEXT = 200
"""Characters that a trimmed text keeps at the least."""


def squeeze(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """Make the view fit below the threshold, or at least below the hard limit.

    Raises:
        Infeasible: fixed overhead and the current request alone exceed the window.
    """
    for stage in (_older_results, _smaller_tail, _newest_results, _inputs_and_texts, _pasted, _nothing_kept, _refold):
        if work.usage.upper <= limits.threshold:
            return
        yield from stage(work, limits, why)
    if work.usage.tokens > limits.hard:
        raise _infeasible(work, limits)


def check_feasible(work: Work, limits: Limits) -> None:
    """Say at once where no edit can help, instead of editing in vain at every call.

    Raises:
        Infeasible: the fixed overhead alone leaves no room for a request and its answer.
    """
    if limits.overhead >= limits.hard:
        raise _infeasible(work, limits)


def _infeasible(work: Work, limits: Limits) -> Infeasible:
    return Infeasible(
        window=limits.window,
        overhead=limits.overhead,
        current=max(0, work.usage.tokens - limits.overhead),
        reserve=limits.window - limits.hard,
        refusal=work.refusal,
    )


def _older_results(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """Every clearable result that the model has seen, however small the batch."""
    situation = work.situation(limits)
    if thinking_forbids(situation):
        return
    unseen = unsent_from(work.transcript)
    fresh = sum(len(message.tool_results) for message in work.transcript[unseen:])
    yield from _lighten(work, situation, ToolResults(keep=fresh).propose(situation), "tool_result_microcompact", why)


def _smaller_tail(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """A checkpoint without a model, with a tail that halves until the view fits."""
    keep = limits.keep_tail
    while keep >= 200 and work.usage.upper > limits.threshold:
        yield from fold(work, limits, (Extractive(),), Wish(why=why, keep=keep, forced=True))
        keep //= 2


def _nothing_kept(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """A checkpoint of everything that the model has seen."""
    yield from fold(work, limits, (Extractive(),), Wish(why=why, keep=0, forced=True))


def _newest_results(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """The results that are left, the largest first, each reduced to its share of the room; then all gone."""
    situation = work.situation(limits)
    excess = work.usage.upper - limits.threshold
    yield from _lighten(work, situation, _reductions(situation, excess), "entry_reduction", why)
    if work.usage.upper > limits.threshold:
        situation = work.situation(limits)
        yield from _lighten(work, situation, _placeholders(situation), "tool_result_microcompact", why)


def _inputs_and_texts(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """Long arguments and long texts of the model, wherever they stand."""
    situation = work.situation(limits)
    inputs = (
        proposal
        for place, shown, original in situation.viewed()
        for use in shown.tool_uses
        if (proposal := propose_input(situation, place, original, use)) is not None
    )
    yield from _lighten(work, situation, inputs, "tool_result_microcompact", why)
    yield from _trim(work, limits, why, lambda role: role == "assistant")


def _pasted(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """Long texts of the user's, which at this length were pasted rather than typed."""
    yield from _trim(work, limits, why, lambda role: role != "assistant")


def _refold(work: Work, limits: Limits, why: Why) -> Generator[Need, Answer, None]:
    """The checkpoint itself, rewritten smaller: a model with a smaller window took over."""
    checkpoint = work.ledger.in_force.checkpoint
    size = limits.checkpoint_size
    while isinstance(checkpoint, Checkpoint) and work.usage.upper > limits.threshold and size >= SMALLEST_CHECKPOINT:
        fold_again = Fold(folded=(), previous=checkpoint.document, narrative=checkpoint.document.narrative)
        document = build(fold_again, budget=size, measure=work.measure)
        content = render(document)
        freed = work.gauge.tokens(text_mass(checkpoint.content, work.profile)) - work.gauge.tokens(
            text_mass(content, work.profile)
        )
        if freed > 0:
            smaller = replace(
                checkpoint,
                id=work.next_id,
                reason=work.reason("extractive", why),
                content=content,
                document=document,
                after=(),
                saved=freed,
                tokens_before=work.usage.tokens,
            )
            if not (yield from work.enforce((smaller,), (), None)):
                return
            checkpoint = smaller
        size //= 2


def _reductions(situation: Situation, excess: int) -> Iterator[Proposal]:
    """Results as they are shown, the largest first, each reduced so that together they free `excess` tokens."""
    found: list[tuple[int, int, str, ToolResult]] = [
        (situation.weigh((result,)), place, original.id, result)
        for place, shown, original in situation.viewed()
        for result in shown.tool_results
    ]
    total = sum(size for size, *_ in found)
    share = max(0.0, 1 - excess / total) if total else 0.0
    calls = call_names(situation.transcript)
    for size, place, message_id, result in sorted(found, key=lambda item: -item[0]):
        limit = max(SMALLEST_RESULT, int(size * share * 0.9))
        if size <= limit * 1.1:
            continue
        call = calls.get(result.tool_use_id)
        yield from reduce_result(situation, (place, message_id), result, limit, describe_call(call) if call else "")


def reduce_result(
    situation: Situation, where: tuple[int, str], result: ToolResult, limit: int, hint: str
) -> Iterator[Proposal]:
    """One result at `limit` tokens, from its original; a picture or a document in it gives way to the handle."""
    place, message_id = where
    index = situation.transcript.index_of(message_id)
    originals = situation.transcript[index].tool_results if index is not None else ()
    original = next((given for given in originals if given.tool_use_id == result.tool_use_id), result)
    handle = handle_of(message_id, f"result:{result.tool_use_id}")
    text, tool = text_of(original.content), situation.settings.recall_tool
    recall = "" if tool is None else f"{tool} {handle}"
    content = reduce_text(text, limit=limit, measure=situation.measure, recall=recall, hint=hint)
    if not content:
        content = f"[Not text; left out to save context.]{situation.to_recall(handle)}"
    saved = situation.weigh((result,)) - situation.weigh((replace(result, content=content),))
    if saved > 0:
        yield Proposal(
            kind="reduce",
            message_id=message_id,
            place=place,
            ref=result.tool_use_id,
            content=content,
            handle=handle,
            original=(original,),
            what=hint or "a tool result",
            saved=saved,
        )


def _placeholders(situation: Situation) -> Iterator[Proposal]:
    """Every result that is larger than a placeholder."""
    for place, shown, original in situation.viewed():
        edits = situation.in_force.lights.get(original.id, {})
        for result in shown.tool_results:
            if isinstance(edits.get(f"result:{result.tool_use_id}"), ClearToolResult):
                continue
            if (proposal := clear_result(situation, place, original, result, "a tool result")) is not None:
                yield proposal


def _trim(work: Work, limits: Limits, why: Why, wanted: Callable[[str], bool]) -> Generator[Need, Answer, None]:
    """Trim long texts, to ever shorter ones until the view fits."""
    over = limits.trim_over
    while work.usage.upper > limits.threshold and over >= SMALLEST_TEXT:
        narrow = replace(limits, trim_over=over)
        situation = work.situation(narrow)
        proposals = (
            proposal
            for place, _, original in situation.viewed()
            if wanted(original.role)
            for proposal in propose_trims(situation, place, original, over)
        )
        yield from _lighten(work, situation, proposals, "light_trim", why)
        over //= 2


def _lighten(
    work: Work, situation: Situation, proposals: Iterator[Proposal], rung: Rung, why: Why
) -> Generator[Need, Answer, None]:
    """Take just as many of the proposals as are needed."""
    aim = work.usage.upper - situation.limits.threshold
    taken: list[Proposal] = []
    for proposal in proposals:
        if aim <= 0:
            break
        taken.append(proposal)
        aim -= proposal.saved
    if taken:
        yield from work.lighten(with_thinking(situation, taken), rung, why)
