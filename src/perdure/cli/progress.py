"""One line that shows how far long work is; only where a person looks at it.

It knows a terminal's line. It must never print where the output is a file.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

INTERVAL = 0.1
"""Seconds between two prints: more often than an eye follows costs time and says nothing."""


class Progress:
    """Shows `what` and a share on standard error, and wipes it in the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shows = self._stream.isatty()
        self._next = 0.0
        self._shown = False

    def show(self, what: str, done: int, whole: int) -> None:
        """Show how many of how many are done."""
        now = time.monotonic()
        if not self._shows or (now < self._next and done < whole):
            return
        self._next = now + INTERVAL
        share = f" {100 * done // whole:3d} %" if whole else ""
        print(f"\r\x1b[K{what[:70]}{share}", end="", file=self._stream, flush=True)
        self._shown = True

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._shown = False
