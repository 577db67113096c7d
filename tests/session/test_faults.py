"""A full disk, a home that may not be written, a clock that goes back, a port that raises: named, and survived."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.session.stage import LOOK, STEP, Stage

from perdure.kernel.agent import AgentEnd, AgentTool, MessageEnd, Trouble
from perdure.kernel.errors import DiskError, DiskFull, DiskRefused, LogLocked
from perdure.kernel.messages import ToolResult
from perdure.log import SessionLog, read_log, state_of
from perdure.memory.session.file import NAME
from perdure.session import Bench, Session, SessionEvent


def test_a_full_disk_ends_the_run_with_a_name_and_the_session_goes_on_when_there_is_room(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    append, left = SessionLog.append_message, [9]

    def fills(self: SessionLog, message: object, time: float) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise DiskFull("No space left on the device; make room and go on")
        # The call as it came.
        return append(self, message, time)  # pyright: ignore[reportArgumentType]

    async def play() -> tuple[AgentEnd, AgentEnd, bool]:
        session = Session.start(stage.spec(stage.model(url)))
        with patch.object(SessionLog, "append_message", fills):
            broken = await session.run("Read on.")
        with read_log(session.path) as log:
            same = state_of(log).transcript == session.transcript
        await session.close()
        session = Session.resume(stage.spec(stage.model(url)), session.path)
        end = await session.run(None)
        await session.close()
        return broken, end, same

    with stage.serve() as url:
        broken, end, same = asyncio.run(play())

    assert ("broken", "done", True) == (broken.state, end.state, same)
    assert broken.failure is not None
    assert "No space left" in broken.failure.message
    assert {200} == {received.status for received in stage.received}


def test_a_home_that_cannot_be_written_is_named_before_anything_begins(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.home.write_text("a file where a folder should be")

    async def play() -> None:
        with pytest.raises(DiskError, match="home"):
            Session.start(stage.spec(stage.model("http://127.0.0.1:9")))

    asyncio.run(play())


def test_a_second_process_may_not_write_the_same_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> None:
        session = Session.start(stage.spec(stage.model("http://127.0.0.1:9")))
        with pytest.raises(LogLocked):
            Session.resume(stage.spec(stage.model("http://127.0.0.1:9")), session.path)
        await session.close()

    asyncio.run(play())


def test_a_clock_that_goes_back_harms_neither_a_run_nor_a_resume(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> list[str]:
        session = Session.start(stage.spec(stage.model(url)))
        states = [(await session.run("Read on.")).state]
        stage.later = -100_000.0 * STEP
        states.append((await session.run("And on.")).state)
        await session.close()
        session = Session.resume(stage.spec(stage.model(url)), session.path)
        states.append((await session.run("And on.")).state)
        await session.close()
        return states

    with stage.serve() as url:
        assert ["done"] * 3 == asyncio.run(play())


def test_what_a_port_raises_is_told_without_the_secret_in_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    heard: list[SessionEvent] = []

    def raises(_self: SessionLog, *_given: object) -> object:
        raise DiskRefused(f"cannot write to https://user:{secret}@example.test/")

    async def play() -> AgentEnd:
        session = Session.start(stage.spec(stage.model("http://127.0.0.1:9")))
        with patch.object(SessionLog, "append_message", raises):
            end = await session.run("Hello.", heard.append)
        await session.close()
        return end

    end = asyncio.run(play())
    told: Sequence[str] = [event.failure.message for event in heard if isinstance(event, Trouble)]

    assert ("broken", True) == (end.state, bool(told))
    assert end.failure is not None
    assert not any(secret in text for text in (*told, end.failure.message))


@contextmanager
def room_for(size: int) -> Generator[None]:
    """A file system on which no file may grow beyond `size` bytes: the kernel itself refuses what goes beyond."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)


@pytest.mark.parametrize("room", [300, 1_100, 3_000, 9_000], ids=lambda room: f"{room}-bytes")
def test_a_file_that_may_not_grow_any_more_tears_no_line_and_loses_nothing_that_was_told(
    tmp_path: Path, room: int
) -> None:
    stage = Stage(tmp_path)
    told: list[str] = []

    def hear(event: SessionEvent) -> None:
        if isinstance(event, MessageEnd):
            told.append(event.message.id)

    async def play() -> tuple[AgentEnd, AgentEnd]:
        session = Session.start(stage.spec(stage.model()))
        with room_for(session.path.stat().st_size + room):
            broken = await session.run("Read on.", hear)
            with suppress(DiskError):
                await session.compact()
        with read_log(session.path) as log:
            state = state_of(log)
            assert ((), session.transcript) == (log.damage, state.transcript)
            assert session.agent.engine.ledger == state.ledger
        assert told == [message.id for message in session.transcript]
        # There is room again, and the same process goes on.
        end = await session.run("And on." if not told else None)
        await session.close()
        session = Session.resume(stage.spec(stage.model()), session.path)
        assert set(told) <= {message.id for message in session.transcript}
        await session.close()
        return broken, end

    broken, end = asyncio.run(play())

    assert broken.failure is not None
    assert ("broken", "done") == (broken.state, end.state)
    assert "File too large" in broken.failure.message
    assert {200} == {received.status for received in stage.received}


def test_a_session_memory_that_cannot_be_kept_ends_nothing_and_is_kept_once_it_can_be(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=100_000, memory=True)
    stage.reader.rounds = 20

    async def play() -> tuple[str, bool, str, bool]:
        session = Session.start(stage.spec(stage.model()))
        # A file stands where the folder of the session has to be.
        assert not session.folder.exists()
        session.folder.write_text("in the way")
        end = await session.run("Read on.")
        without = (session.folder / NAME).exists()
        session.folder.unlink()
        later = await session.run("And on.")
        await session.close()
        return end.state, without, later.state, (session.folder / NAME).is_file()

    assert ("done", False, "done", True) == asyncio.run(play())


def test_a_session_on_a_disk_that_is_read_only_is_refused_by_name_and_read_all_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> Session:
        session = Session.start(stage.spec(stage.model()))
        await session.run("Read on.")
        await session.close()
        return session

    session = asyncio.run(play())
    # What a file system that is mounted read-only answers to whoever opens a file for writing, root included.
    refuse = OSError(errno.EROFS, os.strerror(errno.EROFS))
    opens = os.open

    def read_only(path: str, flags: int, *given: int, dir_fd: int | None = None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise refuse
        return opens(path, flags, *given, dir_fd=dir_fd)

    with patch("os.open", read_only), pytest.raises(DiskRefused, match="Read-only file system"):
        Session.resume(stage.spec(stage.model()), session.path)
    with read_log(session.path) as log:
        assert session.transcript == state_of(log).transcript


def test_a_tool_that_is_denied_by_the_system_is_a_result_and_the_session_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.reader.rounds = 2

    def denied(_given: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/etc/register")

    def tools(_bench: Bench) -> Sequence[AgentTool]:
        return (AgentTool(definition=LOOK, run=denied, beside=True),)

    async def play() -> tuple[str, list[ToolResult]]:
        session = Session.start(stage.spec(stage.model(), tools))
        end = await session.run("Read on.")
        await session.close()
        with read_log(session.path) as log:
            transcript = state_of(log).transcript
        assert transcript == session.transcript
        return end.state, [result for message in transcript for result in message.tool_results]

    state, results = asyncio.run(play())

    assert ("done", {True}) == (state, {result.is_error for result in results})
    assert all("Permission denied" in str(result.content) for result in results)
