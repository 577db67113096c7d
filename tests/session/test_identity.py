"""After a resume, a fork or a retry the next request is, byte for byte, what it would have been, marks included."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.session.stage import Dialect, Stage

from perdure.kernel.context import Attempt
from perdure.session import Session

TASKS = [f"Read on, please, {word}." for word in ("first", "second", "third", "fourth", "fifth")]
PAUSES = [0.0, 900.0, 20.0, 1_200.0, 400.0]
"""Seconds before each task: long enough that marks are given the longer life."""


async def continuing(stage: Stage, url: str) -> int:
    """All tasks in one process. How many edits it took."""
    model = stage.model(url)
    session = Session.start(stage.spec(model), "one")
    for task, pause in zip(TASKS, PAUSES, strict=True):
        stage.later += pause
        assert "done" == (await session.run(task)).state
    edits = sum(not isinstance(edit, Attempt) for edit in session.agent.engine.ledger)
    await session.close()
    await model.close()
    return edits


async def interrupted(stage: Stage, url: str, *, forked: bool) -> None:
    """The same with a new process, or a fork, before each task."""
    path: Path | None = None
    for task, pause in zip(TASKS, PAUSES, strict=True):
        model = stage.model(url)
        spec = stage.spec(model)
        session = Session.start(spec, "one") if path is None else Session.resume(spec, path)
        stage.later += pause
        assert "done" == (await session.run(task)).state
        path = session.fork() if forked else session.path
        await session.close()
        await model.close()


def bodies(stage: Stage) -> Sequence[bytes]:
    return [received.raw for received in stage.received]


@pytest.mark.parametrize("forked", [False, True], ids=["resumed", "forked"])
@pytest.mark.parametrize("dialect", ["anthropic", "responses", "chat"])
def test_requests_are_the_same_whether_or_not_a_new_process_goes_on(
    tmp_path: Path, dialect: Dialect, forked: bool
) -> None:
    stage = Stage(tmp_path, dialect)
    with stage.serve() as url:
        edits = asyncio.run(continuing(stage, url))
    expected = bodies(stage)
    stage.again()
    with stage.serve() as url:
        asyncio.run(interrupted(stage, url, forked=forked))
    differing = [number for number, pair in enumerate(zip(expected, bodies(stage), strict=False)) if len(set(pair)) > 1]

    assert edits > 10
    assert [] == [received.answer for received in stage.received if received.status != 200]
    assert ([], len(expected)) == (differing, len(bodies(stage)))
