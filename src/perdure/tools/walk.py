"""The files below a folder, without what git ignores.

It knows folders. It must never follow a link, and never walk without a bound.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from perdure.kernel.value import value
from perdure.tools.ignore import Rule, is_ignored, rules_in

MOST = 300_000
"""Entries that are looked at."""


@value
class Found:
    """An entry."""

    path: str
    """Relative to where the walk began, with slashes."""
    folder: bool
    ignored: bool
    entry: os.DirEntry[str]

    @property
    def mtime(self) -> float:
        """When it was last changed; 0 where that cannot be asked."""
        try:
            return self.entry.stat(follow_symlinks=False).st_mtime
        except OSError:
            return 0.0


def rules_above(folder: Path) -> tuple[Rule, ...]:
    """What the folders above bring, as far as the repository goes; nothing where the folder itself is ignored, so that
    whoever names an ignored folder sees what is in it."""
    above = (folder, *folder.parents)
    root = next((place for place in above if (place / ".git").exists()), folder)
    rules: list[Rule] = []
    for place in reversed(above[1:]):
        if place.is_relative_to(root):
            inner = folder.relative_to(place).as_posix()
            own = rules_in(place, "")
            parts = inner.split("/")
            if any(is_ignored("/".join(parts[: n + 1]), True, own) for n in range(len(parts))):
                return ()
            rules += [replace(rule, above=f"{inner}/") for rule in own]
    return tuple(rules)


def walk(folder: Path, depth: int = 100) -> Iterator[Found]:
    """Entries below a folder, each folder before what is in it, in the order of names. What is ignored is told and not
    entered, `.git` is passed over, and folders that cannot be read count as empty."""
    waiting: list[tuple[Path, str, tuple[Rule, ...], int]] = [(folder, "", rules_above(folder), 1)]
    looked = 0
    while waiting:
        place, prefix, rules, level = waiting.pop()
        rules = (*rules, *rules_in(place, prefix))
        below: list[tuple[Path, str, tuple[Rule, ...], int]] = []
        for entry in _entries(place):
            looked += 1
            if looked > MOST:
                return
            path = prefix + entry.name
            inside = entry.is_dir(follow_symlinks=False)
            ignored = is_ignored(path, inside, rules)
            yield Found(path=path, folder=inside, ignored=ignored, entry=entry)
            if inside and not ignored and level < depth:
                below.append((Path(entry.path), f"{path}/", rules, level + 1))
        waiting += reversed(below)


def _entries(place: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return sorted((entry for entry in entries if entry.name != ".git"), key=lambda entry: entry.name)
    except OSError:
        return []
