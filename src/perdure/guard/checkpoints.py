"""A checkpoint without secrets: what it quotes stays word for word, but for what must not be carried on.

It knows the texts of a checkpoint. It must never touch what names something: ids, handles and counts stay, so that
whoever may see the original can find it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import field, replace

from perdure.guard.guard import Guard
from perdure.kernel.context.checkpoint import CheckpointDocument, Narrative, Said, SplitTurn
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.engine import Ladder
from perdure.kernel.context.ports import Answer, Need
from perdure.kernel.context.situation import Declined, Folding, FoldStrategy, Situation
from perdure.kernel.value import value


@value
class GuardedFold:
    """A strategy whose documents pass the guard before anybody sees, stores or sends them."""

    strategy: FoldStrategy
    guard: Guard = field(repr=False)

    @property
    def name(self) -> Rung:
        """The strategy's."""
        return self.strategy.name

    @property
    def asks_model(self) -> bool:
        """As the strategy does."""
        return self.strategy.asks_model

    @property
    def forced(self) -> bool:
        """As the strategy may be."""
        return self.strategy.forced

    def fold(self, situation: Situation, folding: Folding) -> Generator[Need, Answer, CheckpointDocument | Declined]:
        """The strategy's document, redacted."""
        written = yield from self.strategy.fold(situation, folding)
        return written if isinstance(written, Declined) else redact_document(written, self.guard)


def guarded(ladder: Ladder, guard: Guard) -> Ladder:
    """The same rungs, none of which carries a secret on: `Engine(..., ladder=guarded(Ladder(), guard))`."""
    return replace(ladder, folds=tuple(GuardedFold(strategy=strategy, guard=guard) for strategy in ladder.folds))


def redact_document(document: CheckpointDocument, guard: Guard) -> CheckpointDocument:
    """The document with each secret replaced by `[secret]`; in a quote of the user's, by `[secret, MESSAGE ID]`."""

    def clean(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(guard.redact, texts))

    split = document.split_turn
    return replace(
        document,
        narrative=_narrative(document.narrative, clean),
        pins=clean(document.pins),
        said=tuple(_said(said, guard) for said in document.said),
        todos=tuple(replace(todo, text=guard.redact(todo.text)) for todo in document.todos),
        plan=clean(document.plan),
        files_read=clean(document.files_read),
        files_modified=clean(document.files_modified),
        handles=tuple(replace(handle, what=guard.redact(handle.what)) for handle in document.handles),
        search_words=clean(document.search_words),
        split_turn=split and _split(split, clean),
    )


def _narrative(narrative: Narrative, clean: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Narrative:
    return Narrative(
        goal=clean(narrative.goal),
        done=tuple(replace(done, text=clean((done.text,))[0]) for done in narrative.done),
        in_progress=clean(narrative.in_progress),
        blocked=clean(narrative.blocked),
        decisions=clean(narrative.decisions),
        next_steps=clean(narrative.next_steps),
        critical=clean(narrative.critical),
    )


def _said(said: Said, guard: Guard) -> Said:
    return replace(
        said,
        text=guard.redact(said.text, said.message_id),
        outdated=tuple(replace(old, text=guard.redact(old.text, said.message_id)) for old in said.outdated),
    )


def _split(split: SplitTurn, clean: Callable[[tuple[str, ...]], tuple[str, ...]]) -> SplitTurn:
    return SplitTurn(request=clean((split.request,))[0], progress=clean(split.progress), needs=clean(split.needs))
