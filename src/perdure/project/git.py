"""Asks git, and gives it up where it does not answer.

It knows how to start a program, how long to wait and how much to read. It must never know what is asked for. A
repository may be hostile: its own configuration can name programs that git would run, so those are switched off.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.kernel.value import value

Ending: TypeAlias = Literal["done", "failed", "late"]
"""`late`: it did not end in time and was killed."""

QUIET = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "color.ui=false",
    "-c",
    "status.relativePaths=false",
    "-c",
    "submodule.recurse=false",
)
"""No program of the repository's choice runs, no file is written, and no user's taste changes the output."""

MOST = 64 * 1024
"""Bytes read of an answer: of one that is longer, only the beginning would be shown anyway."""


@value
class Answer:
    """What git said."""

    ending: Ending
    text: str = ""


@value
class Git:
    """The program, and where it is asked."""

    program: Path
    root: Path
    environment: Mapping[str, str]


def find_git(root: Path, environment: Mapping[str, str]) -> Git | None:
    """The first `git` on the path that does not lie in the repository itself, where anybody could have put it."""
    for entry in environment.get("PATH", "").split(os.pathsep):
        program = Path(entry) / "git"
        if program.is_absolute() and os.access(program, os.X_OK) and not program.resolve().is_relative_to(root):
            kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
            return Git(program=program, root=root, environment=kept | _ours(root))
    return None


def _ours(root: Path) -> dict[str, str]:
    """What git is told by its environment: stay in this repository and on this machine."""
    return {
        # A configuration can name another folder as the work tree, whose files would be listed.
        "GIT_WORK_TREE": str(root),
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        # Objects that are missing would be fetched, by a program that the configuration names.
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def ask(git: Git, questions: Sequence[Sequence[str]], end: float) -> tuple[Answer, ...]:
    """The answers to questions, asked all at once; all of them have to come before `time.monotonic()` is `end`."""
    running = [_start(git, question) for question in questions]
    _read(running, end)
    return tuple(_finish(each, end - time.monotonic()) for each in running)


class _Running:
    """A program that runs, and what it has said."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self.process = process
        self.said = bytearray()
        self.ended = False


def _start(git: Git, question: Sequence[str]) -> _Running:
    try:
        process = subprocess.Popen(
            [str(git.program), *QUIET, *question],
            cwd=git.root,
            env=git.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A group of its own, so that what it starts can be ended with it.
            start_new_session=True,
        )
    except OSError:
        return _Running(None)
    return _Running(process)


def _read(running: Sequence[_Running], end: float) -> None:
    """Read all pipes until each is closed, has said enough, or time is up."""
    with selectors.DefaultSelector() as selector:
        for each in running:
            if each.process is not None and each.process.stdout is not None:
                selector.register(each.process.stdout, selectors.EVENT_READ, each)
        while selector.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                each: _Running = key.data
                chunk = os.read(key.fd, MOST)
                each.said += chunk
                each.ended = not chunk or len(each.said) >= MOST
                if each.ended:
                    selector.unregister(key.fileobj)


def _finish(each: _Running, left: float) -> Answer:
    process = each.process
    if process is None:
        return Answer(ending="failed")
    text = bytes(each.said[:MOST]).decode("utf-8", "replace")
    if each.ended and len(each.said) < MOST:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, left))
    ended = process.poll()
    _kill(process)
    if ended is None:
        return Answer(ending="done", text=text) if len(each.said) >= MOST else Answer(ending="late")
    return Answer(ending="done" if ended == 0 else "failed", text=text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and all that it started; they may have outlived it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    # One that the kernel will not let go of is left to it.
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
