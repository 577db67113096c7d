"""What a screen shows of a session follows from its log, and costs little."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.session.stage import NOW, Stage, closed

from perdure.kernel.cache import bill_of
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse, Usage, encode_json
from perdure.log import create_log
from perdure.session import (
    Session,
    Status,
    composition_of,
    export,
    import_transcript,
    list_sessions,
    losses_of,
    status_of,
    why_of,
)


def test_a_status_is_the_same_after_a_resume_and_its_parts_add_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> tuple[Status, Status]:
        session = Session.start(stage.spec(stage.model(url)))
        for task in ("Read on.", "And on.", "And on again."):
            await session.run(task)
        before, why, losses = status_of(session, stage.clock()), why_of(session), losses_of(session)
        composed = composition_of(session)
        assert abs(composed.tokens - sum(share.tokens for share in composed.kinds)) <= len(composed.kinds)
        assert abs(before.tokens - sum(share.tokens for share in composed.messages) - before.fixed) < 60
        answered = [m.usage for m in session.transcript if m.usage is not None]
        bills = [bill_of(usage, session.model.profile).usd or 0.0 for usage in answered]
        assert pytest.approx(before.usd) == sum(bills) + sum(usd for _, usd in session.costs.beside)
        await session.close()
        session = Session.resume(stage.spec(stage.model(url)), session.path)
        after = status_of(session, stage.clock())
        assert (why, losses) == (why_of(session), losses_of(session))
        assert why is not None
        assert {loss.edit_id for loss in why.left} <= {loss.edit_id for loss in losses}
        assert all(session.recall(loss.handle) for loss in losses)
        await session.close()
        return before, after

    with stage.serve() as url:
        before, after = asyncio.run(play())

    assert before.tokens == before.fixed + before.cached + before.fresh
    assert (3, 27) == (before.turns, before.answers)
    assert pytest.approx(before.usd) == after.usd
    assert (before.fixed, before.cached, before.fresh, before.turns) == (
        after.fixed,
        after.cached,
        after.fresh,
        after.turns,
    )


def test_nothing_is_saved_where_nothing_left_the_view(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=150_000)

    async def play() -> Status:
        session = Session.start(stage.spec(stage.model(url)))
        await session.run("Read on.")
        status = status_of(session, stage.clock())
        await session.close()
        return status

    with stage.serve() as url:
        status = asyncio.run(play())

    assert pytest.approx(0.0) == status.saved_usd


def test_a_status_of_a_million_tokens_takes_less_than_five_milliseconds(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=2_000_000)
    text = "A line of the register with numbers, 1234567890.\n" * 40

    def said(number: int) -> Message:
        if number % 2:
            return Message(
                id=f"m{number}",
                role="assistant",
                content=(ToolUse(id=f"t{number}", name="look", input={"part": number}),),
                provenance="assistant",
                time=NOW + number,
                usage=Usage(cache_read_tokens=number * 300, cache_write_tokens=600, output_tokens=9),
            )
        answered = ToolResult(tool_use_id=f"t{number - 1}", content=text) if number else Text(text="Read on.")
        return Message(
            id=f"m{number}",
            role="user",
            content=(answered,),
            provenance="tool" if number else "user",
            time=NOW + number,
        )

    async def play() -> float:
        spec = stage.spec(stage.model("http://127.0.0.1:9"))
        spec.folder.mkdir(parents=True)
        path = import_transcript(
            spec.folder, [said(number) for number in range(4_000)], title="", model=None, clock=stage.clock
        )
        session = Session.resume(spec, path)
        status = status_of(session, stage.clock())
        assert status.tokens > 1_000_000
        took: list[float] = []
        for _ in range(20):
            started = time.process_time()
            status_of(session, stage.clock())
            took.append(time.process_time() - started)
        await session.close()
        return min(took)

    assert asyncio.run(play()) < 0.005


def test_sessions_are_listed_by_name_or_first_words_the_newest_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def play() -> tuple[Path, Path, Path]:
        spec = stage.spec(stage.model(url))
        first = Session.start(spec, "first")
        await first.run("Count the <crates>.")
        page = export(first.log, "html")
        assert ("&lt;crates&gt;" in page, "<crates>" in page) == (True, False)
        assert "Count the <crates>." in export(first.log, "markdown")
        named = Session.start(spec, "named")
        named.rename("The harbour")
        await named.run("Read on.")
        await named.run("Read on.")
        return await closed(first), await closed(named), spec.folder

    with stage.serve() as url:
        first, named, folder = asyncio.run(play())
    (folder / "broken.jsonl").write_bytes(b"\xff\xfe no log")
    rows = {row.path: row for row in list_sessions(folder)}

    assert {first, named} == set(rows)
    assert ("Count the <crates>.", "The harbour") == (rows[first].title, rows[named].title)
    assert {"claude-sonnet-4-5"} == {row.model for row in rows.values()}
    assert (19, first.stat().st_size) == (rows[first].messages, rows[first].size)


@pytest.mark.parametrize(("created", "last"), [("1e400", 1e300), ("1.e.e", NOW), ("1", -1e300)])
def test_a_time_that_no_calendar_has_hides_no_session_from_a_list(tmp_path: Path, created: str, last: float) -> None:
    message = Message(id="m0", role="user", content=(Text(text="Count."),), provenance="user")
    path = tmp_path / "s0.jsonl"
    with create_log(path, "s0", NOW) as log:
        log.append_message(message, last)
    path.write_bytes(path.read_bytes().replace(encode_json(float(NOW)), created.encode(), 1))
    (row,) = list_sessions(tmp_path)

    assert "Count." == row.title
    assert all(0 <= datetime.fromtimestamp(time, UTC).year < 10_000 for time in (row.created, row.last))


def test_a_thousand_sessions_are_listed_in_a_tenth_of_the_time_that_ten_thousand_may_take(tmp_path: Path) -> None:
    message = Message(id="m0", role="user", content=(Text(text="Count."),), provenance="user")
    with create_log(tmp_path / "s0.jsonl", "s0", NOW) as log:
        log.append_message(message, NOW)
    data = (tmp_path / "s0.jsonl").read_bytes()
    for number in range(1, 1_000):
        (tmp_path / f"s{number}.jsonl").write_bytes(data)
    took: list[float] = []
    for _ in range(3):
        started = time.process_time()
        assert 1_000 == len(list_sessions(tmp_path))
        took.append(time.process_time() - started)

    assert min(took) < 0.3
