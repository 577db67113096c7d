"""Who called, when, over which route and with what outcome: one JSON object a line, for those who answer for it.

It knows ids, names of principals and numbers. It must never hold a word of a request or of an answer, a key, or what a
client calls its model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from perdure.kernel.errors import UnreadableFile
from perdure.kernel.messages import JsonObject, encode_json

Audit: TypeAlias = Callable[[JsonObject], None]


class AuditFile:
    """Appends lines to a file that its owner alone can read. Each is one write, so that replicas may share a file."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            UnreadableFile: it cannot be opened.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error

    def __call__(self, entry: JsonObject) -> None:
        """Append an entry."""
        os.write(self._file, encode_json(entry) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def nobody(entry: JsonObject) -> None:
    """Keeps no record."""
