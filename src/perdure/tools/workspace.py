"""Where the tools of a session work: its folders, its environment, and what a path that the model wrote stands for.

It knows paths. It must never decide what may be touched: permissions do.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from perdure.kernel.value import value
from perdure.tools.failed import ToolFailed

LONGEST = 4_096
"""Characters of a path: what Linux takes (PATH_MAX), so that nothing longer is looked for."""


@value
class Workspace:
    """The folders of one session. They stay as they are while it lasts."""

    cwd: Path
    """Absolute. Relative paths start here, and so does each command."""
    roots: tuple[Path, ...]
    """The root of the project, then the folders that were added."""
    home: Path
    """The user's home directory, which `~` stands for."""
    environment: Mapping[str, str]
    """What commands get to see."""
    kept: Path
    """A folder of this session that others cannot read (mode 0700), for output too large to carry."""

    def resolve(self, given: str) -> Path:
        """The absolute path that the model means. Links stay in it, unless `..` has to be worked out.

        A name that is not there is also looked for in another Unicode form: models write composed letters and plain
        spaces, while macOS keeps letters decomposed and puts narrow spaces into the names of screenshots.

        Raises:
            ToolFailed: nothing that a path can be.
        """
        if not given.strip():
            raise ToolFailed("The path is empty. Give one, absolute or relative to the working directory.")
        if "\0" in given or len(given) > LONGEST:
            raise ToolFailed(f"A path has no NUL and at most {LONGEST:,} characters.")
        try:
            os.fsencode(given)
        except UnicodeEncodeError as error:
            raise ToolFailed(
                "The path has a character that no file name can have (half of a surrogate pair)."
            ) from error
        path = self.cwd / _without_tilde(given, self.home)
        if ".." in path.parts:
            path = Path(os.path.realpath(path))
        return _as_spelled_on_disk(path)

    def shown(self, path: Path) -> str:
        """A path as it is told: relative to the working directory where it lies below it."""
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)


def _without_tilde(given: str, home: Path) -> Path:
    if given == "~":
        return home
    return home / given[2:].lstrip("/") if given.startswith("~/") else Path(given)


def _as_spelled_on_disk(path: Path) -> Path:
    if os.path.lexists(path):
        return path
    wanted = _one_form(path.name)
    try:
        with os.scandir(path.parent) as entries:
            alike = [entry.name for entry in entries if _one_form(entry.name) == wanted]
    except OSError:
        return path
    return path.with_name(alike[0]) if len(alike) == 1 else path


def _one_form(name: str) -> str:
    return unicodedata.normalize("NFC", name).replace("\u202f", " ").replace("\u00a0", " ")
