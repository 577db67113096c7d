"""Parts: which of them a view has yet to be told, and in which order reminders stand before what the user typed.

It knows keys and texts. It must never know where a text came from, and it keeps no state: what is pending follows from
the view alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from perdure.kernel.messages import Message
from perdure.kernel.prompt.reminder import Reminder, part, remind, told_in
from perdure.kernel.value import value

Mode: TypeAlias = Literal["on_change", "every_turn"]
"""When parts are told: where they differ from what the view shows, or before each message of the user's."""

RETRACTED = "Nothing any more: what was told of this before no longer holds."
"""Told in the place of a part that has become empty."""


@value
class Telling:
    """What there is to tell before what the user typed."""

    notes: tuple[Reminder, ...] = ()
    """What happened while the agent ran: told first."""
    parts: tuple[Reminder, ...] = ()
    """How everything stands, in the order in which it is told. A key that is missing counts as empty."""
    memories: tuple[Reminder, ...] = ()
    """Recalled for this message: told last, next to the question, and never twice in one view."""


def reminders(telling: Telling, view: Sequence[Message], mode: Mode = "on_change") -> tuple[str, ...]:
    """The reminders to put before what the user typed: notes, parts, memories."""
    shown = {told.key for told in told_in(view) if told.kind == "memory"}
    recalled = [each for each in telling.memories if each.key not in shown]
    parts = pending(telling.parts, view) if mode == "on_change" else every(telling.parts, view)
    return (*_texts(telling.notes), *parts, *_texts(recalled))


def pending(parts: Sequence[Reminder], view: Iterable[Message]) -> tuple[str, ...]:
    """The parts whose text differs from what the view last told of them, and the retractions of those now empty."""
    last = last_told(view)
    changed = [text for each in parts if (text := _pending(each, last)) is not None]
    return (*changed, *_retractions(parts, last))


def every(parts: Sequence[Reminder], view: Iterable[Message]) -> tuple[str, ...]:
    """All parts, whatever the view shows, and the retractions of those now empty."""
    last = last_told(view)
    spoken = [each.text if each.body.strip() else _pending(each, last) for each in parts]
    return (*(text for text in spoken if text is not None), *_retractions(parts, last))


def changed(one: Reminder, view: Iterable[Message]) -> str | None:
    """One part, where the view has been told of it and it has changed since: for the time between two messages of the
    user's, such as the date after midnight."""
    last = last_told(view)
    return _pending(one, last) if one.key in last else None


def restored(
    parts: Sequence[Reminder], tail: Iterable[Message], *, checkpoint: str, time: float | None
) -> tuple[Message, ...]:
    """What is told again directly behind a checkpoint: the parts that the tail does not tell, a message for each, so
    that as many are kept as there is room for. A part of which the tail tells something older waits for the next
    message of the user's, since the later word is the one in force."""
    last = last_told(tail)
    told = [each for each in parts if each.body.strip() and each.key not in last]
    messages = (remind((each.text,), id=f"{checkpoint}-{each.key}", time=time) for each in told)
    return tuple(message for message in messages if message is not None)


def last_told(view: Iterable[Message]) -> Mapping[str, str]:
    """The text in force of each part that a view shows, by key."""
    return {told.key: told.text for told in told_in(view) if told.kind == "part"}


def _pending(one: Reminder, last: Mapping[str, str]) -> str | None:
    before = last.get(one.key)
    if one.body.strip():
        return one.text if one.text != before else None
    retraction = part(one.key, RETRACTED).text
    return retraction if before is not None and before != retraction else None


def _retractions(parts: Sequence[Reminder], last: Mapping[str, str]) -> Iterator[str]:
    """Keys that the view shows and nobody speaks of any more, such as a server that has gone."""
    spoken_of = {each.key for each in parts}
    for key in last:
        if key not in spoken_of and (text := _pending(part(key, ""), last)) is not None:
            yield text


def _texts(given: Iterable[Reminder]) -> Iterator[str]:
    return (each.text for each in given if each.body.strip())
