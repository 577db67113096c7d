"""How often each skill was used, and how long ago.

It knows one small file in the user's folder. It must never know what a skill is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from perdure.guard.reading import read_file
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, decode_object, encode_json
from perdure.kernel.value import value

FILE = "skill-uses.json"
HALF_LIFE = 7 * 86_400
"""Seconds after which a use counts half: what was used this week comes before what was used a lot last year."""
FLOOR = 0.1
"""What a use never falls below, so that a skill that was used comes before one that never was."""
MOST = 256 * 1024
"""Bytes of the file: some thousand skills."""


@value
class Use:
    """The uses of one skill."""

    count: int
    last: float
    """When it was last used, in seconds since the epoch."""


def read_uses(home: Path, now: float) -> Mapping[str, float]:
    """What each skill's uses weigh at a time; nothing where the file is missing or damaged."""
    return {
        name: use.count * max(FLOOR, 0.5 ** (max(0.0, now - use.last) / HALF_LIFE)) for name, use in _read(home).items()
    }


def record_use(home: Path, name: str, now: float) -> None:
    """Count one use. The file is replaced whole; one that cannot be written is left, since nothing depends on it."""
    uses = _read(home)
    before = uses.get(name)
    uses[name] = Use(count=1 + (before.count if before else 0), last=now)
    given: JsonObject = {name: {"count": use.count, "last": use.last} for name, use in sorted(uses.items())}
    temporary = home / f"{FILE}.{os.getpid()}.tmp"
    with suppress(OSError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(encode_json(given))
        temporary.replace(home / FILE)


def _read(home: Path) -> dict[str, Use]:
    reading = read_file(home / FILE, limit=MOST)
    if reading is None or not reading.text or reading.cut:
        return {}
    try:
        given = decode_object(reading.text)
    except InvalidJson:
        return {}
    return {name: use for name, value in given.items() if (use := _use(value)) is not None}


def _use(value: object) -> Use | None:
    match value:
        case {"count": int(count), "last": float() | int() as last} if count > 0:
            return Use(count=count, last=float(last))
        case _:
            return None
