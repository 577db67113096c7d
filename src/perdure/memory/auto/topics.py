"""Topics: the files beside the index, with what their heads say of them.

It knows the folder and its bounds. It must never know which topic is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from perdure.guard.reading import Caution, read_file
from perdure.kernel.prompt import head_of
from perdure.kernel.value import value
from perdure.memory.auto.index import INDEX

FILES = 200
"""Topics that are looked at: each is read before the first token of an answer."""
DEPTH = 3
"""Folders below the memory's own."""
BYTES = 64 * 1024
"""Bytes read of a topic: far more than is told of it."""


@value
class Topic:
    """One topic."""

    path: Path
    name: str
    """From its head; else the name of the file."""
    description: str
    """From its head; else its first line."""
    text: str
    """What stands behind the head, as much as was read."""
    time: float
    """When it was last written, in seconds since the epoch."""


@value
class Topics:
    """The topics of one folder."""

    topics: tuple[Topic, ...] = ()
    """By path."""
    cautions: tuple[Caution, ...] = ()


def find_topics(folder: Path) -> Topics:
    """Read the topics of a folder. It never raises: what is wrong with a file is told as a caution."""
    topics: list[Topic] = []
    cautions: list[Caution] = []
    for path in memory_files(folder)[:FILES]:
        reading = read_file(path, limit=BYTES, within=folder)
        if reading is None or path.name == INDEX:
            continue
        if reading.caution is not None and not reading.cut:
            cautions.append(reading.caution)
        elif not str(path).isprintable():
            cautions.append(Caution(place=ascii(str(path)), what="has a name that cannot be told; rename it"))
        else:
            topics.append(topic_of(path, reading.text, reading.time))
    return Topics(topics=tuple(topics), cautions=tuple(cautions))


def memory_files(folder: Path) -> list[Path]:
    """The Markdown files of a memory, by path. Links to folders are not followed, so no walk goes in a circle."""
    return sorted(_walk(folder))


def topic_of(path: Path, text: str, time: float) -> Topic:
    """A topic from its text."""
    head = head_of(text)
    body = _behind_head(text) if head else text
    first = next((line.strip("# \t") for line in body.split("\n") if line.strip("# \t")), "")
    return Topic(
        path=path,
        name=head.get("name") or path.stem,
        description=head.get("description") or first,
        text=body.strip(),
        time=time,
    )


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder, followlinks=False):
        here = Path(where)
        if len(here.relative_to(folder).parts) >= DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (here / name for name in names if name.endswith(".md") and not name.startswith("."))


def _behind_head(text: str) -> str:
    lines = text.split("\n")
    end = next((index for index, line in enumerate(lines[1:], start=1) if line.strip() == "---"), 0)
    return "\n".join(lines[end + 1 :])
