"""A command runs as in a terminal, its output comes back bounded, and nothing of it outlives what was asked."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from perdure.kernel.messages import Json
from perdure.tools import bash
from perdure.tools.actions import Harmless, Offered, RunCommand
from perdure.tools.failed import ToolFailed
from perdure.tools.process import Jobs
from perdure.tools.workspace import Workspace

T = TypeVar("T")


class Terminal:
    """The two tools over one folder."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "work"
        self.cwd.mkdir()
        path = os.environ["PATH"]
        self.workspace = Workspace(
            cwd=self.cwd, roots=(self.cwd,), home=root, environment={"PATH": path, "OWN": "ours"}, kept=root / "kept"
        )
        self.jobs = Jobs(self.workspace.kept)
        self.heard: list[str] = []
        self.bash = bash.offered(self.workspace, self.jobs, bash.shell_of(self.workspace), self.heard.append)
        self.job = bash.offered_job(self.jobs)

    async def call(self, offered: Offered, **given: Json) -> str:
        made = offered.tool.run(given)
        assert not isinstance(made, (str, tuple))
        said = await made
        assert isinstance(said, str)
        return said

    def says(self, **given: Json) -> str:
        return self.alone(lambda: self.call(self.bash, **given))

    def alone(self, work: Callable[[], Awaitable[T]]) -> T:
        async def main() -> T:
            try:
                return await asyncio.wait_for(work(), 30)
            finally:
                await self.jobs.close()

        return asyncio.run(main())


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def gone(pid: str) -> bool:
    """Whether a process is dead; whoever adopted it may not have asked for its code yet."""
    for _ in range(200):
        try:
            if " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        threading.Event().wait(0.02)
    return False


def body(said: str) -> str:
    return said.rpartition("\n")[0]


def test_both_streams_come_back_in_order_with_code_and_time(terminal: Terminal) -> None:
    said = terminal.says(command="echo one; echo two >&2; echo $OWN; pwd; exit 3")

    assert f"one\ntwo\nours\n{terminal.cwd}" == body(said)
    assert "\n[The command exited with code 3 after 0." in said
    assert [] == list(terminal.workspace.kept.iterdir())


def test_no_output_is_told_by_the_end_alone(terminal: Terminal) -> None:
    assert terminal.says(command="true").startswith("[The command exited with code 0 after ")


def test_a_command_gets_no_input(terminal: Terminal) -> None:
    assert "got ''" == body(terminal.says(command="read x; echo got \"'$x'\""))


def test_each_command_starts_in_the_working_directory(terminal: Terminal) -> None:
    (terminal.cwd / "sub").mkdir()
    moved = terminal.says(command="cd sub")

    assert f"The next command starts in {terminal.cwd} again; give cwd." in moved
    assert str(terminal.cwd / "sub") == body(terminal.says(command="pwd", cwd="sub"))
    assert str(terminal.cwd) == body(terminal.says(command="pwd"))


def test_what_steers_a_terminal_is_left_out(terminal: Terminal) -> None:
    said = terminal.says(command=r"printf '\033[31mred\033[0m\033]0;title\007 10%%\r50%%\rdone\nnext\r\n'")

    assert "done\nnext" == body(said)


def test_binary_output_is_kept_and_not_shown(terminal: Terminal) -> None:
    said = terminal.says(command="head -c 5000 /dev/zero")
    (kept,) = terminal.workspace.kept.iterdir()

    assert f"[Binary output of 5,000 bytes, kept in {kept}]" == body(said)
    assert bytes(5_000) == kept.read_bytes()


def test_a_long_output_is_bounded_and_all_of_it_kept(terminal: Terminal) -> None:
    said = terminal.says(command="seq 1 200000")
    (kept,) = terminal.workspace.kept.iterdir()

    assert said.startswith("1\n2\n3\n")
    assert "\n199999\n200000\n[The command exited" in said
    assert f"bytes left out; all of it is in {kept}]" in said
    assert len(said) < bash.SHOWN + 500
    assert "".join(f"{n}\n" for n in range(1, 200_001)) == kept.read_text()
    assert 0o600 == kept.stat().st_mode & 0o777


