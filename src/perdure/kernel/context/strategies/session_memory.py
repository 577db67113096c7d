"""`session_memory`: the living document of the session becomes the narrative of a checkpoint, without a model call.

It knows what the document must cover. It must never know who wrote it or when: missing, empty, an untouched template or
an error all mean that this rung is not applied.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from perdure.kernel.context.checkpoint import CheckpointDocument, Narrative, build
from perdure.kernel.context.checkpoint.narrative import parse
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.ports import Answer, Need, ReadSessionMemory, SessionMemory
from perdure.kernel.context.situation import Declined, Folding, Situation
from perdure.kernel.value import record


@record(frozen=True)
class SessionMemoryFold:
    """Takes the session memory's word for what was folded."""

    @property
    def name(self) -> Rung:
        """Its rung."""
        return "session_memory"

    @property
    def asks_model(self) -> bool:
        """The document is there already."""
        return False

    @property
    def forced(self) -> bool:
        """A person who asks for a checkpoint gets one that is written for it."""
        return False

    def fold(self, situation: Situation, folding: Folding) -> Generator[Need, Answer, CheckpointDocument | Declined]:
        """The document with the session memory as its narrative, if it covers everything that is folded."""
        answer = yield ReadSessionMemory()
        if not isinstance(answer, SessionMemory):
            return Declined(reason="there is no session memory")
        covered = situation.transcript.index_of(answer.covers_until)
        if covered is None or covered + 1 < folding.cut.index:
            return Declined(reason="the session memory does not cover everything that would be folded")
        text = answer.text.strip()
        narrative = parse(capped(text, situation.settings.session_memory_cap))
        if text == answer.template.strip() or narrative == Narrative():
            return Declined(reason="the session memory is empty")
        fold = replace(folding.fold, narrative=narrative)
        return build(fold, budget=folding.budget, measure=situation.measure)


def capped(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a line's end."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", 0, limit)
    return text[: end if end > 0 else limit]
