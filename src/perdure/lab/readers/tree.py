"""The path through a recording that is a tree: from its root to what was said last.

It knows names and parents. It must never know what an entry says. Parents that are missing end a path, and cycles do.
"""

from __future__ import annotations

from collections.abc import Mapping


def path_to(leaf: str, parents: Mapping[str, str | None]) -> list[str]:
    """The names from the root to `leaf`, which is the last."""
    path: list[str] = []
    seen: set[str] = set()
    name: str | None = leaf
    while name is not None and name in parents and name not in seen:
        seen.add(name)
        path.append(name)
        name = parents[name]
    path.reverse()
    return path


def root_of(name: str, parents: Mapping[str, str | None], known: dict[str, str]) -> str:
    """Where the path to `name` begins. `known` keeps what was found, so that long paths are walked once."""
    walked: list[str] = []
    seen: set[str] = set()
    root = name
    while root not in known and root not in seen:
        seen.add(root)
        walked.append(root)
        parent = parents.get(root)
        if parent is None or parent not in parents:
            break
        root = parent
    found = known.get(root, root)
    known.update(dict.fromkeys(walked, found))
    return found
