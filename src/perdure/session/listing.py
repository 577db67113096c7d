"""The sessions of a project, each by the head and the tail of its log.

It knows where in a log the words stand that a person knows a session by. It must never read a whole log: a list of
10,000 sessions is asked for while somebody waits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perdure.kernel.context.describe import clip
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, Message, typed_texts
from perdure.kernel.messages.persist import message_from_json
from perdure.log import KINDS, Labelled, SessionLog
from perdure.log.line import Head, head_of, header_of, payload_of
from perdure.session.stored import ENDING

HEAD = 160_000
"""Bytes of a log that are searched for what the user typed first; tools and system blocks stand before it."""
FIRST = 48_000
"""Bytes that are read at once; most logs have it there."""
TAIL = 16_000
"""Bytes that are read from the end. A session that is closed has its title there."""

_MODEL = re.compile(rb'"model":"((?:[^"\\]|\\.)*)"')
_MESSAGE = re.compile(rb'^\{"id":\d+,"parent":(?:\d+|null),"kind":"message"')
_PLACE = re.compile(r"m(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One session."""

    id: str
    path: Path
    title: str
    """The name that people gave it, else what the user typed first, in one line."""
    created: float
    """Unix seconds."""
    last: float
    """Unix seconds of the newest entry."""
    messages: int
    """How many there are, by the place that the newest one names; entries of the log where it names none."""
    model: str
    """Empty where the head and the tail do not say."""
    size: int
    """Bytes of the log."""


def list_sessions(folder: Path) -> list[Listed]:
    """The sessions in a folder, the one that was written last first. A file that is no log is left out."""
    found: list[tuple[float, Path, int]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING):
                with suppress(OSError):
                    known = entry.stat()
                    found.append((known.st_mtime, Path(entry.path), known.st_size))
    found.sort(key=lambda each: -each[0])
    return [row for _, path, size in found if (row := listed(path, size)) is not None]


def listed(path: Path, size: int) -> Listed | None:
    """The row of one log; None where it is none, or cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(FIRST)
            typed = _first_typed(head)
            if typed is None and size > FIRST:
                head += file.read(HEAD - FIRST)
                typed = _first_typed(head)
            tail = head
            if size > len(head):
                file.seek(max(0, size - TAIL))
                tail = file.read(TAIL)
    except OSError:
        return None
    header = header_of(head.partition(b"\n")[0])
    if header is None:
        return None
    end = _end_of(tail)
    told = None if end.model else _MODEL.search(head)
    place = _PLACE.fullmatch(end.newest)
    return Listed(
        id=path.name.removesuffix(ENDING),
        path=path,
        title=end.title or typed or "",
        created=header.created,
        last=end.time or header.created,
        messages=int(place[1]) + 1 if place is not None else end.entries,
        model=told[1].decode(errors="replace") if told is not None else end.model,
        size=size,
    )


@dataclass(slots=True)
class _End:
    """What the tail of a log says."""

    entries: int = 0
    time: float = 0.0
    title: str = ""
    newest: str = ""
    """Id of the newest message."""
    model: str = ""


def _end_of(tail: bytes) -> _End:
    """Read backwards, decoding only what is needed."""
    end, named = _End(), False
    for line in reversed(tail.split(b"\n")):
        front = head_of(line)
        if front is None:
            continue
        if not end.entries:
            end.entries, end.time = front.id, front.time
        if front.kind == "label" and not named:
            payload = _payload(line, front)
            if payload.get("entry") is None:
                end.title, named = str(payload.get("text") or ""), True
        elif front.kind == "message" and not (end.newest and end.model):
            payload = _payload(line, front)
            end.newest = end.newest or str(payload.get("id") or "")
            end.model = end.model or str(payload.get("model") or "")
    return end


def title_is_far(log: SessionLog) -> bool:
    """Whether the newest name of a session stands so far from the end of its log that a list may miss it."""
    rows = log.rows()
    named = next((row.start for row in reversed(rows) if row.kind == KINDS[Labelled]), None)
    return named is not None and rows[-1].start + rows[-1].size - named > TAIL // 2


def _first_typed(head: bytes) -> str | None:
    for message in _messages(head.split(b"\n")):
        for text in typed_texts(message):
            if text.text.strip():
                return clip(text.text)
    return None


def _messages(lines: Iterable[bytes]) -> Iterator[Message]:
    for line in lines:
        if _MESSAGE.match(line) is not None and (front := head_of(line)) is not None:
            with suppress(InvalidJson):
                yield message_from_json(payload_of(line, front))


def _payload(line: bytes, front: Head) -> JsonObject:
    try:
        return payload_of(line, front)
    except InvalidJson:
        return {}
