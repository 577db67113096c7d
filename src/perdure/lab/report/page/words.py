"""Text and numbers as the page shows them.

It knows escaping and how long a number may be. What comes from a session is hostile until it went through `shown`:
control characters, halves of surrogate pairs and marks that turn the reading direction become a replacement character.
"""

from __future__ import annotations

from perdure.kernel.messages import Json
from perdure.kernel.pattern import pattern

_UNSHOWABLE = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_SPACE = pattern(r"\s+")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

NOTHING = "–"
"""Stands where a figure does not apply."""

SAME = "the same"
"""Said of two prices that differ by less than half a percent."""


def plain(value: str, most: int = 400) -> str:
    """Text without what a page must not show, on one line and of bounded length."""
    line = _SPACE.sub(" ", _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", value[: most * 2])).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def shown(value: str, most: int = 400) -> str:
    """The same, safe in an element and in a quoted attribute."""
    return plain(value, most).translate(_ENTITIES)


def count(value: Json) -> str:
    """A whole number with its thousands apart."""
    return NOTHING if not _is_number(value) else f"{value:,.0f}"


def brief(value: Json) -> str:
    """A number in three digits and a letter."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return NOTHING
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            scaled = value / limit
            digits = 0 if abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
            return f"{scaled:.{digits}f}{letter}"
    return f"{value:.0f}"


def whole(value: Json) -> str:
    """A limit: exact where it is round, brief otherwise."""
    return mark(value) if isinstance(value, int) and value % 1_000 == 0 and value < 1e9 else brief(value)


def mark(value: float) -> str:
    """A number at a tick of an axis: no digit more than it needs."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"


def dollars(value: Json) -> str:
    """A price in USD."""
    return NOTHING if not isinstance(value, int | float) or isinstance(value, bool) else f"{value:,.2f}"


def percent(value: Json) -> str:
    """A share."""
    return NOTHING if not isinstance(value, int | float) or isinstance(value, bool) else f"{value * 100:.1f}\u202f%"


def difference(value: float, other: float) -> str:
    """How much less or more something costs than another thing."""
    share = value / other - 1
    return SAME if abs(share) < 0.005 else f"{abs(share) * 100:.0f}\u202f% {'less' if share < 0 else 'more'}"


def several(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def pause(seconds: float) -> str:
    """A length of time, in the unit that fits it."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit * 2:
            return f"{seconds / unit:.0f}\u202f{name}"
    return f"{seconds:.0f}\u202fs"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