def test_a_listener_hears_all_of_it(terminal: Terminal) -> None:
    terminal.says(command="seq 1 30000")

    assert "".join(f"{n}\n" for n in range(1, 30_001)) == "".join(terminal.heard)


def test_at_its_timeout_the_whole_group_ends(terminal: Terminal) -> None:
    said = terminal.says(command="echo started; sleep 300 & echo $!; wait", timeout=1)
    started, pid = body(said).split("\n")

    assert "started" == started
    assert "was ended by signal 15" in said
    assert "after 1 s, its timeout" in said
    assert gone(pid)


def test_a_command_that_will_not_end_is_made_to(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.tools.process.GRACE", 0.2)
    said = terminal.says(command="trap '' TERM; echo here; while :; do sleep 0.05; done", timeout=1)

    assert "was ended by signal 9" in said


def test_an_interruption_ends_the_command_and_tells_what_it_printed(terminal: Terminal) -> None:
    async def work() -> str:
        printed = asyncio.Event()
        tool = bash.offered(
            terminal.workspace, terminal.jobs, bash.shell_of(terminal.workspace), lambda _: printed.set()
        )
        async with asyncio.TaskGroup() as group:
            call = group.create_task(terminal.call(tool, command="echo half; sleep 300"))
            await printed.wait()
            call.cancel()
        return call.result()

    said = terminal.alone(work)

    assert "half" == body(said)
    assert "The user interrupted it." in said


def test_a_job_runs_beside_and_tells_its_news_once(terminal: Terminal) -> None:
    async def work() -> list[str]:
        started = await terminal.call(
            terminal.bash, command="echo up; echo > up; read < go; echo down", background=True
        )
        (terminal.cwd / "up").read_text()
        first = await terminal.call(terminal.job, id="job1")
        again = await terminal.call(terminal.job, id="job1")
        listed = await terminal.call(terminal.job)
        (terminal.cwd / "go").write_text("\n")
        return [started, first, again, listed, await terminal.call(terminal.job, id="job1", wait=20)]

    os.mkfifo(terminal.cwd / "up")
    os.mkfifo(terminal.cwd / "go")
    started, first, again, listed, last = terminal.alone(work)

    assert "[Started as job1. Ask for its output with job.]" == started
    assert "up" == body(first)
    assert "[Nothing new.]" == body(again)
    assert listed.startswith("job1: The command has been running for ")
    assert "down" == body(last)
    assert "exited with code 0" in last


def test_a_job_can_be_ended(terminal: Terminal) -> None:
    async def work() -> str:
        await terminal.call(terminal.bash, command="sleep 300", background=True)
        return await terminal.call(terminal.job, id="job1", kill=True)

    assert "was ended by signal 15" in terminal.alone(work)


def test_a_server_started_with_an_ampersand_holds_nobody_up_and_ends_with_the_session(terminal: Terminal) -> None:
    said = terminal.says(command="sleep 300 & echo $!")

    assert "Processes that it started still run, as job1." in said
    assert gone(body(said))


def test_a_command_that_prints_without_end_is_ended(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.tools.process.LARGEST", 100_000)

    assert "It printed too much." in terminal.says(command="yes")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"command": " "}, "Give a command"),
        ({"command": "a\0b"}, "without NUL"),
        ({"command": "a\ud800"}, "surrogate"),
        ({"command": "ls", "timeout": 120_000}, "between 1 and 600"),
        ({"command": "ls", "cwd": "nowhere"}, "There is no file"),
        ({"command": "x" * 3_000_000}, "could not be started"),
    ],
)
def test_what_cannot_be_run_is_told(terminal: Terminal, given: dict[str, Json], reason: str) -> None:
    with pytest.raises(ToolFailed, match=reason):
        terminal.says(**given)


def test_a_job_that_is_not_there_is_told_with_those_that_are(terminal: Terminal) -> None:
    with pytest.raises(ToolFailed, match="no job 'job9'"):
        terminal.alone(lambda: terminal.call(terminal.job, id="job9"))


def test_calls_tell_what_they_run_and_where(terminal: Terminal) -> None:
    assert (RunCommand(command="ls", cwd=terminal.cwd / "a"),) == terminal.bash.actions({"command": "ls", "cwd": "a"})
    assert (Harmless(),) == terminal.bash.actions({"command": 3})
