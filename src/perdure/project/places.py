"""Where things are: the user's folder, the root of the repository, and the folder of what is kept about a project.

It knows the layout on the disk. It must never read what stands there, beyond the few files by which git ties a worktree
to its repository.

    ~/.perdure/                     or PERDURE_HOME
      AGENTS.md SYSTEM.md APPEND_SYSTEM.md skills/ memory/
      projects/<id>/memory/
    <root>/.perdure/                the same names, for one repository
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from perdure.guard.reading import read_file
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

DIGITS = 12
"""Hexadecimal digits of the hash in an id: a million projects share one with a chance of 1 in 500."""
NAME = 40
"""Characters of the folder's name in an id, for a person who looks."""
POINTER = 4096
"""Bytes of a file by which git points somewhere: a path, so no more than the longest there can be."""

_OTHER = pattern(r"[^A-Za-z0-9]+")


@value
class Places:
    """The folders of one working directory."""

    home: Path
    """The user's folder of Perdure."""
    cwd: Path
    """The working directory, links resolved."""
    root: Path
    """The repository or worktree that it lies in; the working directory itself where there is none."""
    repository: bool
    """Whether there is one."""
    id: str
    """Names the project: the same for every worktree of a repository."""

    @property
    def kept(self) -> Path:
        """What is kept about the project: its memory, its sessions."""
        return self.home / "projects" / self.id

    @property
    def memory(self) -> Path:
        """The project's memory."""
        return self.kept / "memory"

    @property
    def user_memory(self) -> Path:
        """The user's memory, for every project."""
        return self.home / "memory"

    @property
    def own(self) -> Path:
        """What the repository itself brings for Perdure."""
        return self.root / ".perdure"


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's folder: `PERDURE_HOME`, else `.perdure` in the home directory."""
    given = environment.get("PERDURE_HOME", "").strip()
    return (
        Path(given).expanduser().absolute() if given else Path(environment.get("HOME") or "~").expanduser() / ".perdure"
    )


def places_of(cwd: Path, home: Path) -> Places:
    """The places of a working directory."""
    here = cwd.resolve()
    root = next((folder for folder in (here, *here.parents) if _is_there(folder / ".git")), None)
    return Places(
        home=home, cwd=here, root=root or here, repository=root is not None, id=id_of(_main(root) if root else here)
    )


def id_of(root: Path) -> str:
    """The id of the project with this root: its name, for people, and a hash of its path."""
    name = _OTHER.sub("-", root.name).strip("-")[:NAME] or "root"
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{name}-{digest[:DIGITS]}"


def _main(root: Path) -> Path:
    """The root of the repository that a worktree belongs to; the root itself for any other folder.

    A `.git` file can point anywhere, and the one of a hostile archive would point to another project, to be shown its
    memory. So the repository has to point back, as git writes it.
    """
    link = root / ".git"
    control = _pointed(link, "gitdir:")
    if control is None or _pointed(control / "gitdir", "") != link:
        return root
    shared = _pointed(control / "commondir", "")
    if shared is None or control.parent != shared / "worktrees":
        return root
    return shared.parent if shared.name == ".git" else shared


def _pointed(file: Path, prefix: str) -> Path | None:
    """The path that a file of git's names, relative to its folder."""
    reading = read_file(file, limit=POINTER)
    text = reading.text.strip() if reading is not None else ""
    if not text.startswith(prefix) or not text or "\0" in text:
        return None
    try:
        path = file.parent / text[len(prefix) :].strip()
        return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    except (OSError, RuntimeError):
        return None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
