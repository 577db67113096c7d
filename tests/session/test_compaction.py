"""A compaction happens whole or not at all, in the log as in memory, within its time, and is told of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.session.stage import Stage

from perdure.archive import Archive
from perdure.kernel.context import Checkpoint, Refused
from perdure.kernel.errors import DiskFull
from perdure.kernel.messages import encode_json
from perdure.log import Compacted, Edited, SessionLog, read_log, state_of
from perdure.session import Session, SessionEvent
from perdure.session import session as module
from perdure.testing.doubles.shape import as_text


def same_on_disk(session: Session) -> bool:
    """Whether the log adds up to what the process holds."""
    with read_log(session.path) as log:
        state = state_of(log)
        return (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)


async def grown(stage: Stage, url: str) -> Session:
    """A session with a history, at a window that is wide enough for all of it."""
    session = Session.start(stage.spec(stage.model(url)))
    session.pin("Never count a crate twice.")
    assert "done" == (await session.run("Read on.")).state
    assert "done" == (await session.run("Read on again.")).state
    return session


def test_what_was_asked_for_is_folded_once_with_an_entry_its_events_and_the_wishes_that_came_with_it(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, window=100_000)
    heard: list[SessionEvent] = []

    async def play() -> tuple[Session, list[Compacted], int]:
        session = await grown(stage, url)
        projection = await session.compact("keep the API notes", heard.append)
        assert projection is not None
        again = await session.compact()
        assert again is not None
        assert same_on_disk(session)
        entries = [payload for _, payload in session.log.payloads() if isinstance(payload, Compacted)]
        await session.close()
        return session, entries, projection.tokens_after

    with stage.serve() as url:
        session, entries, after = asyncio.run(play())
    asked = [received for received in stage.received if "keep the API notes" in as_text(received.body.get("messages"))]
    checkpoints = [edit for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint)]

    assert [entry.edit_id for entry in entries] == [edit.id for edit in checkpoints if not edit.provisional]
    assert (1, True) == (len(asked), entries[0].tokens_after < entries[0].tokens_before)
    # The entry goes by what the edit saved, the projection by the view that came of it.
    assert abs(entries[0].tokens_after - after) <= after // 10
    assert "Never count a crate twice." in checkpoints[0].content
    names = [event.name for event in heard]
    assert ("compaction_start", "compaction_end") == (names[0], names[-1])


def no_log(session: Session) -> Callable[[], object]:
    def full(_self: SessionLog, *_given: object) -> object:
        raise DiskFull("the disk is full")

    return patch.object(SessionLog, "append_edits", full).start


def no_archive(session: Session) -> Callable[[], object]:
    def refuses(_self: Archive, *_given: object) -> object:
        return Refused(reason="the archive is full")

    return patch.object(Archive, "keep", refuses).start


def no_entry(session: Session) -> Callable[[], object]:
    """The edit is written, and then the disk is full."""
    append = SessionLog.append

    def once(self: SessionLog, payload: object, time: float) -> object:
        if isinstance(payload, Compacted):
            raise DiskFull("the disk is full")
        # What follows an entry that could not be written.
        return append(self, payload, time)  # pyright: ignore[reportArgumentType]

    return patch.object(SessionLog, "append", once).start


@pytest.mark.parametrize(("fault", "folds"), [(no_log, False), (no_archive, False), (no_entry, True)])
def test_a_failure_at_any_step_leaves_what_was_and_the_log_says_what_memory_says(
    tmp_path: Path, fault: Callable[[Session], Callable[[], object]], folds: bool
) -> None:
    stage = Stage(tmp_path, window=100_000)

    async def play() -> tuple[bool, str]:
        session = await grown(stage, url)
        before = encode_json([message.id for message in session.agent.engine.view(session.transcript).messages])
        try:
            fault(session)()
            projection = await session.compact()
        finally:
            patch.stopall()
        assert same_on_disk(session)
        after = encode_json([message.id for message in session.agent.engine.view(session.transcript).messages])
        end = await session.run("And on.")
        assert projection is not None
        await session.close()
        return before != after, end.state

    with stage.serve() as url:
        assert (folds, "done") == asyncio.run(play())


def test_a_model_that_hangs_is_given_up_for_a_checkpoint_of_code_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, window=100_000)
    monkeypatch.setattr(module, "SUMMARY", 0.0)

    async def play() -> list[str]:
        session = await grown(stage, url)
        await session.compact()
        assert same_on_disk(session)
        await session.close()
        return [edit.reason.rung for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint)]

    with stage.listen() as url:
        assert ["extractive"] == asyncio.run(play())


def test_a_compaction_that_is_cancelled_or_out_of_time_changes_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, window=100_000)
    monkeypatch.setattr(module, "COMPACTION", 0.0)
    heard: list[SessionEvent] = []

    async def play() -> Sequence[object]:
        session = await grown(stage, url)
        size = session.path.stat().st_size
        with pytest.raises(TimeoutError):
            await session.compact(listen=heard.append)
        assert (size, True) == (session.path.stat().st_size, same_on_disk(session))
        edits = [payload for _, payload in session.log.payloads() if isinstance(payload, Edited)]
        await session.close()
        return edits

    with stage.listen() as url:
        assert [] == asyncio.run(play())
    assert "compaction_end" == heard[-1].name


def test_an_edit_is_taken_back_and_what_was_queued_meanwhile_is_answered(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=100_000)

    async def play() -> tuple[bool, int]:
        session = await grown(stage, url)
        before = [message.id for message in session.agent.engine.view(session.transcript).messages]
        await session.compact()
        session.queue("What is left?")
        await session.expand()
        after = [message.id for message in session.agent.engine.view(session.transcript).messages]
        assert same_on_disk(session)
        await session.run("Read on.")
        typed = sum(message.is_typed for message in session.transcript)
        await session.close()
        return before == after, typed

    with stage.serve() as url:
        assert (True, 4) == asyncio.run(play())
