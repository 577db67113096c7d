"""What is typed while a session compacts or works waits, is answered, and survives a failure, a kill and a fork."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest
from tests.session.stage import Held, Stage

from perdure.kernel.agent import AgentEnd
from perdure.kernel.errors import UserError
from perdure.kernel.messages import Text
from perdure.log import read_log, state_of
from perdure.session import Session
from perdure.session import session as module


def typed(session: Session) -> list[str]:
    """What the user typed, as far as it is part of the conversation."""
    said = [message for message in session.transcript if message.is_typed]
    return [block.text for message in said for block in message.content if isinstance(block, Text)]


def same_on_disk(session: Session) -> bool:
    """Whether the log adds up to what the process holds."""
    with read_log(session.path) as log:
        state = state_of(log)
        return (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)


def begin(doing: Coroutine[None, None, object]) -> asyncio.Task[object]:
    """Do it beside what the test does."""
    return asyncio.get_running_loop().create_task(doing)


async def compacting(stage: Stage) -> tuple[Session, Held, asyncio.Task[object]]:
    """A session whose compaction waits for its narrative."""
    held = Held(stage.model())
    held.go.set()
    session = Session.start(stage.spec(held), "one")
    for task in ("Read on.", "Read on again."):
        assert "done" == (await session.run(task)).state
    held.go.clear()
    held.asked.clear()
    folding = begin(session.compact())
    await held.asked.wait()
    return session, held, folding


@pytest.mark.parametrize("fails", [False, True], ids=["folds", "fails"])
def test_what_is_said_while_a_compaction_runs_waits_for_it_and_is_answered(tmp_path: Path, fails: bool) -> None:
    stage = Stage(tmp_path, window=100_000)

    async def play() -> tuple[list[str], tuple[str, ...], str]:
        session, held, folding = await compacting(stage)
        held.fails = fails
        running = begin(session.run("And the third shed?"))
        await asyncio.sleep(0)
        session.queue("And the fourth?")
        before = typed(session)
        with pytest.raises(UserError, match="interrupt the agent"):
            session.rewind(session.transcript[0].id)
        held.go.set()
        await folding
        held.fails = False
        end = await running
        assert isinstance(end, AgentEnd)
        assert (["Read on.", "Read on again."], True) == (before, same_on_disk(session))
        assert session.agent.engine.ledger.in_force.checkpoint is not None
        await session.close()
        return typed(session)[2:], session.queued, end.state

    assert (["And the third shed?", "And the fourth?"], (), "done") == asyncio.run(play())


def test_a_compaction_that_is_given_up_takes_nothing_that_was_said_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, window=100_000)
    monkeypatch.setattr(module, "COMPACTION", 0.05)

    async def play() -> tuple[list[str], str]:
        session, held, folding = await compacting(stage)
        running = begin(session.run("And the third shed?"))
        with pytest.raises(TimeoutError):
            await folding
        held.go.set()
        end = await running
        assert isinstance(end, AgentEnd)
        assert same_on_disk(session)
        assert session.agent.engine.ledger.in_force.checkpoint is None
        await session.close()
        return typed(session)[2:], end.state

    assert (["And the third shed?"], "done") == asyncio.run(play())


def test_what_was_said_while_a_compaction_ran_is_there_after_a_kill_and_is_answered_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "lived", window=100_000)

    async def play() -> tuple[list[str], tuple[str, ...], str]:
        session, _, folding = await compacting(stage)
        running = begin(session.run("And the third shed?"))
        await asyncio.sleep(0)
        session.queue("And the fourth?")
        session.queue("Never mind.")
        assert "Never mind." == session.unqueue()
        left = stage.died(tmp_path / "left")
        for task in (running, folding):
            task.cancel()
        await asyncio.gather(running, folding, return_exceptions=True)
        await session.close()
        spec = left.spec(left.model())
        session = Session.resume(spec, spec.folder / "one.jsonl")
        waited = session.queued
        end = await session.run(None)
        await session.close()
        assert () == Session.resume(spec, session.path).queued
        return typed(session)[2:], waited, end.state

    asked = ("And the third shed?", "And the fourth?")

    assert ([*asked], asked, "done") == asyncio.run(play())


def test_what_waits_is_nobody_elses_in_a_fork_and_does_not_come_back_with_a_rewind(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> list[tuple[str, ...]]:
        session = Session.start(stage.spec(stage.model()))
        await session.run("Read on.")
        session.queue("And the second?")
        forked = Session.resume(stage.spec(stage.model()), session.fork())
        waited = [forked.queued, session.queued]
        await forked.close()
        await session.run(None)
        session.rewind(session.transcript[0].id)
        await session.close()
        session = Session.resume(stage.spec(stage.model()), session.path)
        waited.append(session.queued)
        await session.close()
        return waited

    assert [(), ("And the second?",), ()] == asyncio.run(play())


def test_what_was_said_to_a_working_agent_is_read_by_the_next_process_where_it_was_killed_before(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path / "lived")

    async def play() -> tuple[list[str], str]:
        held = Held(stage.model())
        session = Session.start(stage.spec(held), "one")
        running = begin(session.run("Read on."))
        await held.asked.wait()
        session.say("Only the sheds in the north.")
        left = stage.died(tmp_path / "left")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await session.close()
        spec = left.spec(left.model())
        session = Session.resume(spec, spec.folder / "one.jsonl")
        end = await session.run(None)
        await session.close()
        return typed(session), end.state

    assert (["Read on.", "Only the sheds in the north."], "done") == asyncio.run(play())
