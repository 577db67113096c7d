"""Libraries that the command loads at their first use, wherever they are imported.

Imports stand at the top of a file, and a command starts as fast as what they load. Both hold because of this table:
whichever file imports one of these gets a module that is loaded when an attribute of it is first asked for, so the
prompt is there before the client of HTTP. It works for `import x` and not for `from x import y`, which asks at once.

It knows names of libraries. It must never name a part of the product: what a command does not need, it does not import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType

LATER = frozenset({"asyncio", "html", "httpx", "tomlkit", "tree_sitter", "tree_sitter_bash"})
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
        spec = PathFinder.find_spec(name, path, target) if name in LATER else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Waiting(spec.loader)
        return spec


def load_later() -> None:
    """From now on."""
    if not any(isinstance(finder, Later) for finder in sys.meta_path):
        sys.meta_path.insert(0, Later())


class _Waiting(Loader):
    """Makes a module and leaves it empty."""

    # `importlib.util.LazyLoader` would do, but its modules load when a second file imports them (CPython 3.11 asks for
    # `__spec__` then), and two threads that need one at once can see half of it.
    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._lock = RLock()
        # Until the machinery of imports has made the module, and while it is being loaded, it has what it has.
        self._busy = True

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """See `Loader`."""
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Not yet."""
        self._busy = False

    def fill(self, module: ModuleType) -> None:
        """Load it, unless that is what asks."""
        with self._lock:
            if self._busy or type(module) is ModuleType:
                return
            self._busy = True
            try:
                self._loader.exec_module(module)
                module.__class__ = ModuleType
            finally:
                self._busy = False


class _Empty(ModuleType):
    """A module that is loaded when it is asked for what it does not have yet."""

    def __getattr__(self, name: str) -> object:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, _Waiting):
            loader.fill(self)
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None
