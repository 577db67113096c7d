"""What a person approved for good: exact names of wishes, in a file for this user alone.

It knows that file. It must never decide what an approval covers. A file that is damaged approves nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from perdure.guard.reading import Caution, read_file
from perdure.kernel.errors import DiskRefused, InvalidJson
from perdure.kernel.messages import Json, decode_json, encode_json
from perdure.kernel.value import value

NAME = "approvals.json"
VERSION = 1
LIMIT = 4_000_000
"""Bytes: some ten thousand commands."""


@value
class Approved:
    """What the file says."""

    names: frozenset[str] = frozenset()
    caution: Caution | None = None
    """What was wrong with it; then it approves nothing."""


def read_approvals(path: Path) -> Approved:
    """Read the approvals; a file that is not there approves nothing, and so does one that is damaged."""
    reading = read_file(path, limit=LIMIT, owned=True)
    if reading is None:
        return Approved()
    if reading.caution is not None:
        return Approved(caution=reading.caution)
    if path.is_symlink() or path.stat().st_mode & 0o022:
        return _damaged(path, "is a link, or others may write it")
    try:
        given = decode_json(reading.text)
    except InvalidJson:
        return _damaged(path, "is damaged")
    match given:
        case {"version": 1, "approved": list(names)} if all(isinstance(name, str) for name in names):
            return Approved(names=frozenset(cast("Sequence[str]", names)))
        case _:
            return _damaged(path, "is damaged, or was written by another version")


def add_approvals(path: Path, names: Sequence[str]) -> frozenset[str]:
    """Approve more for good; what the file holds by then stays. Gives all that is approved.

    Raises:
        DiskRefused: it cannot be written.
    """
    known = read_approvals(path).names | set(names)
    approved: list[Json] = [*sorted(known)]
    data = encode_json({"version": VERSION, "approved": approved})
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=f".{NAME}.", dir=path.parent)
        try:
            # mkstemp makes it for this user alone.
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DiskRefused(f"{str(path)!r} cannot be written ({error.strerror}); nothing was remembered") from error
    return known


def _damaged(path: Path, what: str) -> Approved:
    return Approved(caution=Caution(place=str(path), what=f"{what}; nothing in it counts, remove it to begin anew"))
