"""The read tool: lines of a text file, a picture, the cells of a notebook, the pages of a PDF.

It knows which kind a file is, and how much one answer holds. It must never load more of a file than it shows, but for
kinds that can only be read whole, which have a bound.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from perdure.kernel.agent import AgentTool
from perdure.kernel.agent.ports import Result
from perdure.kernel.messages import Image, JsonObject, Text, Tool
from perdure.kernel.value import value
from perdure.tools.actions import Harmless, Offered, ReadPath
from perdure.tools.arguments import arguments, number_in, text_in
from perdure.tools.disk import opened, real
from perdure.tools.encoding import SAMPLE, UTF_8, Encoding, encoding_of, shown
from perdure.tools.failed import ToolFailed
from perdure.tools.media import Picture, kind_of_binary, picture_of
from perdure.tools.pages import cells_of, pdf_pages
from perdure.tools.seen import Seen, digest_of
from perdure.tools.workspace import Workspace

LINES = 2_000
"""Lines of one answer."""
CHARACTERS = 80_000
"""Characters of one answer, some 25,000 tokens."""
LONG_LINE = 2_000
"""Characters of a line that are shown."""
WHOLE = 32_000_000
"""Bytes of a file of a kind that can only be read whole."""
COUNTED = 256_000_000
"""Bytes of a file that is read to its end, to tell how many lines it has."""
PIECE = 16_384
"""Bytes of a line that are looked at."""
PIXELS = 8_000
"""Of a side of a picture (Anthropic, vision guide, 2026-10)."""
MOST = 1_000_000_000
"""Of a line number."""
PICTURE = 3_750_000
"""Bytes of a picture: its base64 form stays within 5 MB (Anthropic, vision guide, 2026-10)."""

READ = Tool(
    name="read",
    description=(
        f"Shows a file with line numbers (at most {LINES:,} lines; they are no part of it). Shows pictures (PNG, JPEG, "
        "GIF, WebP), the cells of notebooks, and the text of PDFs. Use offset and limit for a part of a large file."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "description": "first line (of a PDF: page), from 1"},
            "limit": {"type": "integer", "description": "how many"},
        },
        "required": ["path"],
    },
)


@value
class Wanted:
    """What a call asks for."""

    path: Path
    offset: int
    limit: int


@value
class Excerpt:
    """Lines of a file."""

    rows: tuple[str, ...]
    first: int
    lines: int | None
    """Of the whole file; None where they were not counted."""
    digest: str
    """Of the whole file; empty where it was not read to its end, or nothing was shown."""


def offered(workspace: Workspace, seen: Seen) -> Offered:
    """The tool for a session."""

    async def run(given: JsonObject) -> Result:
        return await asyncio.to_thread(read, workspace, seen, wanted_of(given, workspace))

    def actions(given: JsonObject) -> tuple[ReadPath | Harmless, ...]:
        try:
            return (ReadPath(path=wanted_of(given, workspace).path),)
        except ToolFailed:
            return (Harmless(),)

    return Offered(tool=AgentTool(definition=READ, run=run, beside=True), actions=actions)


def read(workspace: Workspace, seen: Seen, wanted: Wanted) -> Result:
    """What a call gives back.

    Raises:
        ToolFailed: there is no such file, or it cannot be shown.
    """
    name = shown(workspace.shown(wanted.path))
    with opened(wanted.path) as (file, about):
        sample = file.read(SAMPLE)
        file.seek(0)
        if (picture := picture_of(sample)) is not None:
            return _pictured(name, picture, _all_of(file, name, PICTURE))
        if sample.startswith(b"%PDF-"):
            return f"[{name}: {pdf_pages(_all_of(file, name, WHOLE), wanted.offset, wanted.limit, CHARACTERS)}"
        encoding = encoding_of(sample)
        if encoding is None:
            raise ToolFailed(
                f"{name!r} is binary ({kind_of_binary(sample)}, {about.st_size:,} bytes) and is not shown. "
                "Use bash with a program that knows its format."
            )
        excerpt = _excerpt(_source(file, wanted.path, encoding, name), wanted, about.st_size <= COUNTED)
    if excerpt.digest:
        span = (excerpt.first, excerpt.first + len(excerpt.rows) - 1)
        seen.saw(real(wanted.path), excerpt.digest, mtime=about.st_mtime, lines=excerpt.lines or 0, span=span)
    return _told(name, excerpt, encoding, crlf=b"\r\n" in sample)


@value
class _Source:
    """Where lines come from: the file itself, or what was made of the whole of it."""

    file: BinaryIO
    encoding: Encoding
    digest: str = ""
    """Of the file, where it was read already."""


def _source(file: BinaryIO, path: Path, encoding: Encoding, name: str) -> _Source:
    notebook = path.suffix == ".ipynb"
    if not notebook and not encoding.wide:
        return _Source(file=file, encoding=encoding)
    data = _all_of(file, name, WHOLE)
    text = cells_of(encoding.decode(data)) if notebook else encoding.decode(data)
    return _Source(file=BytesIO(UTF_8.encode(text)), encoding=UTF_8, digest=digest_of(data))


def _excerpt(source: _Source, wanted: Wanted, to_the_end: bool) -> Excerpt:
    """The lines that are wanted, as many as an answer holds. The rest is only counted."""
    digest, rows, room, number, full = sha256(), list[str](), CHARACTERS, 0, False
    for number, (start, more) in enumerate(_pieces(source.file, digest.update), 1):
        full = full or len(rows) >= wanted.limit
        if full and not to_the_end:
            return Excerpt(rows=tuple(rows), first=wanted.offset, lines=None, digest="")
        if number < wanted.offset or full:
            continue
        row = f"{number}\t{_line(source.encoding.decode(start), more)}"
        room -= len(row) + 1
        full = room < 0 and bool(rows)
        if not full:
            rows.append(row)
    read = source.digest or digest.hexdigest()
    return Excerpt(rows=tuple(rows), first=wanted.offset, lines=number, digest=read if rows or not number else "")


def _pieces(file: BinaryIO, update: Callable[[bytes], None]) -> Iterator[tuple[bytes, int]]:
    """The start of each line, and how many bytes it has beyond that. A line may be as long as the file."""
    while piece := file.readline(PIECE):
        start, more = piece, 0
        update(piece)
        while not piece.endswith(b"\n") and (piece := file.readline(PIECE)):
            update(piece)
            more += len(piece)
        yield start, more


def _line(text: str, more: int) -> str:
    text = text.rstrip("\r\n") if not more else text
    if not more and len(text) <= LONG_LINE:
        return shown(text)
    beyond = f"{len(text) - LONG_LINE:,} more characters" if not more else f"more than {more:,} more bytes"
    return f"{shown(text[:LONG_LINE])} [... {beyond} in this line; cut -c in bash shows them]"


def _told(name: str, excerpt: Excerpt, encoding: Encoding, *, crlf: bool) -> str:
    last, lines = excerpt.first + len(excerpt.rows) - 1, excerpt.lines
    if lines == 0:
        return f"[{name} is empty.]"
    if not excerpt.rows:
        raise ToolFailed(f"{name!r} has {lines:,} lines; there is no line {excerpt.first:,}.")
    odd = [f"in {encoding.name}"] if encoding.name != "utf-8" else []
    odd += ["lines end with CRLF, which edit keeps"] if crlf else []
    odd += ["a byte order mark, which edit keeps"] if encoding.mark and encoding.name == "utf-8" else []
    if lines is None:
        odd.append(f"lines {excerpt.first:,}-{last:,} of a very large file; go on with offset {last + 1}")
    elif last < lines:
        odd.append(f"lines {excerpt.first:,}-{last:,} of {lines:,}; go on with offset {last + 1}")
    return "\n".join([*excerpt.rows, *([f"[{name}: {'; '.join(odd)}.]"] if odd else [])])


def _pictured(name: str, picture: Picture, data: bytes) -> Result:
    size = f", {picture.width} x {picture.height}" if picture.width else ""
    told = f"[{name}: {picture.media_type}{size}, {len(data):,} bytes]"
    source: JsonObject = {"type": "base64", "media_type": picture.media_type, "data": b64encode(data).decode()}
    if max(picture.width, picture.height) > PIXELS:
        raise ToolFailed(f"{told} A picture may have {PIXELS:,} pixels a side. Make a smaller copy and read that.")
    return (Text(text=told), Image(source=source))


def _all_of(file: BinaryIO, name: str, most: int) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise ToolFailed(f"{name!r} is too large to show: such a file may have {most:,} bytes. Make a smaller copy.")
    return data


def wanted_of(given: JsonObject, workspace: Workspace) -> Wanted:
    """What a call asks for.

    Raises:
        ToolFailed: arguments that are wrong.
    """
    named = arguments(given, READ)
    return Wanted(
        path=workspace.resolve(text_in(named, "path")),
        offset=number_in(named, "offset", 1, least=0, most=MOST) or 1,
        limit=min(number_in(named, "limit", LINES, least=1, most=MOST), LINES),
    )
