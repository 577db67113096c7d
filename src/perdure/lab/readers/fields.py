"""Fields of decoded values that may be of any type, taken as the type that is needed, or not at all.

It knows JSON. It must never know a format.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from perdure.kernel.messages import Json, JsonObject

LATEST = 32_503_680_000.0
"""Seconds up to the year 3000: greater numbers are milliseconds, and what is greater still is no time."""


def text(given: JsonObject, key: str) -> str | None:
    """A string, or None."""
    value = given.get(key)
    return value if isinstance(value, str) else None


def part(given: JsonObject, key: str) -> JsonObject:
    """An object; an empty one for anything else."""
    value = given.get(key)
    return value if isinstance(value, dict) else {}


def items(given: JsonObject, key: str) -> list[Json]:
    """An array; an empty one for anything else."""
    value = given.get(key)
    return value if isinstance(value, list) else []


def parts(given: JsonObject, key: str) -> list[JsonObject]:
    """The objects of an array."""
    return [item for item in items(given, key) if isinstance(item, dict)]


def count(given: JsonObject, key: str) -> int:
    """A number of tokens or a position; 0 for anything else, and for what is below 0."""
    value = given.get(key)
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


def seconds(value: Json) -> float | None:
    """A time as seconds since the epoch: from ISO 8601 (UTC where it names no zone), seconds or milliseconds."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return None
        try:
            return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
        except (OverflowError, ValueError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value > LATEST:
        value = value / 1000 if value <= LATEST * 1000 else math.nan
    return float(value) if 0 < value <= LATEST else None


def flat(content: Json) -> str:
    """The text of a content: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [item if isinstance(item, str) else item.get("text") for item in content if isinstance(item, str | dict)]
    return "\n".join(one for one in texts if isinstance(one, str))
