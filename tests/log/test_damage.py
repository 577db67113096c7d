"""Whatever a disk or a crash does to a log: named errors, nothing that was acknowledged is lost, nothing is guessed."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import DiskError, DiskFull, DiskRefused, LogDamaged
from perdure.kernel.messages import Message, Text
from perdure.log import create_log, fork_log, open_log, read_log, state_of
from perdure.log.scan import scan

NOW = 1_790_000_000.0
LAST = 4_096


def said(number: int, text: str = "") -> Message:
    return Message(id=f"m{number}", role="user", content=(Text(text=text or f"say {number} 说"),), provenance="user")


def log_of(path: Path, messages: int) -> bytes:
    with create_log(path, "s", NOW) as log:
        for number in range(1, messages + 1):
            log.append_message(said(number), NOW)
    return path.read_bytes()


def spoken(path: Path) -> list[str]:
    with read_log(path) as log:
        return [message.id for message in state_of(log).transcript]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return log_of(tmp_path_factory.mktemp("log") / "s.jsonl", 60)


def test_a_log_cut_at_any_byte_of_its_end_keeps_every_whole_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = log_of(tmp_path / "whole.jsonl", 24)
    # Durability is not what is looked at here, and 4,096 files have to be.
    monkeypatch.setattr(os, "fsync", pretend)
    path = tmp_path / "s.jsonl"
    for size in range(len(written) - LAST, len(written) + 1):
        path.write_bytes(written[:size])
        whole = written[:size].count(b"\n") - 1 + (written[size : size + 1] == b"\n")
        near_an_end = b"\n" in written[size - 2 : size + 2]
        with open_log(path) as log:
            ends = written[size - 1 : size] == b"\n" or written[size : size + 1] == b"\n"
            assert (whole, ends, ()) == (log.leaf, log.torn == 0, log.damage), size
            if near_an_end or size % 32 == 0:
                log.append_message(said(999), NOW)
        if near_an_end or size % 32 == 0:
            assert [f"m{number}" for number in [*range(1, whole + 1), 999]] == spoken(path), size


def test_what_a_crash_left_is_told(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written + b'{"id":61,"parent":60,"kind":"mess')

    with open_log(path) as log:
        assert 33 == log.torn
    with open_log(path) as log:
        assert 0 == log.torn


@pytest.mark.parametrize("size", [1, 40])
def test_zeros_that_a_power_cut_left_are_cut(written: bytes, tmp_path: Path, size: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written + bytes(size))

    with open_log(path) as log:
        assert (size, 60) == (log.torn, len(log.branch()))


@settings(max_examples=200)
@given(data=st.data())
def test_a_changed_byte_is_named_by_its_line_and_the_rest_is_read(written: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(written.index(b"\n") + 1, len(written) - 2).filter(lambda at: written[at] != 10))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (10, written[place])))
    changed = written[:place] + bytes([other]) + written[place + 1 :]
    found = scan(changed)
    line = written[:place].count(b"\n") + 1

    assert [line] == [damage.line for damage in found.damage]
    assert set(range(1, 61)) - {line - 1} == set(found.rows)


def test_a_damaged_log_opens_for_reading_and_can_be_forked(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    changed = written.replace(b"say 30 ", b"say 31 ")
    path.write_bytes(changed)
    kept = [f"m{number}" for number in range(1, 61) if number != 30]

    with open_log(path) as log:
        assert [31] == [damage.line for damage in log.damage]
        with pytest.raises(LogDamaged, match="fork"):
            log.append_message(said(61), NOW)
        with fork_log(log, tmp_path / "f.jsonl", "f", NOW) as fork:
            fork.append_message(said(61), NOW)
    assert kept == spoken(path)
    assert [*kept, "m61"] == spoken(tmp_path / "f.jsonl")
    assert changed == path.read_bytes()


def test_a_damaged_first_line_hides_no_entry(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" + written[1:])

    with open_log(path) as log:
        assert ([1], 60) == ([damage.line for damage in log.damage], len(log.branch()))


@pytest.fixture
def limited() -> Iterator[Callable[[int], None]]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_the_disk_takes_half_of_is_taken_back(tmp_path: Path, limited: Callable[[int], None]) -> None:
    # The limit makes the kernel write the first bytes of the line and refuse the others.
    path = tmp_path / "s.jsonl"
    size = len(log_of(path, 3))
    with open_log(path) as log:
        limited(size + 20)
        with pytest.raises(DiskFull, match="make room"):
            log.append_message(said(4, "x" * 5_000), NOW)
        limited(resource.RLIM_INFINITY)
        assert size == path.stat().st_size
        log.append_message(said(5), NOW)

    assert ["m1", "m2", "m3", "m5"] == spoken(path)


def test_a_write_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def in_pieces(file: int, data: bytes) -> int:
        return write(file, bytes(data)[:7])

    with create_log(tmp_path / "s.jsonl", "s", NOW) as log:
        monkeypatch.setattr(os, "write", in_pieces)
        log.append_message(said(1), NOW)

    assert ["m1"] == spoken(tmp_path / "s.jsonl")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_loses_nothing_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", failing_after(20, code))
            with pytest.raises(DiskFull):
                log.append_message(said(2), NOW)
        assert (1, None) == (log.leaf, log.entry_of("m2"))
        log.append_message(said(3), NOW)

    assert ["m1", "m3"] == spoken(path)


def test_nothing_follows_a_write_that_could_not_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", failing_after(20, errno.ENOSPC))
            patched.setattr(os, "ftruncate", failing(errno.EIO))
            with pytest.raises(DiskFull):
                log.append_message(said(2), NOW)
        with pytest.raises(DiskRefused, match="open the session again"):
            log.append_message(said(3), NOW)

    with open_log(path) as log:
        assert 20 == log.torn
    assert ["m1"] == spoken(path)


def test_an_entry_that_is_not_known_to_be_durable_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failing(errno.EIO))
            with pytest.raises(DiskRefused):
                log.append_message(said(1), NOW)
        with pytest.raises(DiskRefused, match="open the session again"):
            log.append_message(said(2), NOW)

    assert [] == spoken(path)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EPERM, errno.EIO, errno.ENAMETOOLONG])
def test_what_may_not_be_written_has_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    path = tmp_path / "s.jsonl"
    before = log_of(path, 2)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", failing(code))
        for attempt in (lambda: open_log(path), lambda: read_log(path), lambda: create_log(tmp_path / "n", "n", NOW)):
            with pytest.raises(DiskRefused, match=os.strerror(code)):
                attempt()

    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_has_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(DiskRefused):
        create_log(tmp_path / "file" / "s.jsonl", "s", NOW)


def test_a_session_that_could_not_be_begun_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing_after(10, errno.ENOSPC))
        with pytest.raises(DiskFull):
            create_log(tmp_path / "s.jsonl", "s", NOW)

    assert [] == list(tmp_path.iterdir())


def test_nothing_is_written_where_nobody_would_find_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log:
        log.append_message(said(1), NOW)
        path.unlink()
        with pytest.raises(DiskRefused, match="was removed"):
            log.append_message(said(2), NOW)
        with fork_log(log, tmp_path / "f.jsonl", "f", NOW) as fork:
            fork.append_message(said(2), NOW)

    assert ["m1", "m2"] == spoken(tmp_path / "f.jsonl")


@pytest.mark.parametrize("change", [20, -20])
def test_nothing_is_written_behind_what_another_program_wrote(tmp_path: Path, change: int) -> None:
    path = tmp_path / "s.jsonl"
    size = len(log_of(path, 3))
    with open_log(path) as log:
        os.truncate(path, size + change)
        with pytest.raises(DiskRefused, match="another program"):
            log.append_message(said(4), NOW)

    assert size + change == path.stat().st_size


def test_a_missing_log_has_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="there is no"):
        open_log(tmp_path / "s.jsonl")


def pretend(_: int) -> None:
    """Does nothing."""


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def failing_after(size: int, code: int) -> Callable[[int, bytes], int]:
    """Writes a few bytes, and then none."""
    write, left = os.write, [size]

    def fail(file: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(code, os.strerror(code))
        taken, left[0] = left[0], 0
        return write(file, bytes(data)[:taken])

    return fail
