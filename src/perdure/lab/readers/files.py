"""The files themselves: what a folder holds, how a file begins, its lines, its whole.

It knows paths, bytes and limits, and is the only place of the readers that opens anything. It must never know a format.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from perdure.kernel.errors import InvalidJson, UnreadableFile
from perdure.kernel.messages import Json, JsonObject, decode_json
from perdure.kernel.pattern import pattern
from perdure.lab.readers.format import Line, Sample, Troubles

HEAD = 1 << 20
"""Bytes that a format is recognised by."""

SAMPLE_LINES = 64
"""Whole lines of the head that are looked at."""

MAX_LINE = 64 << 20
"""Bytes of one line. A longer one is passed over: no recorded response is as large."""

MAX_DOCUMENT = 96 << 20
"""Bytes of a file that must be decoded as a whole, which takes about eight times as much memory."""

MAX_DEPTH = 200
"""Levels of nesting at which a beginning of a document is no longer completed."""

ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".traj"})
"""Names in a folder that may be recordings. A file that is named itself may end in anything."""

_TOKEN = pattern(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)


def walk(paths: Iterable[Path]) -> Iterator[Path]:
    """The files to read: those named, and in folders everything that may be a recording, sorted, hidden names left out.

    A folder that links lead to twice is entered once. What cannot be entered is given as it is, so that reading it says
    why.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield from _walk(path, seen) if path.is_dir() else (path,)


def _walk(top: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    waiting = [top]
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            yield path
            continue
        try:
            status = path.stat()
            inside = sorted(path.iterdir(), reverse=True)
        except OSError:
            yield path
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        waiting.extend(
            one
            for one in inside
            if not one.name.startswith(".") and (one.suffix.lower() in ENDINGS or one.is_dir()) and one.exists()
        )


def sample(path: Path) -> Sample:
    """How a file begins.

    Raises:
        UnreadableFile: there is no such file, it may not be opened, or it is empty, a folder or a device.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UnreadableFile(f"{str(path)!r} is a folder; name the files in it, or let them be found")
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(f"{str(path)!r} is no regular file")
        with path.open("rb") as handle:
            head = handle.read(HEAD)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    if not head.strip():
        raise UnreadableFile(f"{str(path)!r} is empty")
    return _sample(head, whole=len(head) == status.st_size)


def looks_binary(path: Path) -> bool:
    """Whether a file that no format fits is no text at all."""
    with path.open("rb") as handle:
        head = handle.read(HEAD)
    return b"\0" in head or head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"\x89PNG", b"%PDF"))


def lines(path: Path, troubles: Troubles) -> Iterator[Line]:
    """The values of a file's lines. One that is no JSON, or too long, is reported and passed over.

    Raises:
        UnreadableFile: reading failed.
    """
    try:
        with path.open("rb") as handle:
            number = 0
            while raw := handle.readline(MAX_LINE):
                number += 1
                if len(raw) == MAX_LINE and not raw.endswith(b"\n"):
                    while (rest := handle.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                        pass
                    troubles.add(number, f"longer than {MAX_LINE >> 20} MiB")
                    continue
                if raw.isspace():
                    continue
                try:
                    value = decode_json(raw)
                except InvalidJson as error:
                    troubles.add(number, str(error).replace(" at line 1,", " at"))
                    continue
                yield Line(number=number, value=value)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def document(path: Path) -> Iterator[Line]:
    """The one value of a file.

    Raises:
        UnreadableFile: reading failed, it is too large to be decoded as a whole, or it is no JSON to its end.
    """
    try:
        size = path.stat().st_size
        if size > MAX_DOCUMENT:
            raise UnreadableFile(
                f"{str(path)!r} is one JSON document of {size >> 20} MiB; the limit is {MAX_DOCUMENT >> 20} MiB. "
                f"Files of one JSON object per line have none"
            )
        value = decode_json(path.read_bytes())
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except InvalidJson as error:
        raise UnreadableFile(f"{str(path)!r} is broken or breaks off: {error}") from error
    yield Line(number=None, value=value)


def _sample(head: bytes, *, whole: bool) -> Sample:
    rows = head.split(b"\n")
    if not whole and len(rows) > 1:
        rows.pop()
    rows = [row for row in rows if row.strip()][:SAMPLE_LINES]
    values = [_value(row) for row in rows]
    objects = tuple(value for value in values if isinstance(value, dict))
    by_lines = bool(values) and (isinstance(values[0], dict) or len(objects) * 2 > len(values))
    if by_lines and len(rows) > 1:
        return Sample(lines=objects, document=None)
    begun = values[0] if len(rows) == 1 and whole and values[0] is not None else _begun(head, whole=whole)
    return Sample(lines=objects or _only(begun, len(rows)), document=begun)


def _only(begun: Json, rows: int) -> tuple[JsonObject, ...]:
    """A first line that is longer than the head, as far as it is there."""
    return (begun,) if rows == 1 and isinstance(begun, dict) else ()


def _value(data: bytes | str) -> Json:
    try:
        return decode_json(data)
    except InvalidJson:
        return None


def _begun(head: bytes, *, whole: bool) -> Json:
    """The value that a file begins with: what is missing at its end is closed."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        return None
    if whole and (value := _value(text)) is not None:
        return value
    open_: list[str] = []
    cut, closing = 0, ""
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind in "{[":
            open_.append("}" if kind == "{" else "]")
            cut, closing = token.end(), "".join(reversed(open_))
        elif kind in "}]":
            if not open_ or open_.pop() != kind:
                break
        elif kind == ",":
            cut, closing = token.start(), "".join(reversed(open_))
        elif kind == '"' or len(open_) > MAX_DEPTH:
            break
        if not open_ or len(open_) > MAX_DEPTH:
            break
    return _value(text[:cut] + closing)
