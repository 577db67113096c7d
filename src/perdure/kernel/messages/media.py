"""What a picture or a document weighs: its kind and dimensions, read from its first bytes.

It knows file headers. It must never know a provider's price for a picture: `tokens` does. Whatever the bytes are,
reading them is bounded and never fails: a header that lies or ends early gives dimensions of 0.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from perdure.kernel.messages.blocks import Document, Image
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

JPEG_SEGMENTS = 100
"""Segments looked at in search of a frame header. Cameras write under 20; profiles and thumbnails come in several."""

PDF_BYTES = 4_000_000
"""Bytes of a document that are searched for pages, half of them from its start and half from its end."""

MOST_PAGES = 10_000
"""More pages than any provider takes; what claims to have more has as many."""

MOST_PIXELS = 65_535
"""The longest edge of any format but PNG, and far beyond what a provider takes."""


@value
class Media:
    """One picture or document inside a message."""

    kind: Literal["image", "document"]
    width: int = 0
    """Pixels; 0 where the header does not tell."""
    height: int = 0
    """Pixels; 0 where the header does not tell."""
    pages: int = 0
    """Pages of a document; 0 where its data does not tell."""
    detail: str = ""
    """OpenAI's `detail` of a picture: `low`, `high`, `auto`; empty where not given."""


def media_of(block: Image | Document) -> Media:
    """The kind and dimensions of a picture or document, as far as its data tells."""
    data = _data_of(block)
    if isinstance(block, Document):
        return Media(kind="document", pages=_pages(data))
    width, height = _size(data)
    detail = block.extra.get("detail") if block.extra else None
    return Media(kind="image", width=width, height=height, detail=detail if isinstance(detail, str) else "")


Read: TypeAlias = Callable[[int, int], bytes]
"""Bytes of a file from a position on, fewer or none where the file ends or is no base64."""


def _data_of(block: Image | Document) -> str:
    """The base64 text of a block's data, from its own field or from a data URL; empty where the data is elsewhere."""
    data = block.source.get("data")
    if isinstance(data, str):
        return data
    url = block.source.get("url")
    if isinstance(url, str) and url[:5].lower() == "data:":
        header, _, body = url.partition(",")
        return body if header.endswith(";base64") else ""
    return ""


def _reader(data: str) -> Read:
    """Reads from base64 text without decoding more than what is asked for: three bytes stand in four characters."""

    def read(start: int, count: int) -> bytes:
        first = start // 3
        text = data[first * 4 : (start + count + 2) // 3 * 4]
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return b""
        return decoded[start - first * 3 :][:count]

    return read


def _size(data: str) -> tuple[int, int]:
    read = _reader(data)
    head = read(0, 32)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        size = _number(head[16:20], "big"), _number(head[20:24], "big")
    elif head.startswith((b"GIF87a", b"GIF89a")):
        size = _number(head[6:8], "little"), _number(head[8:10], "little")
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg(read)
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        size = _webp(head)
    else:
        size = 0, 0
    width, height = size
    # A size that is told by half tells nothing: the default of `tokens` is the better guess.
    return (min(width, MOST_PIXELS), min(height, MOST_PIXELS)) if width and height else (0, 0)


def _number(data: bytes, order: Literal["big", "little"]) -> int:
    return int.from_bytes(data, order)


def _jpeg(read: Read) -> tuple[int, int]:
    """Walks from segment to segment, over colour profiles and thumbnails, to the frame header."""
    place = 2
    for _ in range(JPEG_SEGMENTS):
        segment = read(place, 9)
        if len(segment) < 9 or segment[0] != 0xFF:
            return 0, 0
        marker = segment[1]
        if marker == 0xFF:  # a fill byte
            place += 1
        elif 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            return _number(segment[7:9], "big"), _number(segment[5:7], "big")
        else:
            place += 2 + _number(segment[2:4], "big")
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            return _number(head[26:28], "little") & 0x3FFF, _number(head[28:30], "little") & 0x3FFF
        case b"VP8L" if head[20:21] == b"\x2f":
            bits = _number(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(head) >= 30:
            return _number(head[24:27], "little") + 1, _number(head[27:30], "little") + 1
        case _:
            return 0, 0


_PAGE = pattern(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_PAGE_TREE = pattern(rb"/Type\s{0,8}/Pages(?![A-Za-z])")
_COUNT = pattern(rb"/Count\s{1,8}(\d{1,7})")
_LINEARIZED = pattern(rb"/Linearized\s.{0,200}?/N\s{1,8}(\d{1,7})", re.DOTALL)


def _pages(data: str) -> int:
    """Pages of a PDF: the largest count of a page tree, else the pages in sight; 0 where all is compressed."""
    read = _reader(data)
    head = read(0, PDF_BYTES // 2)
    if not head.lstrip().startswith(b"%PDF-"):
        return 0
    rest = max(PDF_BYTES // 2, len(data) // 4 * 3 - PDF_BYTES // 2)
    seen = head + read(rest, PDF_BYTES // 2 + 3)
    told = [int(found[1]) for found in _LINEARIZED.finditer(head[:2_048])]
    for tree in _PAGE_TREE.finditer(seen):
        around = seen[max(0, tree.start() - 200) : tree.end() + 200]
        told += [int(found[1]) for found in _COUNT.finditer(around)]
    return min(MOST_PAGES, max(told) if told else len(_PAGE.findall(seen)))
