"""`extractive`, the last rung: a checkpoint without a model.

It knows that code alone can carry what matters. It must never fail: whatever was folded, there is a document.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from perdure.kernel.context.checkpoint import CheckpointDocument, build
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.ports import Answer, Need
from perdure.kernel.context.situation import Folding, Situation
from perdure.kernel.value import record


@record(frozen=True)
class Extractive:
    """Excerpts the narrative instead of having it written."""

    @property
    def name(self) -> Rung:
        """Its rung."""
        return "extractive"

    @property
    def asks_model(self) -> bool:
        """It needs none, so the breaker never skips it."""
        return False

    @property
    def forced(self) -> bool:
        """`compact` and `recover_overflow` end with it."""
        return True

    def fold(self, situation: Situation, folding: Folding) -> Generator[Need, Answer, CheckpointDocument]:
        """The document, from excerpts."""
        yield from ()
        return build(replace(folding.fold, narrative=None), budget=folding.budget, measure=situation.measure)
