"""Five hundred calls at a window of 16,000 tokens: log, monitor, double and a replay of the log tell the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from time import perf_counter

import pytest
from tests.session.stage import Stage

from perdure.kernel.agent import CacheBreak, UsageSeen
from perdure.kernel.context import Checkpoint, NativeCheckpoint
from perdure.lab.policies import followed
from perdure.lab.readers import read
from perdure.lab.replay import Setting, Subject, replay
from perdure.log import Compacted, read_log, state_of
from perdure.session import Session, SessionEvent, losses_of
from perdure.testing.doubles.shape import Body

CALLS = 500


def counted(usage: Body) -> tuple[int, int]:
    """Tokens of a prompt, and how many of them were read from the cache, as the double counted."""
    read = int(usage.get("cache_read_input_tokens") or 0)
    return int(usage.get("input_tokens") or 0) + read + int(usage.get("cache_creation_input_tokens") or 0), read


@pytest.mark.timeout(120)
def test_a_long_session_in_a_small_window_is_counted_alike_by_log_monitor_double_and_replay(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.reader.rounds = 49
    heard: list[SessionEvent] = []

    async def play() -> Session:
        session = Session.start(stage.spec(stage.model()))
        for number in range(CALLS // 50):
            session.pin(f"Shed {number} is locked.")
            assert "done" == (await session.run(f"Read on, part {number}.", heard.append)).state
            if number % 3 == 2:
                await session.compact()
            await session.close()
            session = Session.resume(stage.spec(stage.model()), session.path)
        assert all(session.recall(loss.handle) for loss in losses_of(session))
        await session.close()
        return session

    session = asyncio.run(play())
    given = [counted(one.usage) for one in stage.talk]
    sizes, reads = [size for size, _ in given], [part for _, part in given]

    # What the double counted is what the log says, request by request, and the log is what memory says.
    answers = [message.usage for message in session.transcript if message.usage is not None]
    assert (CALLS, {200}) == (len(answers), {one.status for one in stage.received})
    assert given == [(usage.prompt_tokens, usage.cache_read_tokens) for usage in answers]
    with read_log(session.path) as log:
        state = state_of(log)
        entries = Counter(payload.edit_id for _, payload in log.payloads() if isinstance(payload, Compacted))
    folds = [edit for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint | NativeCheckpoint)]
    assert (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)
    assert {edit.id: 1 for edit in folds if not edit.provisional} == dict(entries)
    assert "Shed 0 is locked." in getattr(folds[-1], "content", "")

    # The monitor foretells each request that nothing breaks to the token, and names what broke the others.
    seen = [event for event in heard if isinstance(event, UsageSeen) and event.purpose == "answer"]
    breaks = [event.reading for event in heard if isinstance(event, CacheBreak)]
    unbroken = sum(event.predicted_read == event.usage.cache_read_tokens for event in seen)
    # A new process has no request behind it to foretell from.
    blind = [place for place, event in enumerate(seen) if event.predicted_read == 0]
    assert {"edited"} == {reading.cause for reading in breaks}
    assert CALLS == unbroken + len(breaks) + len(blind) - 1

    # The replay has no reads to go by: it follows the edits of the log, and its cache works the reads out.
    recording = next(iter(read(session.path)))
    setting = Setting(profile=session.model.profile, clock=perf_counter)
    replayed = replay(Subject(recording, session.model.profile), "followed", followed(recording), setting)
    assert sizes == [point.tokens for point in replayed.points]
    assert pytest.approx(sum(reads), rel=0.02) == sum(point.bill.read for point in replayed.points)
    written = sum(sizes) - sum(reads)
    assert pytest.approx(written, rel=0.02) == sum(point.bill.written + point.bill.fresh for point in replayed.points)
    foretold = sum(event.predicted_read for event in seen) - sum(reading.predicted - reading.seen for reading in breaks)
    judged = [point for place, point in enumerate(replayed.points) if place not in blind]
    assert pytest.approx(foretold, rel=0.02) == sum(point.bill.read for point in judged)
    assert len(breaks) == sum(point.broke == "edited" for point in judged)
