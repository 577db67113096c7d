"""A session's log holds what was appended, as a tree, for one writer at a time, in every version that there was."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.kernel.cache.monitor import Reading
from perdure.kernel.context import Commit, Reason, Revert
from perdure.kernel.errors import DiskRefused, InvalidJson, LogDamaged, LogLocked, LogTooNew
from perdure.kernel.messages import Message, Text, Tool, Unknown, Usage
from perdure.log import (
    CacheRead,
    Compacted,
    Counted,
    Edited,
    Labelled,
    ModelChanged,
    Origin,
    Other,
    Payload,
    Remembered,
    Said,
    SessionLog,
    SettingsChanged,
    Started,
    create_log,
    fork_log,
    open_log,
    read_log,
    state_of,
)

NOW = 1_790_000_000.0
REASON = Reason(rung="asked", why="asked", at=2, time=NOW, batch="b1")
EVERY_KIND: tuple[Payload, ...] = (
    Started(
        system=(Text(text="You work on code."), Unknown(dialect="anthropic", raw={"type": "new"})),
        tools=(Tool(name="read", schema={"type": "object"}),),
        git="main, clean",
        model="claude-sonnet-4-5",
        settings={"cwd": "/srv/app", "thinking": {"budget": 4_000}},
    ),
    Started(),
    Said(message=Message(id="m1", role="user", content=(Text(text="fix it\n\u2028now"),), provenance="user")),
    Edited(edits=(Commit(id="e0", reason=REASON, edit_id="x"), Revert(id="e1", reason=REASON, edit_id="e0"))),
    Compacted(edit_id="e0", reason="asked", tokens_before=90_000, tokens_after=20_000, usage=Usage(output_tokens=900)),
    Compacted(edit_id="e1", reason="threshold", tokens_before=9, tokens_after=8),
    ModelChanged(model="gpt-5", provider="openai", effort="high"),
    SettingsChanged(settings={"thinking": None}),
    Labelled(text="before the change", entry=3),
    Labelled(text="parser"),
    Counted(what="summary", usage=Usage(input_tokens=5, raw={"tier": "x"}), model="claude-haiku-4-5"),
    CacheRead(
        message_id="m1",
        reading=Reading(outcome="break", cause="expired", predicted=9_000, seen=0, lost=9_000),
    ),
    CacheRead(message_id="m1", reading=Reading(outcome="first", cause=None, predicted=0, seen=0, lost=0)),
    Remembered(generation=2, text="# Notes", covers_until="m1", template="# "),
    Other(kind="extension_note", payload={"any": [1, None, {"x": 1.5}]}),
)
OF_VERSION_1 = Path(__file__).parent / "version1.jsonl"


def said(number: int, text: str = "") -> Message:
    return Message(id=f"m{number}", role="user", content=(Text(text=text or f"say {number}"),), provenance="user")


def spoken(path: Path) -> list[str]:
    with read_log(path) as log:
        return [message.id for message in state_of(log).transcript]


def test_every_kind_of_entry_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        for payload in EVERY_KIND:
            log.append(payload, NOW)

    with read_log(path) as log:
        assert list(EVERY_KIND) == [payload for _, payload in log.payloads()]


def test_an_entry_can_be_read_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log:
        entry = log.append_message(said(1), NOW)

        assert said(1) == log.message(entry.id)
        assert entry.id == log.entry_of("m1")


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
    with open_log(path) as log:
        log.append_message(said(2), NOW)
        log.append_message(said(3), NOW)

    with read_log(path) as log:
        assert [(1, None), (2, 1), (3, 2)] == [(row.id, row.parent) for row in log.rows()]
    assert ["m1", "m2", "m3"] == spoken(path)


def test_a_branch_leaves_the_other_one_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        first = log.append_message(said(1), NOW)
        left = log.append_message(said(2, "left"), NOW)
        log.go_to(first.id)
        right = log.append_message(said(2, "right"), NOW)

        assert [said(1), said(2, "left")] == list(state_of(log, left.id).transcript)
        assert [said(1), said(2, "right")] == list(state_of(log).transcript)
        assert right.id == log.entry_of("m2")
    with open_log(path) as log:
        assert right.id == log.leaf
        assert (True, False) == (log.on_branch(right.id), log.on_branch(left.id))


def test_only_one_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
        with pytest.raises(LogLocked, match="open a fork"):
            open_log(path)

    with open_log(path) as again:
        again.append_message(said(2), NOW)
    assert ["m1", "m2"] == spoken(path)


def test_who_is_locked_out_may_go_on_in_a_fork(tmp_path: Path) -> None:
    path, other = tmp_path / "s.jsonl", tmp_path / "f.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
        with read_log(path) as seen, fork_log(seen, other, "f", NOW + 1) as fork:
            log.append_message(said(2), NOW)
            fork.append_message(said(7), NOW)

            assert Origin(session="s", entry=1) == fork.header.origin
    assert (["m1", "m2"], ["m1", "m7"]) == (spoken(path), spoken(other))


def test_a_fork_keeps_the_ids_of_entries_that_it_shares(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log:
        first = log.append_message(said(1), NOW)
        log.append_message(said(2), NOW)
        log.go_to(first.id)
        third = log.append_message(said(3), NOW)
        with fork_log(log, tmp_path / "f.jsonl", "f", NOW) as fork:
            assert [first.id, third.id] == [row.id for row in fork.rows()]
            assert third.id + 1 == fork.append_message(said(4), NOW).id


def test_a_new_session_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    create_log(path, "s", NOW).close()
    before = path.read_bytes()

    with pytest.raises(DiskRefused, match="exists already"):
        create_log(path, "s", NOW)
    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_nobody_else_may_read_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "today" / "s.jsonl"
    create_log(path, "s", NOW).close()
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]

    assert [0o600, 0o700, 0o700] == modes


def test_a_clock_that_goes_back_changes_no_order(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    times = [NOW, NOW - 86_400, NOW + 5, 0.0, -1.5]
    with create_log(path, "s", NOW) as log:
        for number, time in enumerate(times):
            log.append_message(said(number), time)

    with open_log(path) as log:
        assert times == [row.time for row in log.branch()]
    assert ["m0", "m1", "m2", "m3", "m4"] == spoken(path)


def test_a_line_may_be_as_long_as_it_must(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    large = said(1, "line of output\n" * 1_500_000)
    with create_log(path, "s", NOW) as log:
        log.append_message(large, NOW)
        log.append_message(said(2), NOW)

    with open_log(path) as log:
        assert large == log.message(1)
        assert 2 == log.entry_of("m2")


def test_a_log_of_version_1_opens_for_ever(tmp_path: Path) -> None:
    # The file was written by version 1. Whoever changes the format adds a file, and leaves this one as it is.
    path = tmp_path / "s.jsonl"
    path.write_bytes(OF_VERSION_1.read_bytes())

    with open_log(path) as log:
        assert list(EVERY_KIND) == [payload for _, payload in log.payloads()]
        assert (1, "golden") == (log.header.version, log.header.session)


@pytest.mark.parametrize(
    "payload",
    [
        Other(kind="Not a kind", payload={}),
        Other(kind="x" * 41, payload={}),
        SettingsChanged(settings={"limit": float("nan")}),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, payload: Payload) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        before = path.read_bytes()
        with pytest.raises(InvalidJson):
            log.append(payload, NOW)

        assert before == path.read_bytes()
        log.append_message(said(1), NOW)
    assert ["m1"] == spoken(path)


@pytest.mark.parametrize("opened", [open_log, read_log])
def test_a_newer_version_is_refused(tmp_path: Path, opened: Callable[[Path], SessionLog]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"format":"perdure-session","version":2,"session":"s","entries":"elsewhere"}\n{"new":1}\n')
    before = path.read_bytes()

    with pytest.raises(LogTooNew, match=r"version 2.*update"):
        opened(path)
    assert before == path.read_bytes()


def test_what_is_no_session_log_is_refused(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"\n", b"{}\n", b'{"format":"perd', b"\x00" * 50)):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(data)
        with pytest.raises(LogDamaged, match="no session log"):
            open_log(path)


def test_the_state_of_a_session_is_what_its_entries_add_up_to(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log:
        for payload in EVERY_KIND:
            log.append(payload, NOW)
        state = state_of(log)

    assert ("parser", {3: "before the change"}) == (state.name, state.labels)
    assert {"cwd": "/srv/app", "thinking": None} == state.settings
    assert ["e0", "e1"] == [edit.id for edit in state.ledger]
    assert ("gpt-5", 2) == (state.model and state.model.model, state.memory and state.memory.generation)
