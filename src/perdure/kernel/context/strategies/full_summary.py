"""`full_summary`: a model writes the narrative, and code checks it.

It knows how a model is asked, and what is done when the request is too long. It must never take a narrative at its
word: an answer that is empty, cut off, too large or no summary is refused, and what it claims is verified against what
was folded.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from perdure.kernel.context.checkpoint import CheckpointDocument, build
from perdure.kernel.context.checkpoint.ask import conversation_request, transcript_request, without_oldest_fifth
from perdure.kernel.context.checkpoint.narrative import judge
from perdure.kernel.context.checkpoint.verify import verify
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.ports import Answer, Failed, Need, Refused, Reply, Summarize
from perdure.kernel.context.situation import Declined, Folding, Situation
from perdure.kernel.messages import Message
from perdure.kernel.value import record

ANSWER_LEAST, ANSWER_MOST = 1_000, 8_000
"""Bounds of the answer, in tokens: reasoning counts, and an answer that is cut off is refused."""

SHORTENINGS = 3
"""How often the oldest fifth is dropped when the provider says that the request is too long."""


@record(frozen=True)
class FullSummary:
    """Has a model tell what was folded."""

    @property
    def name(self) -> Rung:
        """Its rung."""
        return "full_summary"

    @property
    def asks_model(self) -> bool:
        """One call, and up to three shorter ones."""
        return True

    @property
    def forced(self) -> bool:
        """`compact` and `recover_overflow` begin with it."""
        return True

    def fold(self, situation: Situation, folding: Folding) -> Generator[Need, Answer, CheckpointDocument | Declined]:
        """The document with the model's narrative, as far as what was folded bears it out."""
        asked = yield from _ask(situation, folding)
        if isinstance(asked, Declined):
            return asked
        request, reply = asked
        verdict = judge(reply, request=request, replaced=folding.replaced, measure=situation.measure)
        if verdict.narrative is None:
            return Declined(reason=f"the summary is refused: {verdict.refused}", failed=True)
        verified = verify(verdict.narrative, folding.fold.folded, folding.fold.previous)
        fold = replace(
            folding.fold,
            narrative=verified.narrative,
            claims_removed=len(verified.removed),
            claims_moved=len(verified.moved),
        )
        return build(fold, budget=folding.budget, measure=situation.measure)


def _ask(situation: Situation, folding: Folding) -> Generator[Need, Answer, tuple[str, Message] | Declined]:
    """The conversation's own request, extended, so that it is read from the cache; where it does not fit or is refused
    as too long, the transcript as text, shorter each time."""
    limits, previous = situation.limits, folding.fold.previous
    most = max(1, min(ANSWER_MOST, max(ANSWER_LEAST, limits.reserve), limits.window // 4))
    request = conversation_request(previous=previous, steer=folding.instructions)
    if limits.overhead + folding.replaced + situation.measure(request) + most <= limits.window:
        ask = Summarize(messages=folding.view_prefix, instruction=request, extends=True, max_tokens=most)
        answer = yield ask
        if not (isinstance(answer, Failed) and answer.too_long):
            return _outcome(request, answer)
    folded: Sequence[Message] = folding.fold.folded
    room = limits.window - most
    for _ in range(SHORTENINGS + 1):
        request = transcript_request(folded, previous=previous, steer=folding.instructions)
        while situation.measure(request) > room and len(folded) > 1:
            folded = without_oldest_fifth(folded)
            request = transcript_request(folded, previous=previous, steer=folding.instructions)
        answer = yield Summarize(messages=(), instruction=request, extends=False, max_tokens=most)
        if not (isinstance(answer, Failed) and answer.too_long) or len(folded) < 2:
            return _outcome(request, answer)
        folded = without_oldest_fifth(folded)
    return Declined(reason="even a shortened request to summarise is too long", failed=True)


def _outcome(request: str, answer: Answer) -> tuple[str, Message] | Declined:
    match answer:
        case Reply(message=message):
            return request, message
        case Refused(reason=reason):
            return Declined(reason=reason)
        case Failed(reason=reason):
            return Declined(reason=reason, failed=True)
        case _:
            return Declined(reason="the summarizer gave no answer", failed=True)
