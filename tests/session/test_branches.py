"""Forks and rewinds at any message, imports, and what an unanswered call becomes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.session.stage import Stage

from perdure.kernel.agent.answers import UNKNOWN, open_calls
from perdure.kernel.errors import UserError
from perdure.kernel.messages import Message, Text, Thinking, ToolResult, ToolUse
from perdure.log import open_log, read_log, state_of
from perdure.session import Session, import_transcript


def test_no_fork_at_any_message_has_a_call_without_its_result_or_changes_the_origin(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> tuple[int, list[int], bytes, bytes]:
        model = stage.model(url)
        session = Session.start(stage.spec(model))
        await session.run("Read on.")
        before = session.path.read_bytes()
        lengths: list[int] = []
        for message in session.transcript:
            with read_log(session.fork(message.id)) as log:
                transcript = state_of(log).transcript
                assert () == open_calls(transcript)
                lengths.append(len(transcript))
        after, count = session.path.read_bytes(), len(session.transcript)
        await session.close()
        await model.close()
        return count, lengths, before, after

    with stage.serve() as url:
        count, lengths, before, after = asyncio.run(play())

    assert (count, sorted(lengths), before) == (lengths[-1], lengths, after)


def test_a_rewind_is_what_a_resume_goes_on_from_and_its_next_run_is_legal(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> tuple[str, int, list[str]]:
        model = stage.model(url)
        session = Session.start(stage.spec(model))
        await session.run("Read on.")
        calling = next(message for message in session.transcript if message.tool_uses)
        with pytest.raises(UserError, match="no message 'm999'"):
            session.rewind("m999")
        session.rewind(calling.id)
        left = [message.id for message in session.transcript]
        await session.close()
        session = Session.resume(stage.spec(model), session.path)
        assert left == [message.id for message in session.transcript]
        end = await session.run("Go another way.")
        await session.close()
        await model.close()
        return end.state, len(left), [str(one.answer) for one in stage.received if one.status != 200]

    with stage.serve() as url:
        state, left, refused = asyncio.run(play())

    assert ("done", []) == (state, refused)
    assert left >= 3


def test_a_call_that_nothing_answered_is_said_to_be_unknown_when_the_session_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> tuple[str, Message]:
        model = stage.model(url)
        session = Session.start(stage.spec(model))
        await session.run("Read on.")
        place = next(place for place, message in enumerate(session.transcript) if message.tool_uses)
        call = session.transcript[place]
        await session.close()
        with open_log(session.path) as log:
            # As a crash leaves it: the call is the last thing that the log has.
            entry = log.entry_of(call.id)
            log.go_to(entry)
            log.append_message(Message(id="note", role="user", content=(), provenance="harness"), stage.clock())
            log.go_to(entry)
            kept = log.path.read_bytes().split(b"\n")
        whole = [line for line in kept if line.startswith(b'{"format"') or _number(line) <= (entry or 0)]
        session.path.write_bytes(b"\n".join(whole) + b"\n")
        session = Session.resume(stage.spec(model), session.path)
        end = await session.run(None)
        answered = session.transcript[place + 1]
        await session.close()
        await model.close()
        return end.state, answered

    with stage.serve() as url:
        state, answered = asyncio.run(play())

    assert ("done", [UNKNOWN]) == (state, [result.content for result in answered.tool_results])


def _number(line: bytes) -> int:
    return int(line.partition(b",")[0].rpartition(b":")[2]) if line.startswith(b'{"id"') else 1_000_000


def test_a_transcript_of_another_harness_goes_on_here(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    foreign = [
        Message(id="a", role="user", content=(Text(text="Count the crates."),), provenance="user", time=10.0),
        Message(
            id="b",
            role="assistant",
            content=(
                Thinking(thinking="Hm.", signature="c2ln"),
                ToolUse(id="t1", name="count", input={}),
                ToolUse(id="t2", name="count", input={}),
            ),
            provenance="assistant",
        ),
        Message(
            id="b", role="user", content=(ToolResult(tool_use_id="t1", content="12"),), provenance="tool", time=30.0
        ),
        Message(id="", role="user", content=(Text(text="And the boxes."),), provenance="user"),
        Message(id="d", role="assistant", content=(ToolUse(id="t3", name="count", input={}),), provenance="assistant"),
    ]

    async def play() -> tuple[str, list[str], list[int]]:
        model = stage.model(url)
        spec = stage.spec(model)
        path = import_transcript(spec.folder, foreign, title="Crates", model="claude-x", clock=stage.clock)
        session = Session.resume(spec, path)
        title = session.title
        end = await session.run("Go on.")
        await session.close()
        again = Session.resume(spec, path)
        assert again.system == session.system
        await again.close()
        await model.close()
        return end.state, [title], [one.status for one in stage.received]

    with stage.serve() as url:
        state, titles, statuses = asyncio.run(play())

    assert ("done", ["Crates"], {200}) == (state, titles, set(statuses))
