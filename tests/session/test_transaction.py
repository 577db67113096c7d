"""Edits hold in the log and in memory alike: cancelled in between, committed by any way, taken back in any process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.session.stage import Reader, Stage, reading

from perdure.kernel.agent import AgentTool
from perdure.kernel.context import Answer, Append, Checkpoint, ClearToolResult, Need, Settings
from perdure.kernel.messages import JsonObject, Message
from perdure.log import Compacted, read_log, state_of
from perdure.session import Bench, Session
from perdure.session.host import SessionHost
from perdure.testing.doubles import Call, Say, Turn
from perdure.testing.doubles.faults import Overloaded, RateLimited, ServerError
from perdure.testing.doubles.shape import Body, as_text
from perdure.tools.todo import Todos
from perdure.tools.todo import offered as todos_offered


def same_on_disk(session: Session) -> bool:
    """Whether the log adds up to what the process holds."""
    with read_log(session.path) as log:
        state = state_of(log)
        return (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)


def view(session: Session) -> Sequence[Message]:
    return list(session.agent.engine.view(session.transcript).messages)


def committed(session: Session) -> list[str]:
    return [payload.edit_id for _, payload in session.log.payloads() if isinstance(payload, Compacted)]


def folds(session: Session) -> list[Checkpoint]:
    return [edit for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint)]


def test_a_compaction_that_is_cancelled_between_the_durable_edit_and_its_answer_holds_in_memory_too(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, window=60_000)
    stage.reader.rounds = 20
    perform = SessionHost.perform

    async def cut(self: SessionHost, need: Need) -> Answer:
        answer = await perform(self, need)
        task = asyncio.current_task()
        if isinstance(need, Append) and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        return answer

    async def play() -> tuple[int, str]:
        session = Session.start(stage.spec(stage.model()))
        await session.run("Read on.")
        with patch.object(SessionHost, "perform", cut):
            folding = asyncio.get_running_loop().create_task(session.compact())
            with pytest.raises(asyncio.CancelledError):
                await folding
        assert same_on_disk(session)
        count = len(folds(session))
        end = await session.run("And on.")
        await session.compact()
        assert same_on_disk(session)
        await session.close()
        session = Session.resume(stage.spec(stage.model()), session.path)
        end = await session.run("And on.")
        await session.close()
        return count, end.state

    assert (1, "done") == asyncio.run(play())


def test_what_an_overflow_folds_and_what_is_committed_at_once_have_their_entries(tmp_path: Path) -> None:
    async def play(stage: Stage) -> tuple[Session, list[str]]:
        session = Session.start(stage.spec(stage.model()))
        stage.reader.rounds = 45
        end = await session.run("Read on.")
        assert ("done", True) == (end.state, same_on_disk(session))
        entries = committed(session)
        await session.close()
        return session, entries

    # The model is said to have a window of 100,000 tokens; the provider refuses what is beyond 5,600.
    narrow = Stage(tmp_path / "narrow", window=100_000).narrowed(5_600)
    session, entries = asyncio.run(play(narrow))

    assert 400 in {one.status for one in narrow.received}
    assert entries
    assert [edit.id for edit in folds(session) if not edit.provisional] == entries

    stage = Stage(tmp_path / "at-once")
    stage.settings = Settings(commit_on_project=True)
    session, entries = asyncio.run(play(stage))

    assert entries
    assert [edit.id for edit in folds(session)] == entries


def test_an_edit_is_taken_back_by_the_process_that_made_it_or_by_the_next(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=60_000)

    async def play() -> tuple[bool, bool, bool]:
        session = Session.start(stage.spec(stage.model()))
        await session.run("Read on.")
        before = view(session)
        await session.compact()
        await session.close()
        session = Session.resume(stage.spec(stage.model()), session.path)
        folded = view(session)
        await session.expand()
        after = view(session)
        assert same_on_disk(session)
        await session.close()
        session = Session.resume(stage.spec(stage.model()), session.path)
        end = await session.run("And on.")
        await session.close()
        return folded != before, after == before, end.state == "done"

    assert (True, True, True) == asyncio.run(play())
    assert {200} == {one.status for one in stage.received}


def test_a_light_edit_is_taken_back_alone_and_its_result_is_shown_as_it_was(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=40_000)

    async def play() -> tuple[bool, bool, str]:
        session = Session.start(stage.spec(stage.model()))
        stage.reader.rounds = 29
        await session.run("Read on.")
        standing = session.agent.engine.ledger.in_force.lights
        edit = next(edit for edit in session.agent.engine.ledger if isinstance(edit, ClearToolResult))
        assert edit.message_id in standing
        original = next(message for message in session.transcript if message.id == edit.message_id)
        shown = [str(message.content) for message in view(session)]
        await session.expand(edit.id)
        again = [str(message.content) for message in view(session)]
        assert same_on_disk(session)
        end = await session.run("And on.")
        await session.close()
        assert 1 == len(set(again) - set(shown))
        return str(original.content) in shown, str(original.content) in again, end.state

    assert (False, True, "done") == asyncio.run(play())
    assert {200} == {one.status for one in stage.received}


def noted(_given: JsonObject) -> str:
    """Another tool's way of keeping a plan."""
    return "Noted."


