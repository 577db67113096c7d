"""The index is told within its bounds, and what was left out is said."""

import os
from pathlib import Path

from perdure.memory.auto import Index, memory_body, read_index
from perdure.memory.auto.index import BYTES, LINES

PLACEHOLDER = "(MEMORY.md is empty or does not exist yet. There is nothing to read; write it with the first memory.)"


def index(folder: Path, text: str) -> Index:
    (folder / "MEMORY.md").write_text(text, encoding="utf-8")
    return read_index(folder)


def test_an_index_within_its_bounds_is_told_whole(tmp_path: Path) -> None:
    text = "\n".join(f"- [topic {number}](t{number}.md)" for number in range(LINES))

    assert Index(folder=tmp_path, text=text) == index(tmp_path, f"{text}\n")


def test_of_a_long_index_the_first_200_lines_are_told_with_a_note(tmp_path: Path) -> None:
    lines = index(tmp_path, "\n".join(f"line {number}" for number in range(LINES + 40))).text.splitlines()

    assert ("line 199", "") == (lines[LINES - 1], lines[LINES])
    assert [
        "[MEMORY.md has 240 lines; its first 200 lines stand here. Keep it a lean index: one line for each topic, and "
        "the substance in the topic's file.]"
    ] == lines[LINES + 1 :]


def test_of_a_large_index_whole_lines_within_25_kilobytes_are_told_with_a_note(tmp_path: Path) -> None:
    given = index(tmp_path, f"{'字' * 400}\n" * 100)
    told, _, note = given.text.rpartition("\n\n")

    assert {"字" * 400} == set(told.split("\n"))
    assert BYTES - 1_201 < len(told.encode()) <= BYTES
    assert "[MEMORY.md has 120,100 bytes; its first 21 lines stand here." in note
    assert given.caution is None


def test_an_index_of_one_endless_line_is_cut_within_it(tmp_path: Path) -> None:
    told, _, note = index(tmp_path, "x" * 100_000).text.rpartition("\n\n")

    assert ("x" * BYTES, True) == (told, note.startswith("[MEMORY.md has 100,000 bytes"))


def test_empty_and_missing_indexes_have_a_placeholder(tmp_path: Path) -> None:
    missing, empty = read_index(tmp_path / "none"), index(tmp_path, "\n \n")

    body = memory_body(missing, empty)

    assert 2 == body.count(PLACEHOLDER)


def test_the_users_memory_stands_before_the_projects_each_with_its_folder(tmp_path: Path) -> None:
    project, user = tmp_path / "p", tmp_path / "u\nser"
    for folder in (project, user):
        folder.mkdir()

    lines = memory_body(index(project, "- [a](a.md)"), index(user, "- [b](b.md)")).splitlines()

    user_line = lines.index(f"Memory of the user, for every project, in {tmp_path}/u\\nser:")
    project_line = lines.index(f"Memory of this project, in {project}:")
    assert (user_line, ["- [b](b.md)", "- [a](a.md)"]) == (2, [lines[user_line + 2], lines[project_line + 2]])


def test_an_index_that_is_a_link_to_elsewhere_or_binary_is_not_told(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (tmp_path / "key").write_text("private", encoding="utf-8")
    (folder / "MEMORY.md").symlink_to(tmp_path / "key")
    linked = read_index(folder)
    (folder / "MEMORY.md").unlink()
    (folder / "MEMORY.md").write_bytes(b"a\x00b")
    binary = read_index(folder)

    assert ("", "") == (linked.text, binary.text)
    assert ["is a link that leads out of its folder; it was not read", "is binary; it was not read"] == [
        each.caution.what for each in (linked, binary) if each.caution
    ]


def test_an_index_of_100_megabytes_costs_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- [a](a.md)\n" * 3_000, encoding="utf-8")
    os.truncate(tmp_path / "MEMORY.md", 100 * 1024 * 1024)

    assert "[MEMORY.md has 104,857,600 bytes; its first 200 lines stand here." in read_index(tmp_path).text
