"""How a checkpoint reads: Markdown under fixed headings, inside `<context-summary>`.

It knows the headings and what hostile text could do to them. It must never know how a section was found. The same
document gives the same text for ever, and no content can close a tag or open a heading. Content is one list item a
line; a statement of the user's that has several lines stands in tags, where those that would read as a heading are
quoted. Of the user's words only sequences that look like one of our tags change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perdure.kernel.context.checkpoint.document import (
    CheckpointDocument,
    Done,
    Handle,
    Narrative,
    Said,
    SplitTurn,
    Todo,
    Unsaid,
)
from perdure.kernel.pattern import pattern

OPENING = "<context-summary>"
CLOSING = "</context-summary>"

_TAGS = "context-summary|said|pinned|summary|system-reminder|conversation|previous-summary|steer"
_TAG = pattern(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_HEADING = pattern(r"\s*(?:#|=+\s*$|-+\s*$)")


def render(document: CheckpointDocument) -> str:
    """The text that the model reads in the place of what was folded. Sections without content are left out."""
    return "\n".join([OPENING, *_sections(document), CLOSING])


def escape(text: str) -> str:
    """The same words, unable to open or close a tag of ours."""
    return _TAG.sub("&lt;", text)


def line(text: str) -> str:
    """The same words on one line, safe inside a list item."""
    return escape(" ".join(text.split()))


def quote(text: str) -> str:
    """The same words and lines; those that would read as a heading are quoted."""
    lines = escape(text).splitlines(keepends=True)
    return "".join(f"> {each}" if _HEADING.match(each) else each for each in lines)


def said_lines(said: Iterable[Said], corrections: dict[str, str]) -> Iterator[str]:
    """Each statement behind its id, on one line or in tags. `corrections`: a message to the one it corrects."""
    for each in said:
        name = line(each.message_id)
        notes = [*_notes(each, corrections)]
        if _is_one_line(each.text):
            about = f" ({'; '.join(notes)})" if notes else ""
            yield f"- {name}{about}: {escape(each.text.strip())}"
        else:
            about = f' note="{"; ".join(notes)}"' if notes else ""
            yield f'<said id="{name}"{about}>{quote(each.text)}</said>'
        if each.in_force:
            for passage in each.outdated:
                yield f'- Superseded by {line(passage.by)}: "{line(passage.text)}"'


def handle_line(handle: Handle) -> str:
    """One evicted original."""
    return f"- {line(handle.handle)}: {line(handle.what)} ({handle.size} tokens)"


def done_line(done: Done) -> str:
    """One finished thing, with its evidence."""
    cited = f" [{', '.join(line(each) for each in done.evidence)}]" if done.evidence else ""
    return f"- {line(done.text)}{cited}"


def todo_line(todo: Todo) -> str:
    """One open task."""
    name = f"#{line(todo.id)} " if todo.id else ""
    return f"- [{'~' if todo.active else ' '}] {name}{line(todo.text)}"


def _sections(document: CheckpointDocument) -> Iterator[str]:
    yield from _told(document.narrative, document)
    yield from _said(document)
    todos = [*map(todo_line, document.todos), *_items(document.plan)]
    yield from _under("## Open todos and plan", todos)
    yield from _under("## Files read", _items(document.files_read))
    yield from _under("## Files modified", _items(document.files_modified))
    yield from _under("## Where the rest is", _rest(document))
    if document.split_turn is not None:
        yield from _under("## The turn that goes on below", _split(document.split_turn))


def _told(narrative: Narrative, document: CheckpointDocument) -> Iterator[str]:
    yield from _under("## Goal", _items(narrative.goal))
    progress = [
        *_under("### Done", map(done_line, narrative.done)),
        *_under("### In progress", _items(narrative.in_progress)),
        *_under("### Blocked", _items(narrative.blocked)),
    ]
    yield from _under("## Progress", progress)
    yield from _under("## Key decisions", _items(narrative.decisions))
    yield from _under("## Next steps", _items(narrative.next_steps))
    yield from _under("## Critical context", [*_items(narrative.critical), *_claims(document)])


def _claims(document: CheckpointDocument) -> Iterator[str]:
    if document.claims_removed:
        yield f"- Left out because nothing bears them out: {document.claims_removed} claims."
    if document.claims_moved:
        yield f"- Shown as in progress because no tool result shows them done: {document.claims_moved}."


def _said(document: CheckpointDocument) -> Iterator[str]:
    corrections = {passage.by: each.message_id for each in document.said for passage in each.outdated}
    lines = [
        *map(_pinned, document.pins),
        *said_lines(document.said, corrections),
        *_unsaid(document.unsaid),
    ]
    yield from _under("## What the user said", lines)


def _pinned(pin: str) -> str:
    return f"- pinned: {escape(pin.strip())}" if _is_one_line(pin) else f"<pinned>{quote(pin)}</pinned>"


def _unsaid(unsaid: Unsaid | None) -> Iterator[str]:
    if unsaid is not None:
        between = line(unsaid.first) if unsaid.count == 1 else f"{line(unsaid.first)} to {line(unsaid.last)}"
        yield f"- {unsaid.count} further messages, {between}: recall them by id."


def _notes(said: Said, corrections: dict[str, str]) -> Iterator[str]:
    if not said.whole:
        yield "part"
    if not said.in_force:
        yield f"superseded by {line(said.outdated[-1].by)}"
    if said.message_id in corrections:
        yield f"in force instead of {line(corrections[said.message_id])}"


def _is_one_line(text: str) -> bool:
    return len(text.strip().splitlines()) <= 1


def _rest(document: CheckpointDocument) -> Iterator[str]:
    yield from map(handle_line, document.handles)
    if document.handles_unlisted:
        yield f"- {document.handles_unlisted} older handles are not listed; the recall tool lists them."
    if document.search_words:
        yield f"- Words to search the archive for: {', '.join(map(line, document.search_words))}"


def _split(split: SplitTurn) -> Iterator[str]:
    yield f"- Asked: {line(split.request)}"
    for label, items in (("Done so far", split.progress), ("The rest builds on", split.needs)):
        yield from (f"- {label}: {line(item)}" for item in items)


def _under(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield heading
        yield from found


def _items(texts: Iterable[str]) -> Iterator[str]:
    return (f"- {line(text)}" for text in texts)
