"""A file of somebody else's is read with care: what is wrong with it is told, nothing waits and nothing raises."""

import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perdure.guard.reading import Reading, read_file

NOBODY = 65534


@contextmanager
def without_privileges() -> Generator[None]:
    """As a user to whom permissions apply, also where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def read(path: Path, limit: int = 100, within: Path | None = None, *, owned: bool = False) -> Reading:
    reading = read_file(path, limit=limit, within=within, owned=owned)
    assert reading is not None
    return reading


def caution(reading: Reading) -> str:
    assert "" == reading.text
    assert reading.caution is not None
    return reading.caution.what


def test_a_text_is_read_whole_without_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes("\ufeffone\r\ntwo é".encode())

    reading = read(file)

    assert ("one\ntwo é", False, None, file.resolve()) == (reading.text, reading.cut, reading.caution, reading.path)


def test_a_file_that_is_not_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert (None, None) == (read_file(tmp_path / "a", limit=9), read_file(tmp_path / "file" / "a", limit=9))


def test_a_long_file_is_read_up_to_the_limit_and_never_ends_in_half_a_character(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("é" * 60, encoding="utf-8")

    reading = read(file, limit=99)

    assert ("é" * 49, True, 120) == (reading.text, reading.cut, reading.size)
    assert "has 120 bytes; the first 99 were read" == (reading.caution and reading.caution.what)


def test_a_sparse_file_of_100_megabytes_costs_its_first_bytes_only(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("rule\n" * 100, encoding="utf-8")
    os.truncate(file, 100 * 1024 * 1024)

    reading = read(file, limit=500)

    assert ("rule\n" * 99 + "rule\n", 104_857_600, True) == (reading.text, reading.size, reading.cut)
    assert "is binary; it was not read" == caution(read(file, limit=600))


def test_bytes_that_are_no_text_are_marked_and_not_lost_sight_of(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"a\xff b")

    assert "a\ufffd b" == read(file).text


def test_a_link_within_its_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("text", encoding="utf-8")
    (tmp_path / "a.md").symlink_to("real.md")

    assert "text" == read(tmp_path / "a.md", within=tmp_path).text


@pytest.mark.parametrize("target", ["../secret", "inner/../../secret", "out/secret"])
def test_a_link_out_of_its_folder_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "project"
    (folder / "inner").mkdir(parents=True)
    (folder / "out").symlink_to(tmp_path, target_is_directory=True)
    (folder / "a.md").symlink_to(target)

    assert "is a link that leads out of its folder; it was not read" == caution(read(folder / "a.md", within=folder))
    assert "secret" == read(folder / "a.md").text


def test_a_folder_that_is_itself_a_link_may_hold_its_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("text", encoding="utf-8")
    (tmp_path / "link").symlink_to("real", target_is_directory=True)

    assert "text" == read(tmp_path / "link" / "a.md", within=tmp_path / "link").text


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("b.md")
    (tmp_path / "b.md").symlink_to("a.md")

    assert "circle of links" in caution(read(tmp_path / "a.md"))


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("b.md")

    assert "is a link to nothing; it was not read" == caution(read(tmp_path / "a.md"))


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()

    assert "is no regular file; it was not read" == caution(read(tmp_path / "a.md"))


def test_a_pipe_that_nobody_writes_to_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")

    assert "is no regular file; it was not read" == caution(read(tmp_path / "a.md"))


def test_a_file_without_permission_is_told(open_folder: Path) -> None:
    file = open_folder / "a.md"
    file.write_text("text", encoding="utf-8")
    file.chmod(0o000)

    with without_privileges():
        reading = read(file)

    assert "cannot be read (Permission denied); it was left out" == caution(reading)


def test_a_file_of_another_user_is_refused_where_anybody_may_put_one(open_folder: Path) -> None:
    file = open_folder / "a.md"
    file.write_text("text", encoding="utf-8")
    file.chmod(0o644)

    assert "text" == read(file, owned=True).text
    if os.geteuid() == 0:
        os.chown(file, NOBODY, -1)
        assert "belongs to another user; it was not read" == caution(read(file, owned=True))


def test_a_name_that_no_file_can_have_is_told_on_one_line(tmp_path: Path) -> None:
    reading = read(tmp_path / "a\0b\n.md")

    assert "has a name that no file can have; it was left out" == caution(reading)
    assert reading.caution is not None
    assert f"{tmp_path}/a\\x00b\\n.md" == reading.caution.place
