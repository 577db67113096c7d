"""How much memory a session of a million tokens takes: without a screen, on a screen, and where it is resumed.

It knows processes, files to read and a double. It must never count what the double takes. The peak is what the system
says of the process itself; what it says of ended children begins with the memory of their parent.
"""

from __future__ import annotations

import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from bench.measure import Figure, Missing, Row
from bench.session import prose
from perdure.session.spec import wall_clock
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.counting import count_text
from perdure.testing.doubles.script import Call, Turn, answer
from perdure.testing.doubles.shape import Body

TOKENS = 1_000_000
"""Of the files that are read; what the model says and asks comes on top."""
WORDS = 2_250
"""Of a file, which stays under what an output may have when it enters the view."""
MOST = 300
"""MiB."""
TASK = "Read all of the files."
DONE = "That was the last of them."


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process that is still to be started."""

    words: list[str]
    environment: dict[str, str]
    running: list[subprocess.Popen[bytes]]
    """Where the process is put, so that its memory can be looked at."""


def figures() -> Iterator[Row]:
    """The peak while the session goes, without a screen and on one, and the peak of the process that resumes it."""
    if not Path("/proc/self/status").exists():
        yield Missing(what="the memory of a session of 1,000,000 tokens (this system does not tell the peak)")
        return
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder))
        what = f"{TOKENS:,} tokens in {files} results"
        yield _figure(f"{what}, `perdure -p`", Path(folder), files, _without_a_screen, "-p", TASK)
        yield _figure("the same session, `perdure resume -p`", Path(folder), 0, _without_a_screen, "resume", "-p", TASK)
        yield _figure(f"{what}, `perdure` on a screen", Path(folder), files, _on_a_screen)


def _files(folder: Path) -> int:
    """Files of a million tokens together, in a repository as far as anybody looks."""
    (folder / ".git").mkdir()
    chance, total, number = random.Random(7), 0, 0
    while total < TOKENS:
        text = prose(chance, WORDS)
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
        total, number = total + count_text(text), number + 1
    return number


def _figure(what: str, folder: Path, reads: int, end: Callable[[Command], int], *words: str) -> Row:
    peaks: list[float] = []
    running: list[subprocess.Popen[bytes]] = []

    def script(_body: Body) -> Turn:
        place = len(peaks)
        peaks.append(peak_of(running[0].pid))
        return Turn(parts=(Call(name="read", arguments={"path": f"{place}.txt"}),)) if place < reads else answer(DONE)

    with serve(AnthropicDouble(script, clock=wall_clock)) as url:
        environment = {
            **os.environ,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "a key of the bench",
            "PERDURE_HOME": str(folder / "home"),
            "TERM": "xterm-256color",
            # Nobody answers where the cursor is.
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        command = [sys.executable, "-m", "perdure", *words, "--cwd", str(folder), "--mode", "full"]
        code = end(Command(words=command, environment=environment, running=running))
    if code:
        return Missing(what=f"{what}: it ended with {code}")
    return Figure(what=f"{what}, peak of {len(peaks)} requests", ours=max(peaks), unit="MiB", most=MOST)


def _without_a_screen(command: Command) -> int:
    with subprocess.Popen(command.words, env=command.environment, stdout=DEVNULL, stderr=DEVNULL) as process:
        command.running.append(process)
        return process.wait()


def _on_a_screen(command: Command) -> int:
    """Say the task once there is a prompt, and leave once all is done."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    with subprocess.Popen(
        command.words, env=command.environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        command.running.append(process)
        os.close(theirs)
        # What is waited for, and what is typed then.
        left = [(b"/help", TASK.encode() + b"\r"), (DONE.encode(), b"\x04")]
        seen = b""
        # A terminal whose other end is closed cannot be read.
        with suppress(OSError):
            while got := os.read(ours, 65_536):
                seen = (seen + got)[-65_536:]
                if left and left[0][0] in seen:
                    os.write(ours, left.pop(0)[1])
                    seen = b""
        os.close(ours)
        return process.wait()


def peak_of(process: int) -> float:
    """MiB that a process has held at most."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found is not None else 0.0
