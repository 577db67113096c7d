"""Which files below a folder a rule speaks of, or hold credentials: whoever reads all of a folder reads those as well.

It knows folders and paths in rules. It must never decide, and never walk without a bound.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.tools.ignore import is_ignored, rules_in
from perdure.tools.permissions.effects import Effect, Touch, Unclear, Wish
from perdure.tools.permissions.paths import Ground, holds_credentials, touch_of
from perdure.tools.permissions.rules import Rule, covers_path, place_of
from perdure.tools.walk import rules_above, walk

MOST = 100_000
"""Entries that are looked at."""
FOUND = 20
"""Files that are told of."""
QUICK = 5_000
"""Entries that are looked at for credentials before each command that reads a folder."""
INSTALLED = frozenset((".git", ".venv", "venv", "node_modules", "site-packages"))
"""Folders of other people's files, whose certificates are no secret."""

Depth: TypeAlias = Literal["names", "kept", "all"]
"""How a tool reads a folder: names only, what git does not ignore, or all of it."""


def deepened(wish: Wish, rules: Sequence[Rule], ground: Ground, depth: Depth) -> Wish:
    """The wish, and a touch for each file that rules speak of, in the folders of which everything is read; where that
    is literally everything, also for those that hold credentials. The search tool leaves them out by itself."""
    spoken = [rule for rule in rules if rule.kind == "read" and rule.pattern]
    if depth == "names":
        return wish
    more: list[Effect] = []
    for effect in wish.effects:
        if isinstance(effect, Touch) and effect.deep and effect.path.is_dir():
            more.extend(_below(effect.path, spoken, ground, depth))
            more.extend(_credentials(effect.path, ground) if depth == "all" else ())
    return replace(wish, effects=(*wish.effects, *more)) if more else wish


def _below(folder: Path, rules: Sequence[Rule], ground: Ground, depth: Depth) -> Iterator[Effect]:
    """A rule without a pattern needs no search."""
    patterns: list[Rule] = []
    for rule in rules:
        place = place_of(rule, ground.root, ground.home)
        if place is None:
            patterns.append(rule)
        elif place.is_relative_to(folder) and place.exists() and (depth == "all" or _is_kept(folder, place)):
            yield touch_of(place, "read", ground)
    if not patterns:
        return
    found = 0
    for number, path in enumerate(_kept(folder) if depth == "kept" else _all(folder)):
        if number >= MOST:
            yield Unclear(why="it goes through more files than can be looked at")
            return
        if any(covers_path(rule, path, ground.root, ground.home, fold=ground.fold) for rule in patterns):
            yield touch_of(path, "read", ground)
            found += 1
        if found >= FOUND:
            return


def _credentials(folder: Path, ground: Ground) -> Iterator[Effect]:
    """Files below a folder that hold credentials, as far as a quick look finds them."""
    looked = found = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in INSTALLED)
        for name in (*files, *folders):
            looked += 1
            if looked > QUICK or found >= FOUND:
                return
            if holds_credentials(name):
                yield touch_of(Path(place, name), "read", ground)
                found += 1


def _is_kept(folder: Path, place: Path) -> bool:
    """Whether a search of the folder that honours what git ignores comes to a place."""
    rules, parts = rules_above(folder), place.relative_to(folder).parts
    for number in range(len(parts)):
        prefix = "/".join(parts[:number])
        rules = (*rules, *rules_in(folder / prefix, f"{prefix}/" if prefix else ""))
        path = "/".join(parts[: number + 1])
        if is_ignored(path, (folder / path).is_dir(), rules):
            return False
    return True


def _kept(folder: Path) -> Iterable[Path]:
    return (folder / found.path for found in walk(folder) if not found.ignored)


def _all(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
