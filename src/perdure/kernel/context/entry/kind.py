"""The kinds of tool output, each of which is reduced in its own way, and the two shapes that a way takes.

It knows names. It must never know how a kind is told from another or what is kept of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "json",
    "ndjson",
    "log",
    "test_report",
    "search_hits",
    "diff",
    "table",
    "file",
    "traceback",
    "prose",
    "minified",
]
"""What a tool output is. `minified` is text with hardly any line ends; `prose` is whatever else nothing fits."""

Draft: TypeAlias = Callable[[int], str]
"""Writes the reduced text in about so many characters. May miss by a little, never raises; ever less room, ever less
text. The text was looked through before, so that a second try with another room costs little."""

Reducer: TypeAlias = Callable[[str], Draft]
"""Looks through a clean text once and returns what can write it down at any size."""
