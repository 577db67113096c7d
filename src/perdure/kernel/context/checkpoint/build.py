"""Puts a checkpoint together so that it fits its budget.

It knows in which order sections yield. It must never know who wrote the narrative or how tokens are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from perdure.kernel.context.checkpoint.calls import Call, calls_of
from perdure.kernel.context.checkpoint.document import CheckpointDocument, Handle, Narrative, SplitTurn
from perdure.kernel.context.checkpoint.extract import clip, extract, recurring_names, turn_progress
from perdure.kernel.context.checkpoint.files import files_of
from perdure.kernel.context.checkpoint.render import done_line, handle_line, render
from perdure.kernel.context.checkpoint.said import (
    Ranked,
    Spoken,
    choose,
    rank,
    size_of,
    size_of_rules,
    spoken,
    unsaid_of,
)
from perdure.kernel.context.checkpoint.todos import open_work
from perdure.kernel.messages import Message
from perdure.kernel.value import value

HANDLES_THAT_STAY = 20
"""The newest handles; older ones yield early, since the recall tool lists them."""
MOST_HANDLES = 100
FILES_THAT_STAY = 10
"""The newest files of each list, which yield only when nothing else is left."""
SEARCH_WORDS = 16


@value
class Fold:
    """What is folded into a checkpoint, and what is known about it."""

    folded: Sequence[Message]
    """The messages that leave the view, oldest first, without the message that showed the previous checkpoint."""
    previous: CheckpointDocument | None = None
    """The checkpoint that this one continues."""
    narrative: Narrative | None = None
    """What a model wrote, verified; None for the extractive narrative."""
    claims_removed: int = 0
    claims_moved: int = 0
    pins: tuple[str, ...] = ()
    handles: tuple[Handle, ...] = ()
    """Handles of what this fold evicts; those of the previous checkpoint are carried."""
    splits_turn: bool = False
    """Whether the rest of the last turn stays in the view behind the checkpoint."""


def build(fold: Fold, *, budget: int, measure: Callable[[str], int]) -> CheckpointDocument:
    """The checkpoint of a fold, at most `budget` tokens when rendered and measured, wherever that is possible.

    The user's statements have half of the budget for sure, those that look like rules more, and all of them what the
    rest leaves. Sections yield in this order:
    search words, handles beyond the newest 20, file lists, critical context, decisions, done items, the user's
    statements by score, and only then what is left. Pins and the current task never do.
    """
    speech = spoken(fold.folded, fold.previous)
    everything = size_of(speech.said, measure)
    half = min(everything, budget // 2)
    rest = _rest(fold, speech)
    complete = replace(rest, said=speech.said)
    if measure(render(complete)) <= budget:
        return complete
    ranking = rank(speech, measure)
    rules = min(size_of_rules(ranking), everything, budget * 9 // 10)
    early = (*_EARLY, *_EXCERPTS) if rest.extractive else _EARLY
    rest = _fitted(rest, early, budget - max(half, rules), measure)
    rest = _fitted(rest, _LATE, budget - half, measure)
    return _with_speech(rest, speech, ranking, budget=budget, measure=measure)


def _with_speech(
    rest: CheckpointDocument, speech: Spoken, ranking: Sequence[Ranked], *, budget: int, measure: Callable[[str], int]
) -> CheckpointDocument:
    """The document with all that was said, or as much of it as fits."""
    complete = replace(rest, said=speech.said)
    if measure(render(complete)) <= budget:
        return complete
    room = budget - measure(render(rest))
    while True:
        said = choose(speech, ranking, room=room, measure=measure)
        document = replace(rest, said=said, unsaid=unsaid_of(speech, said))
        excess = measure(render(document)) - budget
        if excess <= 0:
            return document
        if not said:
            # Not even the line that counts what is not shown fits: what yields late makes room for it.
            return _fitted(document, _LATE, budget, measure)
        room = min(room, size_of(said, measure)) - excess


def _rest(fold: Fold, speech: Spoken) -> CheckpointDocument:
    """All sections but the user's statements, at their full length."""
    previous = fold.previous or CheckpointDocument()
    calls = calls_of(fold.folded)
    files = files_of(calls, read=previous.files_read, modified=previous.files_modified)
    todos, plan = open_work(calls, fold.previous)
    handles = tuple({item.handle: item for item in (*previous.handles, *fold.handles)}.values())
    return CheckpointDocument(
        narrative=fold.narrative or extract(fold.folded, calls, speech, fold.previous),
        unsaid=speech.unsaid,
        pins=tuple(dict.fromkeys((*previous.pins, *fold.pins))),
        todos=todos,
        plan=plan,
        files_read=files.read,
        files_modified=files.modified,
        handles=handles[-MOST_HANDLES:],
        handles_unlisted=previous.handles_unlisted + len(handles[:-MOST_HANDLES]),
        search_words=_search_words(fold, previous),
        split_turn=_split_turn(fold.folded, calls, speech) if fold.splits_turn else None,
        covers_until=fold.folded[-1].id if fold.folded else previous.covers_until,
        claims_removed=fold.claims_removed,
        claims_moved=fold.claims_moved,
        extractive=fold.narrative is None,
    )


