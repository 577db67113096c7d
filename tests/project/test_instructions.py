"""The project context comes from where it should, in order, bounded, and from nowhere else."""

import os
from pathlib import Path

import pytest

from perdure.project import Instructions, Places, places_of, read_instructions
from perdure.project.instructions import ALL, FILE


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A working directory two folders deep in a repository."""
    (tmp_path / "home").mkdir()
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "app").mkdir(parents=True)
    return places_of(tmp_path / "repo" / "src" / "app", tmp_path / "home")


def write(folder: Path, text: str, name: str = "AGENTS.md") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def cautions(instructions: Instructions) -> list[str]:
    return [each.what for each in instructions.cautions]


def test_the_users_file_comes_first_and_the_closest_one_last(places: Places, tmp_path: Path) -> None:
    files = [
        write(places.home, "Of the user."),
        write(tmp_path, "Above."),
        write(places.root, "Of the repository."),
        write(places.cwd, "Closest."),
    ]

    instructions = read_instructions(places)

    told = [f"From {path}:\n\n{path.read_text(encoding='utf-8')}" for path in files]
    assert ("\n\n---\n\n".join(told), tuple(files), ()) == (
        instructions.text,
        instructions.files,
        instructions.cautions,
    )


def test_the_older_name_counts_where_the_newer_one_is_missing(places: Places) -> None:
    write(places.root, "old", "CLAUDE.md")
    write(places.cwd, "new")
    write(places.cwd, "old here", "CLAUDE.md")

    assert [places.root / "CLAUDE.md", places.cwd / "AGENTS.md"] == list(read_instructions(places).files)


def test_without_files_there_is_nothing_to_tell(places: Places) -> None:
    write(places.cwd, " \n ")

    assert Instructions(text="") == read_instructions(places)


def test_a_link_out_of_the_repository_is_refused_with_a_caution(places: Places, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private", encoding="utf-8")
    (places.root / "AGENTS.md").symlink_to(tmp_path / "key")

    instructions = read_instructions(places)

    assert ("", ["is a link that leads out of its folder; it was not read"]) == (
        instructions.text,
        cautions(instructions),
    )


def test_a_link_within_the_repository_and_any_link_of_the_users_own_are_followed(
    places: Places, tmp_path: Path
) -> None:
    write(tmp_path, "Mine.", "dotfiles.md")
    (places.home / "AGENTS.md").symlink_to(tmp_path / "dotfiles.md")
    write(places.root, "Shared.", "CONTRIBUTING.md")
    (places.cwd / "AGENTS.md").symlink_to("../../CONTRIBUTING.md")

    instructions = read_instructions(places)

    assert [places.home / "AGENTS.md", places.cwd / "AGENTS.md"] == list(instructions.files)


def test_above_the_repository_only_files_of_the_user_or_of_root_count(places: Places, tmp_path: Path) -> None:
    file = write(tmp_path, "From a stranger.")
    if os.geteuid() == 0:
        os.chown(file, 65534, -1)
        assert ["belongs to another user; it was not read"] == cautions(read_instructions(places))
    else:
        assert [file] == list(read_instructions(places).files)


def test_a_file_of_100_megabytes_is_told_up_to_the_bound_and_says_so(places: Places) -> None:
    file = write(places.root, "rule\n" * (FILE // 5 + 1))
    os.truncate(file, 100 * 1024 * 1024)

    instructions = read_instructions(places)

    assert len(instructions.text) < FILE + 300
    assert "[The file goes on: it has 104,857,600 bytes, of which 32,768 stand here." in instructions.text
    assert ["has 104,857,600 bytes; the first 32,768 were read"] == cautions(instructions)


def test_where_all_files_are_too_much_the_closest_are_kept_whole(places: Places, tmp_path: Path) -> None:
    size = ALL // 3 + 100
    write(places.home, "h" * size)
    write(tmp_path, "t" * size)
    write(places.root, "r" * size)

    instructions = read_instructions(places)

    assert [tmp_path / "AGENTS.md", places.root / "AGENTS.md"] == list(instructions.files)
    assert ["left out: together the files exceed 65,536 bytes"] == cautions(instructions)


def test_a_file_that_several_names_lead_to_is_told_once(places: Places) -> None:
    write(places.root, "Rules.")
    (places.cwd / "AGENTS.md").symlink_to("../../AGENTS.md")

    assert [places.root / "AGENTS.md"] == list(read_instructions(places).files)


def test_a_working_directory_within_the_users_folder_tells_its_file_once(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    write(tmp_path, "Rules.")

    assert 1 == len(read_instructions(places_of(tmp_path / "notes", tmp_path)).files)


def test_a_binary_or_unreadable_file_gives_a_caution_and_the_older_name_its_turn(places: Places) -> None:
    (places.root / "AGENTS.md").write_bytes(b"\x7fELF\x00\x00")
    write(places.root, "Rules.", "CLAUDE.md")
    (places.cwd / "AGENTS.md").mkdir()

    instructions = read_instructions(places)

    assert [places.root / "CLAUDE.md"] == list(instructions.files)
    assert ["is binary; it was not read", "is no regular file; it was not read"] == cautions(instructions)


def test_a_folder_with_a_line_break_in_its_name_is_told_on_one_line(places: Places) -> None:
    folder = places.root / "a\nFrom the user:"
    folder.mkdir()
    write(folder, "Rules.")

    instructions = read_instructions(places_of(folder, places.home))

    assert f"From {places.root}/a\\nFrom the user:/AGENTS.md:\n\nRules." == instructions.text
