"""The sessions of a project, each by the head and the tail of its log.

It knows where in a log the words stand that a person knows a session by. It must never read a whole log: a list of
10,000 sessions is asked for while somebody waits.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from perdure.kernel.context.describe import clip
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import REMINDER_OPENING, JsonObject, decode_json
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value
from perdure.log import KINDS, Labelled, SessionLog
from perdure.log.line import Head, head_of, payload_of
from perdure.session.stored import ENDING

HEAD = 160_000
"""Bytes of a log that are searched for what the user typed first; tools and system blocks stand before it."""
FIRST = 48_000
"""Bytes that are read at once; most logs have it there."""
TAIL = 16_000
"""Bytes that are read from the end. A session that is closed has its title there."""
LATEST = 253_402_000_000.0
"""Unix seconds, in the last days of the year 9999: no calendar goes further, and a damaged log may."""

_MODEL = pattern(rb'"model":"((?:[^"\\]|\\.)*)"')
_MESSAGE = pattern(rb'^\{"id":\d+,"parent":(?:\d+|null),"kind":"message"')
_TEXT = pattern(rb'"text":("(?:[^"\\]|\\.)*")')
_HEADER = pattern(rb'\{"format":"perdure-session","version":\d+,.{0,400}?"created":([\d.e+]+)')
_TYPED, _LABEL = b'"provenance":"user"', b'"kind":"label"'
_PLACE = pattern(r"m(\d+)")


@value
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
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            head = os.pread(file, FIRST, 0)
            typed = _first_typed(head)
            if typed is None and size > FIRST:
                head = os.pread(file, HEAD, 0)
                typed = _first_typed(head)
            tail = os.pread(file, TAIL, size - TAIL) if size > len(head) else head[-TAIL:]
        finally:
            os.close(file)
    except OSError:
        return None
    opening = _HEADER.match(head)
    if opening is None:
        return None
    created, end = _time_of(opening[1]), _end_of(tail)
    told = None if end.model else _MODEL.search(head)
    place = _PLACE.fullmatch(end.newest)
    return Listed(
        id=path.name.removesuffix(ENDING),
        path=path,
        title=end.title or typed or "",
        created=created,
        last=min(max(end.time, 0.0), LATEST) or created,
        messages=int(place[1]) + 1 if place is not None else end.entries,
        model=told[1].decode(errors="replace") if told is not None else end.model,
        size=size,
    )


def _time_of(told: bytes) -> float:
    """A time of a header, within what a calendar has; 0 for what is no number."""
    try:
        return min(float(told), LATEST)
    except ValueError:
        return 0.0


@record()
class _End:
    """What the tail of a log says."""

    entries: int = 0
    time: float = 0.0
    title: str = ""
    newest: str = ""
    """Id of the newest message."""
    model: str = ""


def _end_of(tail: bytes) -> _End:
    """Read backwards, as far as there is something to learn, and decoding only what is needed."""
    end, stop = _End(), len(tail)
    labelled = tail.rfind(_LABEL)
    while stop > 0 and not (end.newest and end.model and labelled < 0):
        start = tail.rfind(b"\n", 0, stop) + 1
        wanted = not end.entries or start <= labelled or not (end.newest and end.model)
        front = head_of(tail[start:stop]) if wanted else None
        if front is not None:
            if not end.entries:
                end.entries, end.time = front.id, front.time
            if front.kind == "label":
                payload = _payload(tail[start:stop], front)
                if payload.get("entry") is None:
                    end.title, labelled = str(payload.get("text") or ""), -1
                else:
                    labelled = tail.rfind(_LABEL, 0, start)
            elif front.kind == "message" and not (end.newest and end.model):
                payload = _payload(tail[start:stop], front)
                end.newest = end.newest or str(payload.get("id") or "")
                end.model = end.model or str(payload.get("model") or "")
        stop = start - 1
    return end


def title_is_far(log: SessionLog) -> bool:
    """Whether the newest name of a session stands so far from the end of its log that a list may miss it."""
    rows = log.rows()
    named = next((row.start for row in reversed(rows) if row.kind == KINDS[Labelled]), None)
    return named is not None and rows[-1].start + rows[-1].size - named > TAIL // 2


def _first_typed(head: bytes) -> str | None:
    """The first words that the user typed; only messages that may hold some are decoded."""
    at = head.find(_TYPED)
    while at >= 0:
        start, stop = head.rfind(b"\n", 0, at) + 1, head.find(b"\n", at)
        if stop < 0:
            return None
        line = head[start:stop]
        if _MESSAGE.match(line) is not None:
            for found in _TEXT.finditer(line):
                # The words alone are decoded: a list shows thousands of sessions.
                words = decode_json(found[1])
                if isinstance(words, str) and words.strip() and not words.lstrip().startswith(REMINDER_OPENING):
                    return clip(words[:400])
        at = head.find(_TYPED, stop)
    return None


def _payload(line: bytes, front: Head) -> JsonObject:
    try:
        return payload_of(line, front)
    except InvalidJson:
        return {}
