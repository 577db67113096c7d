"""Lint many small source trees by one set of contracts, in one process: `python lint_trees.py pyproject.toml TREE...`.

Prints import-linter's report on each tree, under a line with its path. It knows nothing of what the trees hold. It
needs a process of its own: import-linter asks Python where `perdure` lies, and here nothing has answered that yet.
"""

import importlib
import sys

from importlinter.cli import lint_imports

HEADING = "TREE "


def main(configuration: str, *trees: str) -> None:
    """Report on every tree."""
    before = list(sys.path)
    for tree in trees:
        sys.path[:] = [tree, *before]
        importlib.invalidate_caches()
        sys.stdout.write(f"{HEADING}{tree}\n")
        sys.stdout.flush()
        lint_imports(configuration, no_cache=True, no_logo=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
