"""Libraries that the command loads at their first use, wherever they are imported.

Imports stand at the top of a file, and a command starts as fast as what they load. Both hold because of this table:
whichever file imports one of these gets a module that is loaded when an attribute of it is first asked for, so the
prompt is there before the client of HTTP. It works for `import x` and not for `from x import y`, which asks at once.

It knows names of libraries. It must never name a part of the product: what a command does not need, it does not import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LATER = frozenset({"httpx", "tree_sitter", "tree_sitter_bash"})
"""At their first use."""

NEVER = frozenset({"httpx._main"})
"""The program that httpx brings along and does without. It loads click, rich and pygments where those are installed."""


class Later:
    """A finder (PEP 451) that goes before the others."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The library, to be loaded later; None for what is none of our business.

        Raises:
            ModuleNotFoundError: it is one that nobody needs.
        """
        if name in NEVER:
            raise ModuleNotFoundError(f"the command goes without {name}", name=name)
        if name not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def load_later() -> None:
    """From now on."""
    if not any(isinstance(finder, Later) for finder in sys.meta_path):
        sys.meta_path.insert(0, Later())
