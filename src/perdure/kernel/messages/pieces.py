"""A text that arrived in pieces.

It knows that a stream may cut a character beyond the first 65,536 in two: JSON writes such a one as two escapes, a
surrogate pair, of which each delta then holds one. It must never know whose text it is.
"""

from __future__ import annotations

from collections.abc import Iterable


def join_pieces(pieces: Iterable[str]) -> str:
    """The whole text, with halves that meet made one character. A half without its other stays as it came."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def ends_in_half(text: str) -> bool:
    """Whether the last character is the first half of a pair."""
    return "\ud800" <= text[-1:] <= "\udbff"
