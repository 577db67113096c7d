"""Texts of models and tools, made unable to steer a terminal.

It knows characters. It must never know colours.
"""

from __future__ import annotations

import unicodedata

from perdure.guard.plain import INVISIBLE
from perdure.kernel.pattern import pattern

_ESCAPE = pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?|\x9b[0-?]*[ -/]*[@-~]")
_TAB = 4


def clean(text: str) -> str:
    """The same text without sequences that move, colour or name anything; line ends and tabs (as blanks) stay."""
    text = _ESCAPE.sub("", text.replace("\r\n", "\n")).expandtabs(_TAB)
    # All of these categories count as not printable, and asking so is done in C: a result may be large.
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char for char in text if char == "\n" or unicodedata.category(char) not in INVISIBLE)
