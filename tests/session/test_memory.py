"""The session memory of a session: written behind its back, read by its compactions, and never another branch's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.session.stage import Held, Stage

from perdure.kernel.context import Checkpoint, Settings
from perdure.log import read_log, state_of
from perdure.memory.session import SessionDocument, SessionMemoryFile
from perdure.session import Session
from perdure.testing.doubles.shape import as_text

SOON = Settings(clear_growth=None, fold_growth=None)
"""Nothing leaves before the window asks for it, so that only what a test asks for is folded."""


def document_of(session: Session) -> SessionDocument:
    return SessionMemoryFile(folder=session.folder).read()


def rungs(session: Session) -> list[str]:
    return [edit.reason.rung for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint)]


def test_an_update_that_runs_while_a_compaction_begins_is_killed_and_its_document_is_what_the_next_one_tells(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path / "lived", window=40_000, memory=True)
    stage.reader.rounds = 20

    async def play() -> tuple[SessionDocument, SessionDocument, str]:
        writer = Held(stage.model())
        session = Session.start(replace(stage.spec(stage.model()), summarizer=writer, settings=SOON), "one")
        # The first update begins in this run, and nobody answers it.
        assert "done" == (await session.run("Read on.")).state
        await writer.asked.wait()
        waiting = document_of(session)
        await session.compact()
        assert ["full_summary"] == rungs(session)
        left = stage.died(tmp_path / "left")
        await session.close()
        left.window = 16_000
        spec = left.spec(left.model())
        session = Session.resume(spec, spec.folder / "one.jsonl")
        # Nobody has to wait until an update of a dead process counts as lost.
        assert document_of(session).running_since is None
        stage.reader.rounds = 25
        end = await session.run("And on.")
        written = document_of(session)
        # A fold tells the document once it covers what is folded, which not each of its versions does.
        for _ in range(6):
            end = await session.run("And on.")
            if "session_memory" in rungs(session):
                break
        await session.close()
        assert "session_memory" in rungs(session)
        with read_log(session.path) as log:
            state = state_of(log)
        assert (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)
        assert session.transcript.index_of(written.covers_until) is not None
        return waiting, written, end.state

    waiting, written, state = asyncio.run(play())
    told = [one for one in stage.talk if "Notes number" in as_text(one.body["messages"])]

    assert (True, False) == (waiting.is_blank, waiting.running_since is None)
    assert ("done", {200}) == (state, {one.status for one in stage.received})
    assert "Notes number" in written.text
    assert told


def test_after_a_rewind_the_document_is_that_of_the_branch_and_no_late_answer_brings_the_other_back(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, window=100_000, memory=True)
    stage.reader.rounds = 20

    async def play() -> list[SessionDocument]:
        writer = Held(stage.model())
        writer.go.set()
        session = Session.start(replace(stage.spec(stage.model()), summarizer=writer, settings=SOON), "one")
        assert "done" == (await session.run("Read on.")).state
        first = document_of(session)
        place = session.transcript[-1].id
        assert "done" == (await session.run("And on.")).state
        second = document_of(session)
        writer.go.clear()
        writer.asked.clear()
        assert "done" == (await session.run("And on.")).state
        await writer.asked.wait()
        session.rewind(place)
        writer.go.set()
        await asyncio.sleep(0)
        documents = [first, second, document_of(session)]
        session.rewind(session.transcript[2].id)
        documents.append(document_of(session))
        await session.close()
        return documents

    first, second, back, further = asyncio.run(play())

    assert (True, True) == (second.text != first.text, second.covers_until != first.covers_until)
    assert (first.text, first.covers_until) == (back.text, back.covers_until)
    assert further.is_blank


def test_a_file_that_tells_of_another_branch_is_put_right_by_the_next_process(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=100_000, memory=True)
    stage.reader.rounds = 20

    async def play() -> tuple[SessionDocument, SessionDocument]:
        session = Session.start(replace(stage.spec(stage.model()), settings=SOON), "one")
        assert "done" == (await session.run("Read on.")).state
        await session.close()
        own = document_of(session)
        with SessionMemoryFile(folder=session.folder).change() as change:
            change.put(
                SessionDocument(text="## Current state\n- All is done.\n", covers_until="elsewhere", generation=40)
            )
        session = Session.resume(stage.spec(stage.model()), session.path)
        await session.close()
        return own, document_of(session)

    own, after = asyncio.run(play())

    assert (own.text, own.covers_until, True) == (after.text, after.covers_until, after.generation > 40)
