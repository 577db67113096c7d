"""A person recalls what left a session, replays its log, and makes room, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.archive import open_archive
from perdure.cli import main
from perdure.kernel.context import ClearToolResult, Original, Reason
from perdure.kernel.messages import Message, Text, ToolResult, decode_object
from perdure.kernel.messages.persist import message_to_json
from perdure.lab.readers import read
from perdure.log import Started, create_log
from perdure.testing.sessions import Scenario, generate

NOW = 1_790_000_000.0
REPORT = "first line\nsecond line with a Needle\nthird\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """One original in the log, and one that is only in the archive."""
    path = tmp_path / "s.jsonl"
    results = [ToolResult(tool_use_id=f"t{number}", content=REPORT * number) for number in (1, 2)]
    messages = [
        Message(id=f"m{number}", role="user", content=(result,), provenance="tool")
        for number, result in enumerate(results, start=1)
    ]
    with create_log(path, "s", NOW) as log, open_archive(log) as archive:
        log.append_message(messages[0], NOW)
        archive.keep(
            [
                Original(handle=f"h{number}", message_id=f"m{number}", what="read a", tokens=9, content=(result,))
                for number, result in enumerate(results, start=1)
            ],
            NOW,
        )
    return path


def said(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> str:
    capfdbinary.readouterr()
    main([*arguments])
    return capfdbinary.readouterr().out.decode()


def test_an_original_is_printed_as_it_was(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    name = str(session)

    assert REPORT == said(capfdbinary, "recall", name, "h1")
    assert "second line with a Needle\nthird\n" == said(capfdbinary, "recall", name, "h1", "--lines", "2-3")
    assert "2: second line with a Needle\n" == said(capfdbinary, "recall", name, "h1", "--pattern", "needle")
    whole = decode_object(said(capfdbinary, "recall", name, "m1", "--json"))
    assert "m1" == whole["handle"]


def test_what_the_log_holds_is_recalled_without_its_archive(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "s.jsonl"
    result = ToolResult(tool_use_id="t1", content=REPORT)
    reason = Reason(rung="asked", why="asked", at=1, time=NOW, batch="b")
    edit = ClearToolResult(
        id="e0", reason=reason, message_id="m1", tool_use_id="t1", content="[cleared]", handle="h1", saved=9
    )
    with create_log(path, "s", NOW) as log:
        log.append_message(Message(id="m1", role="user", content=(result,), provenance="tool"), NOW)
        log.append_edits((edit,), NOW)
    (tmp_path / "s.archive").write_text("in the way", encoding="utf-8")

    assert REPORT == said(capfdbinary, "recall", str(path), "h1")


def test_originals_are_found_by_words_and_listed(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert "h1: read a" in said(capfdbinary, "recall", str(session), "--words", "needle")
    assert ["h2", "h1"] == [line.split(":")[0] for line in said(capfdbinary, "recall", str(session)).split("\n")[1:3]]


def test_room_is_made_only_on_demand_and_only_in_the_archive(
    session: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = str(session.parent)
    log = session.read_bytes()

    assert "would remove 1 originals" in said(capfdbinary, "gc", folder, "--larger-than", "0", "--dry-run")
    assert REPORT * 2 == said(capfdbinary, "recall", str(session), "h2")
    assert "removed 1 originals" in said(capfdbinary, "gc", folder, "--larger-than", "0")
    assert REPORT == said(capfdbinary, "recall", str(session), "h1")
    assert log == session.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recall", "{}", "never"], "asking again is of no use"),
        (["recall", "{}", "h1", "--lines", "9-1"], "lines must be"),
        (["recall", "{}", "h1", "--words", "x"], "not both"),
        (["recall", "{}.missing"], "there is no"),
        (["gc", "{}"], "--older-than"),
        (["gc", "{}", "--older-than", "soon"], "30d"),
        (["gc", "{}", "--larger-than", "much"], "500M"),
    ],
)
def test_what_cannot_be_done_is_said(
    session: Path, capfdbinary: pytest.CaptureFixture[bytes], arguments: list[str], told: str
) -> None:
    code = main([argument.format(session) for argument in arguments])

    assert 2 == code
    assert told in capfdbinary.readouterr().err.decode()


def test_a_replay_reads_the_log(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    generated = generate(2, Scenario(requests=12, turns=3, tokens=20_000))
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append(Started(system=generated.system, tools=generated.tools), NOW)
        for message in generated.transcript:
            log.append_message(message, message.time or NOW)
        log.go_to(3)
        aside = Message(id="other", role="user", content=(Text(text="another branch"),), provenance="user")
        log.append_message(aside, NOW)
        log.go_to(len(generated.transcript) + 1)
        last = Message(id="last", role="user", content=(Text(text="thanks"),), provenance="user")
        log.append_message(last, NOW)
    (recording,) = read(path)
    words = [message_to_json(message) for message in (*generated.transcript, last)]

    assert words == [message_to_json(message) for message in recording.transcript]
    assert (12, generated.tools, generated.system) == (len(recording.asked), recording.tools, recording.system)
    assert () == recording.troubles
    assert "balanced" in said(capfdbinary, "replay", str(path))
