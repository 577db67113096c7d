"""Import the kernel where the product and its libraries cannot be had, and watch what importing does.

    python import_blind.py pyproject.toml SOURCES

import-linter reads import statements; this sees what is imported by any means. Prints what went against the rules, a
line each, and nothing if all is well. It needs a process of its own, in which nothing is imported yet.
"""

import contextlib
import importlib
import os
import pkgutil
import sys
import tomllib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

KERNEL = "perdure.kernel"

EFFECTS = {
    "os.mkdir",
    "os.putenv",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.system",
    "os.unsetenv",
    "shutil.copyfile",
    "socket.__new__",
    "sqlite3.connect",
    "subprocess.Popen",
    "urllib.Request",
}


class Refused(ImportError):
    """A kernel module reached for what it must not know."""


class Blindfold:
    """Refuses to find the product and whatever library the kernel must not know."""

    def __init__(self, refused: set[str], found: list[str]) -> None:
        self.refused = refused
        self.found = found

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Refuse the name, or leave it to Python's own finders."""
        top, *below = name.split(".")
        if top in self.refused or (top == "perdure" and below and below[0] != "kernel"):
            self.found.append(f"imported {name}")
            raise Refused(f"the kernel must not know {name!r}")
        return None


class Watch:
    """Notes what is done to the world while `on`. An audit hook cannot be removed, so it is switched."""

    def __init__(self, found: list[str]) -> None:
        self.found = found
        self.on = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note the event if it is an effect, or a file that no import needs."""
        if not self.on:
            return
        if event in EFFECTS:
            self.found.append(f"{event} {arguments!r}")
        if event == "open" and not is_of_an_import(str(arguments[0])):
            self.found.append(f"opened {arguments[0]}")


def is_of_an_import(path: str) -> bool:
    """Whether Python opens the file in order to import: a module, or its byte code, written as name.pyc.NUMBER."""
    return path.endswith((".py", ".pyc", ".so")) or ".pyc." in path


def libraries_the_kernel_must_not_know(configuration: Path) -> set[str]:
    """The packages that the import contracts name, so that both checks refuse the same."""
    contracts = tomllib.loads(configuration.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    named = {name for contract in contracts if "SDK" in contract["name"] for name in contract["forbidden_modules"]}
    # Python's own modules may use argparse and the like among themselves.
    return named - set(sys.stdlib_module_names)


def main(configuration: Path, sources: Path) -> None:
    """Import every kernel module, blindfolded and watched."""
    found: list[str] = []
    sys.meta_path.insert(0, Blindfold(libraries_the_kernel_must_not_know(configuration), found))
    watch = Watch(found)
    sys.addaudithook(watch)
    sys.path.insert(0, str(sources))
    environment = dict(os.environ)

    watch.on = True
    kernel = importlib.import_module(KERNEL)
    for module in pkgutil.walk_packages(kernel.__path__, f"{KERNEL}."):
        with contextlib.suppress(Refused):
            importlib.import_module(module.name)
    watch.on = False

    if environment != dict(os.environ):
        found.append("changed the environment")
    sys.stdout.writelines(f"{line}\n" for line in found)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
