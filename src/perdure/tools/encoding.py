"""Bytes of a file as text and back: encodings, byte order marks, ends of lines.

It knows bytes. It must never know where they come from. What was not changed comes back byte for byte.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, TypeAlias

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.tools.failed import ToolFailed

LineEnd: TypeAlias = Literal["\n", "\r\n"]

SAMPLE = 65_536
"""Bytes from the start of a file that tell what it is."""

_MARKS = (
    # The mark of UTF-32 begins with that of UTF-16, so it comes first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = pattern(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_BEYOND_ASCII = pattern(rb"[\x80-\xff]+")


@value
class Encoding:
    """How a text stands in its file."""

    name: str
    """As Python calls it. `utf-8` may hold single bytes that are none; they are kept."""
    mark: bytes = b""
    """The byte order mark."""

    @property
    def wide(self) -> bool:
        """Whether a line feed takes more than one byte."""
        return self.name.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """The text of a whole file, or of whole lines of it; the mark is left out."""
        return data.removeprefix(self.mark).decode(self.name, "surrogateescape" if self.name == "utf-8" else "replace")

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file.

        Raises:
            ToolFailed: the text has a character that the encoding lacks.
        """
        try:
            return self.mark + text.encode(self.name, "surrogateescape" if self.name == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            lost = text[error.start]
            what = f"the encoding of the file, {self.name}, has no {lost!r}" if self.name != "utf-8" else "half a pair"
            raise ToolFailed(f"Nothing was written: {what}. Use other characters.") from error


UTF_8 = Encoding(name="utf-8")


def encoding_of(sample: bytes) -> Encoding | None:
    """The encoding of a file that begins like this; None where it is no text."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name=name, mark=mark)
    if b"\0" in sample or len(_CONTROLS.findall(sample)) > len(sample) // 20:
        return None
    if _mostly_utf_8(sample):
        return UTF_8
    # Each of the two gives every byte back. Windows-1252 has five bytes that mean nothing; ISO 8859-1 has none.
    return Encoding(name="cp1252" if not re.search(rb"[\x81\x8d\x8f\x90\x9d]", sample) else "latin-1")


def line_end_of(text: str) -> LineEnd:
    """What most lines end with."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf * 2 > text.count("\n") else "\n"


def shown(text: str) -> str:
    """Text as a model is shown it: bytes that are no text, and controls that could steer a terminal, as a mark."""
    return text.translate(_SHOWN)


_SHOWN = dict.fromkeys((*range(0xD800, 0xE000), *range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F), "\ufffd")


def _mostly_utf_8(sample: bytes) -> bool:
    """Whether it is UTF-8, but for a character that the sample cuts, or a few odd bytes, as logs have them."""
    good = bad = 0
    for run in _BEYOND_ASCII.findall(sample):
        wrong = sum(0xDC80 <= ord(letter) <= 0xDCFF for letter in run.decode("utf-8", "surrogateescape"))
        bad += wrong
        good += len(run) - wrong
    return bad <= 3 and good >= bad if len(sample) >= SAMPLE else good > bad or not bad
