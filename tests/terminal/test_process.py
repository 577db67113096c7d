"""The program in a terminal of its own: keys typed, and its screen read through an emulator of a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pyte
import pytest

from perdure.kernel.messages import encode_json
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import Call, Say, Turn, replies

PATIENCE = 30.0
ESCAPE, CTRL_C, CTRL_D = "\x1b", "\x03", "\x04"
READS = Turn(parts=(Say(text="Let me look."), Call(name="read", arguments={"path": "notes.txt"})))
ANSWER = Turn(parts=(Say(text="There are **12 tons** of steel."),))
WRITES = Turn(parts=(Call(name="write", arguments={"path": "new.txt", "content": "hello\n"}),))
WAITS = Turn(
    parts=(
        Call(
            name="bash",
            arguments={"command": "touch began; for n in $(seq 300); do [ -e go ] && break; sleep 0.1; done"},
        ),
    )
)
DONE = Turn(parts=(Say(text="All done."),))


class Terminal:
    """`perdure` behind a pseudo-terminal, and what its screen shows."""

    def __init__(self, child: subprocess.Popen[bytes], master: int, columns: int, lines: int) -> None:
        self.child, self.master = child, master
        self.screen = pyte.HistoryScreen(columns, lines, history=5_000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        # The emulator answers questions for the cursor here.
        self.screen.write_process_input = self.type

    def type(self, data: str) -> None:
        os.write(self.master, data.encode())

    @property
    def shown(self) -> str:
        """What stands in the window."""
        return "\n".join(row.rstrip() for row in self.screen.display).rstrip()

    @property
    def all(self) -> str:
        """That, and what was scrolled out of it."""
        gone = cast("Sequence[Any]", self.screen.history.top)
        rows = ["".join(row[column].data for column in range(self.screen.columns)).rstrip() for row in gone]
        return "\n".join([*rows, self.shown])

    def until(self, text: str, times: int = 1) -> None:
        """Read until the screen, or what scrolled out of it, shows a text this often."""
        end = time.monotonic() + PATIENCE
        while self.all.count(text) < times:
            if time.monotonic() > end or not self._take(0.5):
                raise AssertionError(f"{text!r} is not on the screen:\n{self.all[-3_000:]}")

    def until_there(self, path: Path) -> None:
        end = time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < end, self.all
            self._take(0.05)

    def ends(self) -> int:
        while self._take(PATIENCE):
            pass
        return self.child.wait(PATIENCE)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)
        os.kill(self.child.pid, signal.SIGWINCH)

    def _take(self, patience: float) -> bool:
        """Take in what was written; whether there may be more."""
        if not select.select([self.master], [], [], patience)[0]:
            return self.child.poll() is None
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            return False
        self.stream.feed(data)
        return bool(data)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("steel: 12\n")
    return tmp_path


@contextmanager
def perdure(work: Path, url: str | None, *words: str, columns: int = 120, lines: int = 30) -> Generator[Terminal]:
    """The program, until the block ends."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(work),
        "PERDURE_HOME": str(work / "home"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        # Nothing on this machine answers there, whatever else runs on it.
        "OLLAMA_HOST": "http://127.0.0.1:9",
    }
    if url is not None:
        environment |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "perdure.cli", *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=work / "work",
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(child, master, columns, lines)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait(PATIENCE)
        os.close(master)


def test_a_day_at_the_screen(work: Path) -> None:
    """One process, since a start is what costs most: a task, a question, a queue, a fold, an interrupt, a resize."""
    double = AnthropicDouble(replies([READS, ANSWER, WRITES, WAITS, DONE, DONE, WAITS, ANSWER]))
    with serve(double) as url, perdure(work, url) as terminal:
        terminal.until("/help says what there is")
        terminal.type("How much steel?\r")
        terminal.until("There are 12 tons of steel.")
        terminal.type("Write it.\r")
        terminal.until("y yes")
        terminal.type("y\r")
        terminal.until("-> yes")
        terminal.until("bash", 2)
        terminal.type("y\r")
        terminal.until_there(work / "work" / "began")
        terminal.type("/compact\r")
        terminal.until("as soon as the agent is done")
        terminal.type("And then?\r")
        terminal.until("next: And then?")
        terminal.resize(40, 30)
        terminal.until("(Esc interrupts)")
        narrow = terminal.shown
        terminal.resize(120, 30)
        (work / "work" / "go").touch()
        terminal.until("> And then?")
        terminal.until("All done.", 2)
        terminal.type("/mode full\r")
        terminal.until("mode: full")
        for name in ("go", "began"):
            (work / "work" / name).unlink()
        terminal.type("Wait.\r")
        terminal.until_there(work / "work" / "began")
        terminal.type(ESCAPE)
        terminal.until("ended as interrupted")
        terminal.type(CTRL_D)
        code = terminal.ends()

    assert (code, (work / "work" / "new.txt").read_text()) == (0, "hello\n")
    assert all(len(row) <= 40 for row in narrow.split("\n"))
    order = ["> How much steel?", "● read notes.txt", "There are 12", "● write", "-> yes", "● bash", "> And then?"]
    places = [terminal.all.index(text) for text in order]
    assert places == sorted(places)
    assert terminal.all.count("There are 12 tons of steel.") == 1
    assert "go on with: perdure resume" in terminal.all


def test_a_first_start_without_a_key_says_what_to_do(work: Path) -> None:
    with perdure(work, None) as terminal:
        code = terminal.ends()

    assert code == 2
    assert "ANTHROPIC_API_KEY" in terminal.all
    assert "Traceback" not in terminal.all


def test_a_killed_session_goes_on_where_it_was(work: Path) -> None:
    double = AnthropicDouble(replies([READS, ANSWER, WAITS, DONE]))
    with serve(double) as url:
        with perdure(work, url, "--mode", "full") as terminal:
            terminal.until("/help says what there is")
            terminal.type("How much steel?\r")
            terminal.until("There are 12 tons of steel.")
            terminal.type("Wait.\r")
            terminal.until_there(work / "work" / "began")
            terminal.child.send_signal(signal.SIGKILL)
            terminal.ends()
        with perdure(work, url, "resume") as terminal:
            terminal.until("messages. /help says what there is")
            terminal.type("Go on.\r")
            terminal.until("All done.")
            terminal.type(CTRL_D)
            code = terminal.ends()

    said = encode_json(double.received[-1].body["messages"]).decode()
    assert code == 0
    assert ["How much steel?" in said, "Wait." in said, "The session broke off" in said, "Go on." in said] == [True] * 4


def test_a_screen_and_no_screen_have_the_model_read_the_same(work: Path) -> None:
    bodies: list[Any] = []
    for way in ("screen", "headless"):
        double = AnthropicDouble(replies([READS, ANSWER]))
        with serve(double) as url:
            words = () if way == "screen" else ("-p", "How much steel?")
            with perdure(work, url, *words) as terminal:
                if way == "screen":
                    terminal.until("/help says what there is")
                    terminal.type("How much steel?\r")
                    terminal.until("12 tons")
                    terminal.type(CTRL_D)
                terminal.ends()
        bodies.append([one.body["messages"] for one in double.received])

    assert bodies[0] == bodies[1]