def _search_words(fold: Fold, previous: CheckpointDocument) -> tuple[str, ...]:
    words = dict.fromkeys((*previous.search_words, *recurring_names(fold.folded, least=2)))
    return tuple([*words][-SEARCH_WORDS:])


def _split_turn(folded: Sequence[Message], calls: Sequence[Call], speech: Spoken) -> SplitTurn | None:
    start = next((index for index in range(len(folded) - 1, -1, -1) if folded[index].is_typed), 0)
    request = next((said.text for said in reversed(speech.said)), "")
    if not request and not folded:
        return None
    progress, needs = turn_progress(folded[start:], [call for call in calls if call.message_index >= start])
    return SplitTurn(request=clip(request), progress=progress, needs=needs)


# ---------------------------------------------------------------------------------------------- what yields, and when


@value
class _Section:
    """A list that may be shortened."""

    lines: Callable[[CheckpointDocument], Sequence[str]]
    keep: Callable[[CheckpointDocument, int], CheckpointDocument]
    """The document with that many of the list's items: the newest, or the first ones where those come next."""
    least: int = 0


def _fitted(
    document: CheckpointDocument, sections: Iterable[_Section], limit: int, measure: Callable[[str], int]
) -> CheckpointDocument:
    """The document with sections shortened in order, none more than needed, until it fits or all are at their least."""
    excess = measure(render(document)) - limit
    for section in sections:
        if excess <= 0:
            break
        lines = section.lines(document)
        kept = len(lines)
        while kept > section.least and excess > 0:
            excess -= max(1, measure(lines[len(lines) - kept]))
            kept -= 1
        document = section.keep(document, kept)
        excess = measure(render(document)) - limit
    return document


def _last(items: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(items[len(items) - count :])


def _keep_handles(document: CheckpointDocument, count: int) -> CheckpointDocument:
    dropped = len(document.handles) - count
    return replace(document, handles=document.handles[dropped:], handles_unlisted=document.handles_unlisted + dropped)


def _keep_done(document: CheckpointDocument, count: int) -> CheckpointDocument:
    narrative = document.narrative
    return replace(document, narrative=replace(narrative, done=narrative.done[len(narrative.done) - count :]))


def _of_narrative(
    name: str,
    read: Callable[[Narrative], tuple[str, ...]],
    keep: Callable[[Sequence[str], int], tuple[str, ...]] = _last,
) -> _Section:
    return _Section(
        lines=lambda document: read(document.narrative),
        keep=lambda document, count: replace(
            document, narrative=replace(document.narrative, **{name: keep(read(document.narrative), count)})
        ),
    )


def _first(items: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(items[:count])


def _handles(least: int) -> _Section:
    return _Section(
        lines=lambda document: [handle_line(handle) for handle in document.handles], keep=_keep_handles, least=least
    )


def _files(least: int) -> tuple[_Section, _Section]:
    return (
        _Section(
            lines=lambda document: document.files_read,
            keep=lambda document, count: replace(document, files_read=_last(document.files_read, count)),
            least=least,
        ),
        _Section(
            lines=lambda document: document.files_modified,
            keep=lambda document, count: replace(document, files_modified=_last(document.files_modified, count)),
            least=least,
        ),
    )


_EARLY = (
    _Section(
        lines=lambda document: document.search_words,
        keep=lambda document, count: replace(document, search_words=_last(document.search_words, count)),
    ),
    _handles(HANDLES_THAT_STAY),
    *_files(FILES_THAT_STAY),
    _of_narrative("critical", lambda narrative: narrative.critical),
    _of_narrative("decisions", lambda narrative: narrative.decisions),
    _Section(
        lines=lambda document: [done_line(done) for done in document.narrative.done],
        keep=_keep_done,
    ),
)
"""What yields before the user's statements fall under half of the budget."""

_EXCERPTS = (
    _of_narrative("goal", lambda narrative: narrative.goal),
    _of_narrative("next_steps", lambda narrative: narrative.next_steps, _first),
)
"""What yields as well where it was excerpted: a goal in the user's words, which stand below, and the assistant's."""

_LATE = (
    _handles(0),
    *_files(0),
    _of_narrative("blocked", lambda narrative: narrative.blocked),
    _of_narrative("in_progress", lambda narrative: narrative.in_progress),
    _of_narrative("next_steps", lambda narrative: narrative.next_steps, _first),
    _Section(
        lines=lambda document: ["split turn"] if document.split_turn is not None else [],
        keep=lambda document, count: document if count else replace(document, split_turn=None),
    ),
    _Section(
        lines=lambda document: document.plan,
        keep=lambda document, count: replace(document, plan=_first(document.plan, count)),
    ),
    _Section(
        lines=lambda document: [todo.text for todo in document.todos],
        keep=lambda document, count: replace(document, todos=document.todos[:count]),
    ),
    _of_narrative("goal", lambda narrative: narrative.goal),
)
"""What yields where the budget is smaller than what a checkpoint usually needs."""
