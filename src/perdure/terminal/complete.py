"""Completion: commands behind a slash, files behind an @.

It knows names. It must never read a file, apart from those that say what git ignores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from perdure.kernel.pattern import pattern
from perdure.tools.walk import walk

MOST = 60
"""Suggestions."""
LOOKED = 100_000
"""Entries of folders that are looked at."""
FRESH = 10.0
"""Seconds for which the names that were found are taken to be those that there are."""
SKIPPED = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", "target"})
"""Folders in which nobody looks for a file, where no .gitignore says so."""

_AT = pattern(r"(?:^|\s)@([^\s@]*)$")


class Words(Completer):
    """Completes what is typed. Files take a walk, so it belongs into a thread."""

    def __init__(
        self,
        root: Path,
        commands: Callable[[], Iterable[tuple[str, str]]],
        clock: Callable[[], float],
    ) -> None:
        self._root, self._commands, self._clock = root, commands, clock
        self._files: tuple[float, tuple[str, ...]] | None = None

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
            for path in _matching(self._known(), found.group(1)):
                yield Completion(path, start_position=-len(found.group(1)))

    def _known(self) -> tuple[str, ...]:
        now = self._clock()
        if self._files is None or now - self._files[0] > FRESH:
            self._files = (now, tuple(_files(self._root)))
        return self._files[1]


def _files(root: Path) -> Iterator[str]:
    """Files that git does not ignore, also where there is no repository."""
    for looked, found in enumerate(walk(root)):
        if looked >= LOOKED:
            return
        parts = found.path.split("/")[:-1]
        if not found.folder and not found.ignored and found.path.isprintable() and not SKIPPED.intersection(parts):
            yield found.path


def _matching(files: Iterable[str], typed: str) -> list[str]:
    """Files whose path contains what was typed, those that begin so first."""
    wanted = typed.lower()
    first: list[str] = []
    later: list[str] = []
    for path in files:
        low = path.lower()
        if wanted in low:
            (first if low.startswith(wanted) or low.rpartition("/")[2].startswith(wanted) else later).append(path)
            if len(first) >= MOST:
                break
    return [*first, *later][:MOST]
