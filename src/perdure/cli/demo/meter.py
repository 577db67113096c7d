"""The live line of the demo: how full the context is, how much was asked, and what was done about it.

It knows events as `perdure -p --output jsonl` prints them. It must never count anything that they do not say.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import cast

from perdure.cli.progress import INTERVAL

CELLS = 24


class Meter:
    """Shows one line on a terminal; a line for each message of the user's elsewhere."""

    def __init__(self, window: int) -> None:
        self._window, self._shows = window, sys.stderr.isatty()
        self._requests = self._edits = self._folds = self._tokens = 0
        self._usd, self._next = 0.0, 0.0
        self._what = ""

    def begin(self, text: str) -> None:
        """The user says something."""
        self._wipe()
        words = " ".join(text.split())
        print(f"user: {words[:96]}{'...' if len(words) > 96 else ''}", file=sys.stderr)

    def killed(self) -> None:
        """The agent was killed."""
        self._wipe()
        print("      (the process was killed with SIGKILL in the middle of a request, and is resumed)", file=sys.stderr)

    def hear(self, event: Mapping[str, object]) -> None:
        """Something happened."""
        match event.get("event"):
            case "turn_start":
                self._requests += 1
                self._tokens = _whole(event.get("tokens"))
            case "usage":
                self._usd += _number(event.get("usd"))
            case "compaction_end" if event.get("kind") == "full" or event.get("kind") == "memory":
                self._folds += 1
                self._tokens = _whole(event.get("tokens_after"))
            case "compaction_end":
                self._edits += 1
                self._tokens = _whole(event.get("tokens_after"))
            case "tool_start":
                self._what = str(event.get("tool"))
            case "error":
                self._wipe()
                failure = cast("Mapping[str, object]", event.get("failure") or {})
                said = str(failure.get("message", ""))
                print(f"      (the provider: {said[:100]})", file=sys.stderr)
            case _:
                return
        self._show()

    def end(self) -> None:
        """Leave the line."""
        self._wipe()

    def _show(self) -> None:
        now = time.monotonic()
        if not self._shows or now < self._next:
            return
        self._next = now + INTERVAL
        full = min(CELLS, CELLS * self._tokens // self._window)
        bar = "#" * full + "." * (CELLS - full)
        line = (
            f"[{bar}] {self._tokens:>6,} of {self._window:,}  {self._requests} requests  {self._edits} clearings  "
            f"{self._folds} checkpoints  ${self._usd:.3f}  {self._what}"
        )
        print(f"\r\x1b[K{line[:118]}", end="", file=sys.stderr, flush=True)

    def _wipe(self) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
