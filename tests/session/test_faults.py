"""A full disk, a home that may not be written, a clock that goes back, a port that raises: named, and survived."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.session.stage import STEP, Stage

from perdure.kernel.agent import AgentEnd, Trouble
from perdure.kernel.errors import DiskError, DiskFull, DiskRefused, LogLocked
from perdure.log import SessionLog, read_log, state_of
from perdure.session import Session, SessionEvent


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
