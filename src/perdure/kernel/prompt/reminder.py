"""Reminders: the texts by which the harness tells what may change, and how they are read back out of a view.

It knows their form, for writing and for reading. It must never know what a part is about. What has been told is found
in the text of the messages themselves and kept nowhere else, so a checkpoint, a resume, a fork or a history that came
from somewhere else is always right about it.

    <system-reminder>
    part: date
    Today is Monday, 2026-11-30.
    </system-reminder>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import REMINDER_OPENING, Message, Text
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

Kind: TypeAlias = Literal["part", "note", "memory"]
"""`part`: how things stand, in force until the same key is told again. `note`: something that happened. `memory`: a
file that was recalled because of what the user typed."""

CLOSING = "</system-reminder>"

_TAG = pattern(r"<(?=\s*/?\s*(?:system-reminder|context-summary)\b)", re.IGNORECASE)
_HEADER = pattern(r"(part|note|memory): (\S.*)")
_KINDS: dict[str, Kind] = {"part": "part", "note": "note", "memory": "memory"}


@value
class Reminder:
    """One thing that the harness tells."""

    kind: Kind
    key: str
    """Names what it is about; printable, on one line."""
    body: str
    """Empty where there is nothing to tell."""

    def __post_init__(self) -> None:
        if not self.key.strip() or self.key != self.key.strip() or not self.key.isprintable():
            raise InvalidMessage(
                f"{self.key!r} cannot be the key of a reminder; give it one line of printable characters"
            )

    @property
    def text(self) -> str:
        """The whole reminder. Its body can neither close it nor open another one."""
        return f"{REMINDER_OPENING}\n{self.kind}: {self.key}\n{_TAG.sub('&lt;', self.body.strip())}\n{CLOSING}"


@value
class Told:
    """A reminder as a view shows it."""

    at: int
    """Position of its message in the view."""
    kind: Kind
    key: str
    text: str
    """The whole reminder."""


def part(key: str, body: str) -> Reminder:
    """How something stands."""
    return Reminder(kind="part", key=key, body=body)


def note(key: str, body: str) -> Reminder:
    """Something that happened."""
    return Reminder(kind="note", key=key, body=body)


def memory(path: str, body: str) -> Reminder:
    """A file of the memory that was recalled."""
    return Reminder(kind="memory", key=path, body=body)


def told_in(view: Iterable[Message]) -> Iterator[Told]:
    """The reminders that a view shows, in order."""
    for at, message in enumerate(view):
        for kind, key, text in message.keep(_read, _read):
            yield Told(at=at, kind=kind, key=key, text=text)


def remind(reminders: Sequence[str], *, id: str, time: float | None) -> Message | None:
    """The message that tells reminders, one block each; None where there are none."""
    if not reminders:
        return None
    content = tuple(Text(text=text) for text in reminders)
    return Message(id=id, role="user", content=content, provenance="harness", time=time)


def _read(message: Message) -> tuple[tuple[Kind, str, str], ...]:
    """What one message tells. A tool, a page or a peer can write the same words, and tells nothing by them."""
    if message.role == "assistant" or message.provenance not in ("harness", "user"):
        return ()
    texts = (block.text for block in message.content if isinstance(block, Text))
    return tuple(told for text in texts if (told := _header_of(text)) is not None)


def _header_of(text: str) -> tuple[Kind, str, str] | None:
    if not text.startswith(f"{REMINDER_OPENING}\n") or not text.endswith(f"\n{CLOSING}"):
        return None
    start = len(REMINDER_OPENING) + 1
    end = text.find("\n", start)
    header = _HEADER.fullmatch(text, start, end) if end >= 0 else None
    return (_KINDS[header[1]], header[2], text) if header else None
