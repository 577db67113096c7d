"""Names and lines of others, made fit to stand in a line of ours.

It knows characters. It must never know what a text is about.
"""

from __future__ import annotations

import unicodedata

INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Unicode categories that break a line, steer a terminal or turn the direction of writing."""


def one_line(text: str) -> str:
    """The same text on one line: what cannot be seen, or would break the line, is written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if unicodedata.category(char) in INVISIBLE else char for char in text)


def clip(text: str, most: int) -> str:
    """At most this many characters, with an ellipsis in the place of the rest."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
