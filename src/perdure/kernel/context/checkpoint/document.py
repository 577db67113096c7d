"""What a checkpoint says: frozen values, and their lossless form as JSON.

It knows the sections of a checkpoint and who owns each: a model or the extractive rung writes the `Narrative`, code
carries the rest. It must never know how a section was found or what it costs. The ledger persists the typed value, so
that the next checkpoint continues from it and never from parsed text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, kind_of
from perdure.kernel.value import value

T = TypeVar("T")


@value
class Done:
    """One thing that is finished."""

    text: str
    evidence: tuple[str, ...] = ()
    """Ids of the tool calls whose successful results show it."""


@value
class Narrative:
    """The part of a checkpoint that tells a story: short texts, written by a model or excerpted by code."""

    goal: tuple[str, ...] = ()
    done: tuple[Done, ...] = ()
    in_progress: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()


@value
class Outdated:
    """A passage of a statement that a later message corrected."""

    text: str
    """The passage, word for word."""
    by: str
    """The id of the message that holds what is in force instead."""


@value
class Said:
    """Something the user typed, word for word: a whole message, or one passage of it."""

    message_id: str
    text: str
    whole: bool = True
    """Whether `text` is all that the user typed in that message."""
    outdated: tuple[Outdated, ...] = ()

    @property
    def in_force(self) -> bool:
        """Whether something in it still holds: false where all of it was corrected later."""
        return all(passage.text.strip() != self.text.strip() for passage in self.outdated)


@value
class Unsaid:
    """The user's messages of which no word is left in the checkpoint."""

    count: int
    first: str
    """The id of the oldest of them."""
    last: str
    """The id of the newest of them."""


@value
class Todo:
    """A task that is still open. Finished and cancelled ones are never kept, so that none comes back."""

    text: str
    id: str = ""
    """The tool's own id, by which later updates find it; empty where it has none."""
    active: bool = False
    """Whether it is being worked on."""


@value
class Handle:
    """The name by which an evicted original is recalled."""

    handle: str
    what: str
    """What it is, in a few words: the tool and its main argument."""
    size: int
    """Tokens."""


@value
class SplitTurn:
    """The folded start of a turn whose rest follows directly behind the checkpoint."""

    request: str
    """What the user asked for, word for word, or its beginning."""
    progress: tuple[str, ...] = ()
    """What was done for it before the cut."""
    needs: tuple[str, ...] = ()
    """What the rest of the turn builds on."""


@value
class CheckpointDocument:
    """All sections of one checkpoint. Every list runs from the oldest to the newest."""

    narrative: Narrative = Narrative()
    pins: tuple[str, ...] = ()
    """Statements of the user's that every checkpoint carries first."""
    said: tuple[Said, ...] = ()
    unsaid: Unsaid | None = None
    todos: tuple[Todo, ...] = ()
    plan: tuple[str, ...] = ()
    """The open steps of the last plan that was made through a tool."""
    files_read: tuple[str, ...] = ()
    """Files that were read and not modified."""
    files_modified: tuple[str, ...] = ()
    handles: tuple[Handle, ...] = ()
    handles_unlisted: int = 0
    """Further handles, which only the recall tool lists."""
    search_words: tuple[str, ...] = ()
    split_turn: SplitTurn | None = None
    covers_until: str = ""
    """The id of the last message that this checkpoint stands for."""
    claims_removed: int = 0
    """Claims of the model's that nothing in the folded messages bears out, and that were left out."""
    claims_moved: int = 0
    """Things that the model called done without a successful tool result, and that are shown as in progress."""
    extractive: bool = False
    """Whether the narrative was excerpted by code."""


def to_json(document: CheckpointDocument) -> JsonObject:
    """The document as a JSON object, which `from_json` turns back into an equal one."""
    narrative, split, unsaid = document.narrative, document.split_turn, document.unsaid
    return {
        "narrative": {
            "goal": [*narrative.goal],
            "done": [{"text": done.text, "evidence": [*done.evidence]} for done in narrative.done],
            "in_progress": [*narrative.in_progress],
            "blocked": [*narrative.blocked],
            "decisions": [*narrative.decisions],
            "next_steps": [*narrative.next_steps],
            "critical": [*narrative.critical],
        },
        "pins": [*document.pins],
        "said": [_said_to_json(said) for said in document.said],
        "unsaid": unsaid and {"count": unsaid.count, "first": unsaid.first, "last": unsaid.last},
        "todos": [{"text": todo.text, "id": todo.id, "active": todo.active} for todo in document.todos],
        "plan": [*document.plan],
        "files_read": [*document.files_read],
        "files_modified": [*document.files_modified],
        "handles": [{"handle": item.handle, "what": item.what, "size": item.size} for item in document.handles],
        "handles_unlisted": document.handles_unlisted,
        "search_words": [*document.search_words],
        "split_turn": split and {"request": split.request, "progress": [*split.progress], "needs": [*split.needs]},
        "covers_until": document.covers_until,
        "claims_removed": document.claims_removed,
        "claims_moved": document.claims_moved,
        "extractive": document.extractive,
    }


