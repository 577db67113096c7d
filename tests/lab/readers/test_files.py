"""Files as they come: found in folders, recognised by what they hold, broken, empty, binary, hostile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perdure.kernel.errors import UnknownFormat, UnreadableFile
from perdure.kernel.messages import Json, encode_json, text_of
from perdure.lab.readers import FORMATS, detect, files, read, walk
from perdure.lab.readers.format import MAX_TROUBLES

SESSION: tuple[Json, ...] = (
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Hello"}},
    {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    },
)
LINES = tuple(encode_json(one) for one in SESSION)


def written(path: Path, *rows: bytes) -> Path:
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = written(tmp_path / "notes.txt", *LINES)

    assert "claude-code" == getattr(detect(path), "name", None)
    assert 1 == len(list(read(path)))


def test_a_broken_line_is_told_with_its_number_and_reading_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", LINES[0], b'{"type": "user", ', b"", b"[1]", b"\xff\x00\xfe", LINES[1])
    (found,) = read(path)

    assert ["Hello", "Hello."] == [text_of(one.content) for one in found.transcript]
    assert [2, 4, 5] == [one.line for one in found.troubles]
    assert "not an object" == found.troubles[1].reason


def test_a_first_line_that_is_broken_hides_no_format(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path / "s.jsonl", b'{"type": "us', *LINES))

    assert (2, [1]) == (len(found.transcript), [one.line for one in found.troubles])


def test_a_last_line_that_breaks_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(LINES[0] + b"\n" + LINES[1][:40])
    (found,) = read(path)

    assert (1, [2]) == (len(found.transcript), [one.line for one in found.troubles])


def test_many_broken_lines_are_counted_and_not_all_told(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path / "s.jsonl", *LINES, *[b"{"] * (MAX_TROUBLES + 50)))

    assert MAX_TROUBLES + 1 == len(found.troubles)
    assert "50 more troubles are not told" == found.troubles[-1].reason


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1_000)
    (found,) = read(written(tmp_path / "s.jsonl", LINES[0], b'"' + b"x" * 5_000 + b'"', LINES[1]))

    assert (2, [2]) == (len(found.transcript), [one.line for one in found.troubles])


def test_a_document_beyond_the_limit_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_DOCUMENT", 10)
    path = written(tmp_path / "s.json", b'[{"role": "user", "content": "Hello"}]')

    with pytest.raises(UnreadableFile, match="one JSON document"):
        list(read(path))


def test_a_document_that_breaks_off_is_recognised_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b'[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hel')

    with pytest.raises(UnreadableFile, match="breaks off"):
        list(read(path))


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    with pytest.raises(UnreadableFile, match="is empty"):
        list(read(path))


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x1f\x8b\x08abc", bytes(range(256)) * 9])
def test_a_binary_file_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    with pytest.raises(UnknownFormat, match="binary"):
        list(read(path))


def test_an_unknown_file_lists_what_was_looked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", b'{"name": "package", "version": "1.0"}')

    assert detect(path) is None
    with pytest.raises(UnknownFormat) as caught:
        list(read(path))
    assert [] == [one.name for one in FORMATS if one.name not in str(caught.value)]


def test_a_folder_a_missing_file_and_a_pipe_say_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path, words in ((tmp_path, "folder"), (tmp_path / "none", "cannot be read"), (tmp_path / "pipe", "regular")):
        with pytest.raises(UnreadableFile, match=words):
            detect(path)


def test_a_format_beyond_the_first_bytes_of_one_long_line_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "HEAD", 200)
    long: Json = {
        "model": "claude-x",
        "system": "S",
        "messages": [{"role": "user", "content": "x" * 900}],
        "stream": True,
    }
    path = written(tmp_path / "s.jsonl", encode_json(long), encode_json(long))

    assert "raw-anthropic" == getattr(detect(path), "name", None)
    assert 2 == sum(len(one.asked) for one in read(path))


def test_folders_are_walked_in_order_and_hidden_and_other_files_left_out(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/1.traj", "a.json", ".git/x.json", "b/.x.json", "README.md", "c/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    named = tmp_path / "README.md"

    assert ["README.md", "a.json", "b/1.traj", "b/2.jsonl"] == [
        str(one.relative_to(tmp_path)) for one in walk([named, tmp_path])
    ]


def test_links_that_lead_back_are_entered_once(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "s.json").touch()
    (inside / "back").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")

    assert ["s.json"] == [one.name for one in walk([tmp_path])]


def test_deep_nesting_and_lone_surrogates_are_no_end(tmp_path: Path) -> None:
    deep = b'{"type":"user","uuid":"d","parentUuid":"a1","message":{"role":"user","content":' + b"[" * 90_000
    nested = b'{"type":"user","uuid":"n","parentUuid":"a1","message":{"role":"user","content":[{"type":"x","y":'
    surrogate = b'{"type":"user","uuid":"s","parentUuid":"n","message":{"role":"user","content":"\\ud800 x"}}'
    path = written(tmp_path / "s.jsonl", *LINES, deep, nested + b"[" * 400 + b"]" * 400 + b"}]}}", surrogate)
    (found,) = read(path)

    assert ["Hello", "Hello.", "\ud800 x"] == [text_of(one.content) for one in found.transcript]
    assert [3, 4] == [one.line for one in found.troubles]
