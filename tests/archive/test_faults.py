"""Where the disk refuses, the archive says so, and the engine leaves the view as it is; nothing is half kept."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perdure.archive import Archive, collect, open_archive
from perdure.archive.archive import INDEX
from perdure.kernel.context import Archive as Keep
from perdure.kernel.context import Done, Engine, Original, Refused, drive
from perdure.kernel.context.ports import Answer, Need
from perdure.kernel.errors import DiskFull, DiskRefused, HandleGone, LogTooNew
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse, Transcript
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts

NOW = 1_790_000_000.0


class Ports(ScriptedPorts):
    """Ports whose archive is a real one."""

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self.kept = archive

    def perform(self, need: Need) -> Answer:
        return self.kept.keep(need.originals, NOW) if isinstance(need, Keep) else super().perform(need)


def original(number: int, text: str = "") -> Original:
    result = ToolResult(tool_use_id="t", content=text or f"output {number}")
    return Original(handle=f"h{number}", message_id=f"m{number}", what="bash", tokens=1, content=(result,))


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with open_archive(None, tmp_path / "a") as opened:
        assert opened.keep([original(1)], NOW) == Done()
        yield opened


@pytest.fixture
def limited() -> Iterator[Callable[[int], None]]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_blob_that_cannot_be_written_is_refused_and_leaves_no_trace(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing(code))
        answer = archive.keep([original(2)], NOW)

    assert isinstance(answer, Refused)
    assert os.strerror(code) in answer.reason
    assert [["h1"], 1] == [[row.handle for row in archive.newest()], len(list(archive.blobs.folder.rglob("*.*"))) + 1]
    with pytest.raises(HandleGone):
        archive.recall("h2")
    assert Done() == archive.keep([original(2)], NOW)


def test_an_index_that_the_disk_has_no_room_for_is_refused_whole(
    archive: Archive, limited: Callable[[int], None]
) -> None:
    folded = tuple(
        Message(id=f"f{number}", role="user", content=(Text(text=f"text {number}"),), provenance="harness")
        for number in range(200)
    )
    fold = Original(handle="h7", message_id="f199", what="messages", tokens=1, messages=folded)
    size = (archive.folder / f"{INDEX}-wal").stat().st_size
    limited(size + 5_000)
    answer = archive.keep([fold], NOW)
    limited(resource.RLIM_INFINITY)

    assert isinstance(answer, Refused)
    assert ["h1"] == [row.handle for row in archive.newest()]
    assert Done() == archive.keep([fold], NOW)
    assert folded == archive.recall("h7").messages


def test_a_refused_archive_leaves_the_view_as_it_was(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ToolUse(id="c", name="bash", input={"command": "cat report"})
    big = "\n".join(f"{number} {number * number}" for number in range(8_000))
    transcript = Transcript(
        (
            Message(id="m1", role="user", content=(Text(text="go on"),), provenance="user"),
            Message(id="m2", role="assistant", content=(call,), provenance="assistant"),
            Message(id="m3", role="user", content=(ToolResult(tool_use_id="c", content=big),), provenance="tool"),
        )
    )
    engine = Engine(lookup("claude-sonnet-4-5"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing(errno.ENOSPC))
        refused = drive(engine.project(transcript, NOW), Ports(archive))
    kept = drive(engine.project(transcript, NOW), Ports(archive))

    assert (("archive_refused",), transcript[:]) == (refused.notes, refused.messages)
    assert [True] == [lost.handle in {row.handle for row in archive.newest()} for lost in kept.lost]


def test_a_folder_that_cannot_be_made_has_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(DiskRefused):
        open_archive(None, tmp_path / "file" / "a")


@pytest.mark.parametrize(("code", "named"), [(errno.EACCES, DiskRefused), (errno.EROFS, DiskRefused), (28, DiskFull)])
def test_an_index_that_may_not_be_opened_has_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, named: type[Exception]
) -> None:
    monkeypatch.setattr(os, "open", failing(code))

    with pytest.raises(named):
        open_archive(None, tmp_path)


def test_an_index_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    open_archive(None, tmp_path).close()
    with sqlite3.connect(tmp_path / INDEX) as base:
        base.execute("PRAGMA user_version = 3")
    base.close()

    with pytest.raises(LogTooNew, match="version 3"):
        open_archive(None, tmp_path)


def test_a_blob_without_a_row_is_taken_by_the_next_collection(archive: Archive) -> None:
    # What a crash between blob and index leaves.
    orphan = archive.blobs.put(b"nobody knows me")
    collect(archive, NOW, before=NOW - 1)

    assert orphan not in set(archive.blobs.names())
    assert "output 1" == archive.recall("h1").text


def test_two_that_are_open_see_what_the_other_keeps(archive: Archive) -> None:
    with open_archive(None, archive.folder) as other:
        assert Done() == other.keep([original(2)], NOW)
        assert Done() == archive.keep([original(3)], NOW)

        assert ["h3", "h2", "h1"] == [row.handle for row in other.newest()]
        assert ["h2"] == [hit.handle for hit in archive.search("2")]


def test_a_clock_that_goes_back_keeps_the_order(archive: Archive) -> None:
    archive.keep([original(2)], NOW - 1_000_000)
    archive.keep([original(3)], -5.0)

    assert ["h3", "h2", "h1"] == [row.handle for row in archive.newest()]
