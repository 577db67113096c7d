"""Housekeeping finds what is wrong with a memory, and shows no secret."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.cli import main
from perdure.kernel.messages import decode_object
from perdure.memory.auto import check
from perdure.project import places_of

# In two pieces, so that no scanner takes the file for a leak.
TOKEN = "ghp_" + "a8Kq2LmZ0pXw7RtY5uVb3NcD1eFgH4jS6kTq"
SENTENCE = "The deployment runs from the release branch alone."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory with nothing wrong in it."""
    folder = tmp_path / "memory"
    folder.mkdir()
    write(
        folder, "MEMORY.md", "- [Build](build.md): how\n- [[style]]\n- [Site](https://example.org/a.md) [top](#top)\n"
    )
    write(folder, "build.md", "---\nname: build\n---\nSee [style](style.md#names).\n")
    write(folder, "style.md", "Nouns.\n")
    return folder


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def found(folder: Path) -> list[tuple[str, str, int]]:
    return [(each.kind, each.file, each.line) for each in check(folder)]


def test_a_memory_in_order_gives_no_finding(folder: Path, tmp_path: Path) -> None:
    assert ([], []) == (found(folder), found(tmp_path / "none"))


def test_dead_links_are_found_in_the_index_and_between_topics(folder: Path) -> None:
    write(folder, "build.md", "one\n[gone](gone%20away.md) and [[lost]]\n[out](../../etc/passwd)")

    assert [
        ("dead link", "build.md", 2, "there is no 'gone away.md'"),
        ("dead link", "build.md", 2, "there is no 'lost.md'"),
        ("dead link", "build.md", 3, "'../../etc/passwd' leads out of the memory"),
    ] == [(each.kind, each.file, each.line, each.what) for each in check(folder)]


def test_a_topic_that_the_index_does_not_name_is_found(folder: Path) -> None:
    write(folder, "orphan.md", "Alone.")

    assert [("not in the index", "orphan.md", 0)] == found(folder)


def test_a_line_that_stands_twice_is_found_where_it_stands_again(folder: Path) -> None:
    write(folder, "build.md", f"{SENTENCE}\nshort\nshort")
    write(folder, "style.md", f"x\n  {SENTENCE.upper()}")

    (finding,) = check(folder)

    assert ("duplicate", "style.md", 2, "stands in build.md:1 too") == (
        finding.kind,
        finding.file,
        finding.line,
        finding.what,
    )


def test_two_topics_of_one_name_and_two_links_to_one_topic_are_found(folder: Path) -> None:
    write(folder, "style.md", "---\nname: Build\n---\nNouns.")
    write(folder, "MEMORY.md", "- [Build](build.md)\n- [[style]]\n- [Again](./build.md)")

    assert [("duplicate", "MEMORY.md", 3), ("duplicate", "style.md", 0)] == found(folder)


def test_a_secret_is_found_by_line_and_kind_and_never_shown(folder: Path) -> None:
    write(folder, "style.md", f"Nouns.\ntoken: {TOKEN}\n")

    (finding,) = check(folder)

    assert ("secret", "style.md", 2) == (finding.kind, finding.file, finding.line)
    assert TOKEN not in str(finding)


def test_files_beyond_what_is_told_or_recalled_are_found(folder: Path) -> None:
    index = (folder / "MEMORY.md").read_text(encoding="utf-8")
    write(folder, "MEMORY.md", index + "\n".join(f"- {number} {'w' * 140}" for number in range(250)))
    write(folder, "style.md", "\n".join(f"{number} {'w' * 100}" for number in range(60)))

    assert [("too long", "MEMORY.md", 0), ("too long", "MEMORY.md", 201), ("too long", "style.md", 0)] == found(folder)


def test_hostile_files_are_found_and_survived(folder: Path, tmp_path: Path) -> None:
    (folder / "binary.md").write_bytes(b"\x00")
    (folder / "a\nb.md").symlink_to(tmp_path / "MEMORY.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "circle").symlink_to(".", target_is_directory=True)
    write(folder, "style.md", f"[x](circle/circle/style.md) [y]({'a/' * 3_000}b.md) [z](%00.md)")

    findings = found(folder)

    assert [("unreadable", "a\\nb.md", 0), ("unreadable", "binary.md", 0), ("unreadable", "pipe.md", 0)] == [
        each for each in findings if each[0] == "unreadable"
    ]
    assert [("dead link", "style.md", 1)] * 2 == [each for each in findings if each[0] == "dead link"]


@given(text=st.text(alphabet="[]()<>#|.md/a \n%"))
def test_no_text_breaks_the_check(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("memory")
    write(folder, "MEMORY.md", text)

    assert all(each.file == "MEMORY.md" for each in check(folder))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


def test_the_command_checks_the_memories_of_user_and_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = places_of(project, project.parent / "home")
    for folder in (places.memory, places.user_memory):
        folder.mkdir(parents=True)
        write(folder, "MEMORY.md", f"- [gone](gone.md)\n{TOKEN}\n")

    assert 1 == main(["memory", "check", "--project", str(project)])

    printed = capsys.readouterr().out
    assert [f"{places.user_memory}/MEMORY.md:1: dead link: there is no 'gone.md'", False] == [
        printed.splitlines()[0],
        TOKEN in printed,
    ]
    assert f"4 found in {places.user_memory} and {places.memory}" == printed.splitlines()[-1]


def test_the_command_gives_json_and_the_exit_code_says_whether_something_was_found(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == main(["memory", "check", "--project", str(project), "--json"])
    assert {"findings": []} == decode_object(capsys.readouterr().out)


def test_the_command_refuses_a_folder_that_is_not_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["memory", "check", "--project", str(project / "none")])
    assert "name one with --project" in capsys.readouterr().err