class Planner(Reader):
    """Writes a list of todos and a plan first, and reads then."""

    def __call__(self, body: Body) -> Turn:
        """See `Reader`."""
        if self.calls or "[Harness request." in as_text(body["messages"]):
            return super().__call__(body)
        self.calls += 1
        todos = [
            {"id": "1", "text": "Count the north shed", "state": "completed"},
            {"id": "2", "text": "Count the south shed", "state": "pending"},
        ]
        plan = {"plan": [{"step": "Weigh the crates", "status": "pending"}]}
        calls = (Call(name="todo", arguments={"todos": todos}), Call(name="update_plan", arguments=plan))
        return Turn(parts=(Say(text="First a list."), *calls))


def test_open_todos_and_the_plan_are_told_behind_each_of_two_checkpoints_and_in_the_next_process(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, window=60_000)
    stage.reader = Planner(rounds=20)
    stage.renew()

    def tools(bench: Bench) -> Sequence[AgentTool]:
        todo = todos_offered(Todos(bench.transcript())).tool
        plan = AgentTool(definition=replace(todo.definition, name="update_plan"), run=noted)
        return (*reading(bench), todo, plan)

    async def play() -> list[str]:
        session = Session.start(stage.spec(stage.model(), tools))
        await session.run("Read on.")
        await session.compact()
        await session.run("And on.")
        await session.compact()
        await session.close()
        session = Session.resume(stage.spec(stage.model(), tools), session.path)
        await session.run("And on.")
        await session.close()
        return [edit.content for edit in folds(session)]

    told = asyncio.run(play())
    last = as_text(stage.talk[-1].body["messages"])

    assert 2 == len(told)
    for text in (*told, last):
        assert ("Count the south shed" in text, "Weigh the crates" in text) == (True, True)
        assert "Count the north shed" not in text.partition("Open todos and plan")[2]


@pytest.mark.parametrize("fault", [Overloaded(), RateLimited(), ServerError()])
def test_what_is_sent_again_after_a_refusal_that_passes_is_the_same_bytes(
    tmp_path: Path, fault: Overloaded | RateLimited | ServerError
) -> None:
    stage = Stage(tmp_path)

    async def play() -> str:
        session = Session.start(stage.spec(stage.model()))
        await session.run("Read on.")
        stage.double.faults.extend((fault, fault))
        end = await session.run("And on.")
        await session.close()
        return end.state

    assert "done" == asyncio.run(play())
    refused = [place for place, one in enumerate(stage.received) if one.status != 200]

    assert 2 == len(refused)
    assert 1 == len({one.raw for one in stage.received[refused[0] : refused[-1] + 2]})
