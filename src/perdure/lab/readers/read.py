"""Reading a recorded session, whatever wrote it.

It knows how a file, its format and its reader come together. It must never know a format by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure.kernel.errors import UnknownFormat
from perdure.lab.readers.files import document, lines, looks_binary, sample
from perdure.lab.readers.format import Format, Input, Sample, Troubles
from perdure.lab.readers.registry import FORMATS
from perdure.lab.recording import Recording


def read(path: Path) -> Iterator[Recording]:
    """The recordings in a file: mostly one; subagents, and conversations of raw requests, are recordings of their own.

    A line that cannot be read is passed over and told in the `troubles` of the recording that was read meanwhile.

    Raises:
        UnknownFormat: no reader knows the file; the message lists what was looked for.
        UnreadableFile: it is missing, empty, no file, may not be opened, or is one JSON document that breaks off.
    """
    begun = sample(path)
    format = _format_of(begun)
    if format is None:
        raise UnknownFormat(_unknown(path))
    troubles = Troubles()
    by_lines = format.layout == "lines" or (format.layout == "either" and bool(begun.lines))
    values = lines(path, troubles) if by_lines else document(path)
    yield from format.read(Input(file=path.name, lines=values, troubles=troubles))


def detect(path: Path) -> Format | None:
    """The format of a file, by how it begins; None where no reader knows it.

    Raises:
        UnreadableFile: it is missing, empty, no file, or may not be opened.
    """
    return _format_of(sample(path))


def _format_of(begun: Sample) -> Format | None:
    return next((format for format in FORMATS if format.recognises(begun)), None)


def _unknown(path: Path) -> str:
    if looks_binary(path):
        return f"{str(path)!r} is a binary file; recorded sessions are JSON text"
    known = "; ".join(f"{format.name}: {format.about}" for format in FORMATS)
    return f"the format of {str(path)!r} is not known. Looked for {known}"
