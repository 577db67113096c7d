"""A checkpoint that was prepared while the agent worked comes into force between two calls, or not at all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.session.stage import Stage

from perdure.kernel.agent import CompactionEnd
from perdure.kernel.context import Checkpoint
from perdure.log import read_log, state_of
from perdure.session import Session, SessionEvent


def test_what_was_prepared_is_swapped_in_and_the_log_agrees(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=40_000)
    stage.reader.rounds = 60
    heard: list[SessionEvent] = []

    async def play() -> tuple[str, list[Checkpoint]]:
        session = Session.start(replace(stage.spec(stage.model(url)), background=True))
        states = {(await session.run(f"Read on, {number}.", heard.append)).state for number in range(2)}
        with read_log(session.path) as log:
            state = state_of(log)
        assert (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)
        await session.close()
        session = Session.resume(stage.spec(stage.model(url)), session.path)
        states.add((await session.run("And on.")).state)
        await session.close()
        return "".join(states), [edit for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint)]

    with stage.serve() as url:
        state, checkpoints = asyncio.run(play())
    swapped = [event for event in heard if isinstance(event, CompactionEnd) and event.reason == "prepared"]

    assert ("done", {200}) == (state, {received.status for received in stage.received})
    assert swapped
    assert all(event.tokens_after < event.tokens_before for event in swapped)
    assert len(checkpoints) >= len(swapped)


def test_what_was_prepared_is_let_go_where_the_conversation_went_another_way(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=40_000)
    stage.reader.rounds = 24

    async def play() -> str:
        session = Session.start(replace(stage.spec(stage.model(url)), background=True))
        await session.run("Read on.")
        session.rewind(session.transcript[4].id)
        end = await session.run("Another way.")
        with read_log(session.path) as log:
            state = state_of(log)
        assert (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)
        await session.close()
        return end.state

    with stage.serve() as url:
        assert "done" == asyncio.run(play())
    assert {200} == {received.status for received in stage.received}
