"""Which folders the user trusts: one path on each line of a file in the user's own folder.

It knows that file. It must never know what trust permits. A folder is trusted with what lies in it.
"""

from __future__ import annotations

import os
from pathlib import Path

from perdure.guard.reading import read_file
from perdure.kernel.errors import DiskRefused, UserError

NAME = "trusted"
LIMIT = 1_000_000
"""Bytes: some ten thousand folders."""


def is_trusted(home: Path, root: Path) -> bool:
    """Whether the user trusts the folder, or one that it lies in."""
    reading = read_file(home / NAME, limit=LIMIT, owned=True)
    if reading is None or reading.caution is not None:
        return False
    known = {line.strip() for line in reading.text.splitlines() if line.strip()}
    return any(str(folder) in known for folder in (root.resolve(), *root.resolve().parents))


def trust(home: Path, root: Path) -> None:
    """Remember that the user trusts a folder.

    Raises:
        UserError: a folder whose name cannot stand on a line.
        DiskRefused: it cannot be written.
    """
    path = str(root.resolve())
    if "\n" in path or "\r" in path:
        raise UserError("a folder whose name has a line break cannot be trusted; rename it")
    if is_trusted(home, root):
        return
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, f"{path}\n".encode("utf-8", "surrogateescape"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise DiskRefused(
            f"{str(home / NAME)!r} cannot be written ({error.strerror}); nothing was remembered"
        ) from error
