"""A session of Perdure's own is read whole: its newest branch, its requests, and what its harness did to the view."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.kernel.context import ClearThinking, Commit, Edit, NativeCheckpoint, Reason
from perdure.kernel.context.checkpoint import CheckpointDocument
from perdure.kernel.errors import LogTooNew
from perdure.kernel.messages import Compaction, Message, Text, Usage
from perdure.lab.readers import detect, read
from perdure.log import SessionLog, create_log

NOW = 1_790_000_000.0
REASON = Reason(rung="asked", why="asked", at=2, time=NOW, batch="b")


def say(log: SessionLog, number: int) -> None:
    """A message of the user, or, with an even number, an answer."""
    answers = number % 2 == 0
    log.append_message(
        Message(
            id=f"m{number}",
            role="assistant" if answers else "user",
            content=(Text(text=f"words {number}"),),
            provenance="assistant" if answers else "user",
            time=NOW + number,
            model="claude-sonnet-4-5" if answers else None,
            usage=Usage(input_tokens=number) if answers else None,
        ),
        NOW + number,
    )


def test_requests_and_what_was_done_to_the_view_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    checkpoint = NativeCheckpoint(
        id="e1",
        reason=REASON,
        covers_until="m4",
        block=Compaction(content="so far"),
        document=CheckpointDocument(),
        handle="h1",
        tokens_before=9,
        saved=5,
    )
    edits: tuple[Edit, ...] = (ClearThinking(id="e0", reason=REASON, message_id="m2", handle="h0", saved=1), checkpoint)
    with create_log(path, "s", NOW) as log:
        for number in range(1, 5):
            say(log, number)
        log.append_edits((*edits, Commit(id="e2", reason=REASON, edit_id="e1")), NOW)
        for number in range(5, 7):
            say(log, number)
    (recording,) = read(path)

    assert [(1, 2, 0, 0), (3, 4, 0, 0), (5, 6, 4, 3)] == [
        (asked.at, asked.usage.prompt_tokens if asked.usage else None, asked.baseline, asked.ledger)
        for asked in recording.asked
    ]
    assert ["e0", "e1", "e2"] == [edit.id for edit in recording.ledger]
    assert [f"m{number}" for number in range(1, 7)] == [message.id for message in recording.transcript]
    assert ("claude-sonnet-4-5", ()) == (recording.model, recording.troubles)


def test_damaged_lines_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        for number in range(1, 7):
            say(log, number)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], lines[-1][:40]]))
    (recording,) = read(path)

    assert ["m1", "m2", "m3", "m4", "m5"] == [message.id for message in recording.transcript]
    assert [7] == [trouble.line for trouble in recording.troubles]


def test_a_log_of_a_newer_version_is_known_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"format":"perdure-session","version":9,"session":"s"}\n{"id":1}\n')
    found = detect(path)

    assert "perdure-session" == (found and found.name)
    with pytest.raises(LogTooNew, match="version 9"):
        list(read(path))
