"""The project context: AGENTS.md, or CLAUDE.md, from the user's folder and from every folder down to here.

It knows which files speak, in which order, and how much of them. It must never know what they say. They are
instructions of whoever wrote them, so a file counts only where it is: a link may not bring in another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure.guard.plain import one_line
from perdure.guard.reading import Caution, Reading, read_file
from perdure.kernel.value import value
from perdure.project.places import Places

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first that a folder has is read; the second is what older projects call it."""
FILE = 32 * 1024
"""Bytes of one file: 8,000 tokens, which each request of the session reads again."""
ALL = 64 * 1024
"""Bytes of all together; the closest files have the first claim."""
RULE = "\n\n---\n\n"


@value
class Instructions:
    """What the project context says."""

    text: str
    """Files in order, the closest last; empty where there are none."""
    files: tuple[Path, ...] = ()
    cautions: tuple[Caution, ...] = ()


def read_instructions(places: Places) -> Instructions:
    """Read the project context. It never raises: what is wrong with a file is told as a caution."""
    readings = _once(_readings(places))
    cautions = [reading.caution for _, reading in readings if reading.caution is not None]
    spoken = [(path, reading) for path, reading in readings if reading.text.strip()]
    kept, left = _within(spoken)
    cautions += [
        Caution(place=one_line(str(path)), what=f"left out: together the files exceed {ALL:,} bytes") for path in left
    ]
    texts = [_section(path, reading) for path, reading in kept]
    return Instructions(text=RULE.join(texts), files=tuple(path for path, _ in kept), cautions=tuple(cautions))


def _readings(places: Places) -> Iterator[tuple[Path, Reading]]:
    """What each folder has, the user's first, then from the root of the file system down to here."""
    # The user's own folder may be made of links to wherever the user keeps such files.
    yield from _first(places.home, within=None, owned=False)
    for folder in (*reversed(places.cwd.parents), places.cwd):
        if folder.is_relative_to(places.root):
            yield from _first(folder, within=places.root, owned=False)
        else:
            # Above the project there are folders like /tmp, where anybody may put a file.
            yield from _first(folder, within=folder, owned=True)


def _first(folder: Path, *, within: Path | None, owned: bool) -> Iterator[tuple[Path, Reading]]:
    """The first file of a folder that can be read, after the cautions of those that cannot."""
    for name in NAMES:
        reading = read_file(folder / name, limit=FILE, within=within, owned=owned)
        if reading is not None:
            yield folder / name, reading
            if reading.text:
                return


def _once(readings: Iterator[tuple[Path, Reading]]) -> list[tuple[Path, Reading]]:
    """Each file once, where it stands first: the user's folder may be one of those above the working directory."""
    seen: set[Path] = set()
    kept: list[tuple[Path, Reading]] = []
    for path, reading in readings:
        if reading.path is None or reading.path not in seen:
            kept.append((path, reading))
        if reading.path is not None:
            seen.add(reading.path)
    return kept


def _within(spoken: list[tuple[Path, Reading]]) -> tuple[list[tuple[Path, Reading]], list[Path]]:
    """The files that fit, from the closest on; the others are left out whole."""
    room, kept, left = ALL, list[tuple[Path, Reading]](), list[Path]()
    for path, reading in reversed(spoken):
        room -= len(reading.text.encode())
        if room < 0 and kept:
            left.append(path)
        else:
            kept.append((path, reading))
    return kept[::-1], left[::-1]


def _section(path: Path, reading: Reading) -> str:
    text = reading.text.strip()
    if reading.cut:
        text += f"\n\n[The file goes on: it has {reading.size:,} bytes, of which {FILE:,} stand here. Read on at need.]"
    return f"From {one_line(str(path))}:\n\n{text}"
