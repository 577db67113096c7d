"""The git snapshot: how the repository stood when the session began.

It knows what is worth telling of it and how much. It must never be taken twice in a session: the model is told that it
is a snapshot, and the block that holds it never changes.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from pathlib import Path

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import Caution
from perdure.kernel.value import value
from perdure.project.git import Answer, Git, ask, find_git
from perdure.project.places import Places

PATIENCE = 2.0
"""Seconds for everything that is asked of git: longer than a healthy one takes on a large repository, and as long as a
person waits for a first answer without wondering."""
STATUS_LINES = 40
"""Lines of the status that are told: more changes than these are looked up, not remembered."""
COMMITS = 10
WIDTH = 160
"""Characters of a line."""
LARGE = 20_000
"""Files in the index from which on untracked files are not looked for: walking the folders takes as long again as
comparing the files, 0.25 s for 50,000 (measured on two cores, 2026-11)."""

NO_REPOSITORY = "Git: this directory is not a repository."


@value
class Snapshot:
    """What is told of the repository."""

    text: str
    cautions: tuple[Caution, ...] = ()


def take_snapshot(places: Places, environment: Mapping[str, str], patience: float = PATIENCE) -> Snapshot:
    """Ask git how things stand. It never raises: what git does not say is told as not known."""
    if not places.repository:
        return Snapshot(text=NO_REPOSITORY)
    git = find_git(places.root, environment)
    if git is None:
        return _unknown(places, "no git is installed")
    return _taken(places, git, patience)


def _taken(places: Places, git: Git, patience: float) -> Snapshot:
    end = time.monotonic() + patience
    large = _files_in_the_index(places.root) > LARGE
    status = ["status", "--porcelain", "--branch", "--ignore-submodules=all"]
    filters = _filters(git, end)
    if filters is None:
        return _late(places, patience)
    questions = (
        [*filters, *status, f"--untracked-files={'no' if large else 'normal'}"],
        ["for-each-ref", "--format=%(refname) %(symref)", *MAIN_BRANCHES],
        ["log", f"--max-count={COMMITS}", "--format=%h %cs %s", "--no-decorate"],
    )
    answers = ask(git, questions, end)
    if any(answer.ending == "late" for answer in answers):
        return _late(places, patience)
    if answers[0].ending == "failed":
        return _unknown(places, "git refused to read the repository")
    return Snapshot(text=_told(*answers, large=large))


MAIN_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/remotes/origin/main")
"""Where the name of the main branch is looked for, best first."""


def _told(status: Answer, branches: Answer, log: Answer, *, large: bool) -> str:
    head, *changes = _lines(status) or [""]
    commits = _lines(log)[:COMMITS] if log.ending == "done" else []
    lines = [
        "Git, as it stood when this session began; it is not kept up to date:",
        f"Branch: {_branch(head)}",
        f"Main branch: {_main_branch(branches)}",
        "Status:" if changes else "Status: clean",
        *changes[:STATUS_LINES],
    ]
    if len(changes) > STATUS_LINES:
        lines.append(f"... and {len(changes) - STATUS_LINES} more lines")
    if large:
        lines.append("(untracked files were not looked for: the repository is large)")
    return "\n".join([*lines, "Last commits:" if commits else "Last commits: none", *commits])


def _branch(head: str) -> str:
    """The branch of a status' first line: `## main...origin/main [ahead 1]`, `## No commits yet on main`, `## HEAD (no
    branch)`."""
    name = head.removeprefix("## ").removeprefix("No commits yet on ")
    return "none (detached HEAD)" if name.startswith("HEAD (no branch)") else name.replace("...", ", follows ", 1)


def _main_branch(answer: Answer) -> str:
    found = {ref: target for ref, _, target in (line.partition(" ") for line in _lines(answer))}
    for ref in MAIN_BRANCHES:
        if ref in found:
            return (found[ref] or ref).removeprefix("refs/heads/").removeprefix("refs/remotes/origin/")
    return "not known"


def _lines(answer: Answer) -> list[str]:
    return [clip(one_line(line), WIDTH) for line in answer.text.split("\n") if line.strip()]


def _late(places: Places, patience: float) -> Snapshot:
    return _unknown(places, f"git did not answer within {patience:g} s")


def _unknown(places: Places, why: str) -> Snapshot:
    return Snapshot(
        text=f"Git: how the repository stands is not known: {why}.",
        cautions=(Caution(place=one_line(str(places.root)), what=f"{why}; the session begins without a git snapshot"),),
    )


def _filters(git: Git, end: float) -> list[str] | None:
    """Options that switch off the filters which the repository's own configuration names: comparing a changed file
    would run them. Those of the user's configuration stay. None where git does not answer."""
    (answer,) = ask(git, [["config", "--show-scope", "--name-only", "--get-regexp", r"^filter\."]], end)
    if answer.ending == "late":
        return None
    settings = [line.split("\t", 1) for line in answer.text.split("\n") if "\t" in line]
    names = {name.rpartition(".")[0] for scope, name in settings if scope in ("local", "worktree")}
    return [option for name in sorted(names) for kind in ("clean", "process") for option in ("-c", f"{name}.{kind}=")]


def _files_in_the_index(root: Path) -> int:
    """The number of files that git compares; 0 where the index is elsewhere, as in a worktree, or there is none."""
    try:
        with (root / ".git" / "index").open("rb") as index:
            signature, _, count = struct.unpack(">4sII", index.read(12))
    except (OSError, struct.error):
        return 0
    return count if signature == b"DIRC" else 0
