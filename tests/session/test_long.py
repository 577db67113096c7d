"""Five hundred calls at a window of 16,000 tokens: the log, the monitor, the double and a replay tell the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.session.stage import Stage

from perdure.kernel.agent import CacheBreak, UsageSeen
from perdure.kernel.context import Checkpoint, NativeCheckpoint
from perdure.lab.readers import read
from perdure.lab.replay import Subject, recorded
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
        session = Session.start(stage.spec(stage.model(url)))
        for number in range(CALLS // 50):
            session.pin(f"Shed {number} is locked.")
            assert "done" == (await session.run(f"Read on, part {number}.", heard.append)).state
            if number % 3 == 2:
                await session.compact()
            await session.close()
            session = Session.resume(stage.spec(stage.model(url)), session.path)
        assert all(session.recall(loss.handle) for loss in losses_of(session))
        return session

    with stage.serve() as url:
        session = asyncio.run(play())
        asyncio.run(session.close())
    seen = [event for event in heard if isinstance(event, UsageSeen) and event.purpose == "answer"]
    answers = [message.usage for message in session.transcript if message.usage is not None]
    given = Counter(counted(one.usage) for one in stage.received)
    own = [(usage.prompt_tokens, usage.cache_read_tokens) for usage in answers]
    recording = next(iter(read(session.path)))
    replayed = recorded(Subject(recording, session.model.profile))
    assert replayed is not None
    with read_log(session.path) as log:
        state = state_of(log)
        entries = [payload.edit_id for _, payload in log.payloads() if isinstance(payload, Compacted)]
    folds = [edit for edit in session.agent.engine.ledger if isinstance(edit, Checkpoint | NativeCheckpoint)]

    assert (CALLS, {200}) == (len(answers), {one.status for one in stage.received})
    assert not Counter(own) - given
    assert (state.transcript, state.ledger) == (session.transcript, session.agent.engine.ledger)
    assert len(entries) == len(set(entries))
    assert {edit.id for edit in folds if not edit.provisional} <= set(entries)
    assert "Shed 0 is locked." in getattr(folds[-1], "content", "")
    prompts, read_tokens = sum(size for size, _ in own), sum(part for _, part in own)
    assert pytest.approx(prompts, rel=0.02) == sum(point.tokens for point in replayed.points)
    assert pytest.approx(read_tokens, rel=0.02) == sum(point.bill.read for point in replayed.points)
    assert pytest.approx(read_tokens, rel=0.02) == sum(event.usage.cache_read_tokens for event in seen)
    breaks = [event.reading.cause for event in heard if isinstance(event, CacheBreak)]
    assert set(breaks) <= {"edited", "expired"}
    hits = [event for event in seen if event.predicted_read and event.predicted_read <= event.usage.prompt_tokens]
    foretold = sum(min(event.predicted_read, event.usage.prompt_tokens) for event in hits)
    lost = sum(event.reading.lost for event in heard if isinstance(event, CacheBreak))
    assert foretold > lost
