"""Completion: commands behind a slash, files behind an @.

It knows names. It must never read a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from perdure.kernel.pattern import pattern

MOST = 60
"""Suggestions."""
LOOKED = 4_000
"""Entries of folders that are looked at for one of them."""
SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", "target"}
)

_AT = pattern(r"(?:^|\s)@([^\s@]*)$")


class Words(Completer):
    """Completes what is typed."""

    def __init__(self, root: Path, commands: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._root, self._commands = root, commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """See prompt_toolkit."""
        before = document.text_before_cursor
        if before.startswith("/") and " " not in before and "\n" not in before:
            for name, says in self._commands():
                if name.startswith(before[1:]):
                    yield Completion(name, start_position=1 - len(before), display_meta=says)
            return
        found = _AT.search(before)
        if found is not None:
            for path in _files(self._root, found.group(1)):
                yield Completion(path, start_position=-len(found.group(1)))


def _files(root: Path, typed: str) -> Iterator[str]:
    """Files whose path contains what was typed, those that begin so first."""
    looked = 0
    wanted = typed.lower()
    first: list[str] = []
    later: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        below = os.path.relpath(folder, root)
        for name in sorted(names):
            looked += 1
            path = name if below == "." else f"{below}/{name}"
            if wanted in path.lower() and path.isprintable():
                (first if path.lower().startswith(wanted) or name.lower().startswith(wanted) else later).append(path)
        if looked > LOOKED or len(first) >= MOST:
            break
    yield from (*first, *later)[:MOST]
