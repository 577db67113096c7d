"""The index: MEMORY.md, of the project and of the user, as it is told at the start of a session.

It knows how much of it is told. It must never know what a memory is about. What stands there was written by a model in
another session, so it is told as notes, with the folder that it is from.
"""

from __future__ import annotations

from pathlib import Path

from perdure.guard.plain import one_line
from perdure.guard.reading import Caution, read_file
from perdure.kernel.value import value

INDEX = "MEMORY.md"
LINES = 200
"""Lines of an index that are told: one for each topic, and nobody keeps more topics than that in order."""
BYTES = 25 * 1024
"""Bytes of an index that are told: 6,000 tokens, which each request of the session reads again."""

_EMPTY = f"({INDEX} is empty or does not exist yet. There is nothing to read; write it with the first memory.)"


@value
class Index:
    """An index as it is told."""

    folder: Path
    text: str
    """Empty where there is none."""
    caution: Caution | None = None


def read_index(folder: Path) -> Index:
    """Read the index of a folder, as much as is told. A link must not bring in a file from elsewhere."""
    reading = read_file(folder / INDEX, limit=BYTES, within=folder)
    if reading is None:
        return Index(folder=folder, text="")
    lines = reading.text.rstrip().split("\n")
    # The last line may be half a line; a whole file that fits ends where it ends.
    kept = lines[:-1] if reading.cut and len(lines) > 1 else lines
    kept = kept[:LINES]
    text = "\n".join(kept).strip()
    if text and (reading.cut or len(lines) > LINES):
        text += f"\n\n{_left_out(len(kept), len(lines), reading.size, cut=reading.cut)}"
    return Index(folder=folder, text=text, caution=None if reading.cut else reading.caution)


def memory_body(project: Index, user: Index) -> str:
    """The body of the memory's part: what holds everywhere, then what holds here."""
    return (
        "Notes from earlier sessions. They tell how things were when they were written: check before you rely on them."
        "\n\n"
        f"{_told('of the user, for every project', user)}\n\n{_told('of this project', project)}"
    )


def _told(whose: str, index: Index) -> str:
    return f"Memory {whose}, in {one_line(str(index.folder))}:\n\n{index.text or _EMPTY}"


def _left_out(told: int, lines: int, size: int, *, cut: bool) -> str:
    whole = f"{size:,} bytes" if cut else f"{lines} lines"
    return (
        f"[{INDEX} has {whole}; its first {told} lines stand here. Keep it a lean index: one line for each topic, "
        "and the substance in the topic's file.]"
    )