def from_json(given: JsonObject) -> CheckpointDocument:
    """The document that `to_json` wrote. Fields that are absent are empty; unknown ones are ignored.

    Raises:
        InvalidJson: a field of another kind than `to_json` writes; the message names it.
    """
    fields = _Fields(given)
    return CheckpointDocument(
        narrative=_narrative(fields.inner("narrative")),
        pins=fields.texts("pins"),
        said=fields.each("said", _said),
        unsaid=_unsaid(fields.inner("unsaid")) if given.get("unsaid") is not None else None,
        todos=fields.each("todos", _todo),
        plan=fields.texts("plan"),
        files_read=fields.texts("files_read"),
        files_modified=fields.texts("files_modified"),
        handles=fields.each("handles", _handle),
        handles_unlisted=fields.number("handles_unlisted"),
        search_words=fields.texts("search_words"),
        split_turn=_split_turn(fields.inner("split_turn")) if given.get("split_turn") is not None else None,
        covers_until=fields.text("covers_until"),
        claims_removed=fields.number("claims_removed"),
        claims_moved=fields.number("claims_moved"),
        extractive=fields.truth("extractive"),
    )


def _said_to_json(said: Said) -> JsonObject:
    return {
        "message_id": said.message_id,
        "text": said.text,
        "whole": said.whole,
        "outdated": [{"text": passage.text, "by": passage.by} for passage in said.outdated],
    }


def _narrative(fields: _Fields) -> Narrative:
    return Narrative(
        goal=fields.texts("goal"),
        done=fields.each("done", lambda item: Done(text=item.text("text"), evidence=item.texts("evidence"))),
        in_progress=fields.texts("in_progress"),
        blocked=fields.texts("blocked"),
        decisions=fields.texts("decisions"),
        next_steps=fields.texts("next_steps"),
        critical=fields.texts("critical"),
    )


def _said(fields: _Fields) -> Said:
    return Said(
        message_id=fields.text("message_id"),
        text=fields.text("text"),
        whole=fields.truth("whole"),
        outdated=fields.each("outdated", lambda item: Outdated(text=item.text("text"), by=item.text("by"))),
    )


def _unsaid(fields: _Fields) -> Unsaid:
    return Unsaid(count=fields.number("count"), first=fields.text("first"), last=fields.text("last"))


def _todo(fields: _Fields) -> Todo:
    return Todo(text=fields.text("text"), id=fields.text("id"), active=fields.truth("active"))


def _handle(fields: _Fields) -> Handle:
    return Handle(handle=fields.text("handle"), what=fields.text("what"), size=fields.number("size"))


def _split_turn(fields: _Fields) -> SplitTurn:
    return SplitTurn(request=fields.text("request"), progress=fields.texts("progress"), needs=fields.texts("needs"))


class _Fields:
    """Reads one JSON object, and names the field that has another kind than is needed."""

    def __init__(self, given: Json, place: str = "the checkpoint") -> None:
        if not isinstance(given, dict):
            raise InvalidJson(f"{place} must be an object, not {kind_of(given)}")
        self._given = given
        self._place = place

    def text(self, name: str) -> str:
        value = self._given.get(name, "")
        return value if isinstance(value, str) else self._refuse(name, "a string")

    def number(self, name: str) -> int:
        value = self._given.get(name, 0)
        return value if isinstance(value, int) and not isinstance(value, bool) else self._refuse(name, "an integer")

    def truth(self, name: str) -> bool:
        value = self._given.get(name, False)
        return value if isinstance(value, bool) else self._refuse(name, "a boolean")

    def inner(self, name: str) -> _Fields:
        return _Fields(self._given.get(name, {}), f"{name!r} of {self._place}")

    def each(self, name: str, make: Callable[[_Fields], T]) -> tuple[T, ...]:
        return tuple(make(_Fields(item, f"an item of {name!r} of {self._place}")) for item in self._list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        items = tuple(item for item in self._list(name) if isinstance(item, str))
        return items if len(items) == len(self._list(name)) else self._refuse(name, "an array of strings")

    def _list(self, name: str) -> list[Json]:
        value = self._given.get(name, [])
        return value if isinstance(value, list) else self._refuse(name, "an array")

    def _refuse(self, name: str, needed: str) -> NoReturn:
        raise InvalidJson(f"{name!r} of {self._place} must be {needed}, not {kind_of(self._given.get(name))}")
