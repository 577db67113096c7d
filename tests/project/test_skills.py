"""Skills are listed within their room, in an order that use does not change."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.project import Places, Skill, find_skills, list_skills, places_of, read_uses, record_use
from perdure.project.skills import FOLDERS, LINE, ROOM

WEEK = 7 * 86_400.0


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return places_of(tmp_path / "repo", tmp_path / "home")


def skill(folder: Path, name: str, text: str = "---\ndescription: Does it.\n---\nSteps.") -> Path:
    path = folder / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def listed(places: Places) -> list[str]:
    return list_skills(find_skills(places).skills, {}).splitlines()


def cautions(places: Places) -> list[str]:
    return [each.what for each in find_skills(places).cautions]


def test_skills_are_told_by_source_and_name_with_what_they_are_for(places: Places) -> None:
    skill(places.home, "review", "---\nname: review\ndescription: Reviews.\nwhen_to_use: Before a merge.\n---")
    skill(places.home, "build")
    skill(places.own, "release", "no head at all")

    assert [
        "- release (project): no description",
        "- build (user): Does it.",
        "- review (user): Reviews. Before a merge.",
    ] == listed(places)


def test_of_two_skills_with_one_name_the_repositorys_counts_and_the_user_is_told(places: Places) -> None:
    skill(places.home, "build", "---\ndescription: Mine.\n---")
    skill(places.own, "build", "---\ndescription: Theirs.\n---")

    assert ["- build (project): Theirs."] == listed(places)
    assert ["hidden by the project's skill of the same name 'build'"] == cautions(places)


def many(count: int) -> tuple[Skill, ...]:
    return tuple(
        Skill(name=f"skill-{number:03}", source="user", what="w" * 150, path=Path(f"/s/{number}/SKILL.md"))
        for number in range(count)
    )


@given(st.dictionaries(st.sampled_from([each.name for each in many(60)]), st.floats(0, 100)))
def test_use_decides_which_skills_fit_and_never_their_order(uses: dict[str, float]) -> None:
    lines = list_skills(many(60), uses).splitlines()
    *told, rest = lines
    names = [line.split()[1] for line in told]
    unlisted = {each.name for each in many(60)} - set(names)

    assert sorted(names) == names
    assert sum(len(line) + 1 for line in told) <= ROOM
    assert f"({60 - len(told)} more are not listed; each is a folder under skills/ with a SKILL.md.)" == rest
    assert min(uses.get(name, 0) for name in names) >= max(uses.get(name, 0) for name in unlisted)


def test_where_all_fit_use_changes_no_byte() -> None:
    assert list_skills(many(10), {}) == list_skills(many(10), {"skill-007": 9.0})


def test_a_line_has_a_bound(places: Places) -> None:
    skill(places.own, "n" * 64, f"---\ndescription: {'d' * 5_000}\n---")

    assert [True] == [len(line) <= LINE for line in listed(places)]


def test_a_binary_skill_a_pipe_and_a_link_out_of_the_repository_are_refused_with_a_caution_each(
    places: Places, tmp_path: Path
) -> None:
    skill(places.own, "binary").write_bytes(b"---\nname: x\x00\x01\n---")
    pipe = skill(places.own, "pipe")
    pipe.unlink()
    os.mkfifo(pipe)
    link = skill(places.own, "stolen")
    link.unlink()
    (tmp_path / "private.md").write_text("private", encoding="utf-8")
    link.symlink_to(tmp_path / "private.md")
    skill(places.own, "good")

    assert ["- good (project): Does it."] == listed(places)
    assert [
        "is binary; it was not read",
        "is no regular file; it was not read",
        "is a link that leads out of its folder; it was not read",
    ] == cautions(places)


def test_a_folder_of_skills_that_is_a_link_out_of_the_repository_is_refused(places: Places, tmp_path: Path) -> None:
    skill(tmp_path, "private")
    places.own.mkdir()
    (places.own / "skills").symlink_to(tmp_path / "skills", target_is_directory=True)

    assert [] == listed(places)
    assert ["is a link that leads out of its folder; it was not read"] == cautions(places)


def test_folders_that_lead_back_into_themselves_end(places: Places) -> None:
    folder = places.own / "skills"
    folder.mkdir(parents=True)
    (folder / "circle").symlink_to(".", target_is_directory=True)
    (folder / "knot").symlink_to("knot")
    skill(places.own, "good")

    assert ["- good (project): Does it."] == listed(places)


@pytest.mark.parametrize("name", ["a\nb", "x" * 200, "a\u202eb"])
def test_a_name_that_would_break_the_list_is_refused_with_a_caution(places: Places, name: str) -> None:
    skill(places.own, name)
    skill(places.own, "good", "---\ndescription: Does\u2028it.\n---")

    assert ["- good (project): Does\\u2028it."] == listed(places)
    assert ["has a name that is no name: one line of 64 characters at most"] == cautions(places)


def test_thousands_of_folders_are_looked_at_up_to_a_bound(places: Places) -> None:
    for number in range(FOLDERS + 20):
        (places.own / "skills" / f"{number:04}").mkdir(parents=True)

    assert ["has 520 entries; the first 500 were read"] == cautions(places)


def test_uses_are_counted_and_weigh_half_after_a_week(places: Places) -> None:
    record_use(places.home, "build", 0.0)
    record_use(places.home, "build", 0.0)
    record_use(places.home, "review", WEEK)

    assert {"build": 1.0, "review": 1.0} == read_uses(places.home, WEEK)


def test_an_old_use_never_weighs_nothing(places: Places) -> None:
    record_use(places.home, "build", 0.0)

    assert {"build": 0.1} == read_uses(places.home, 1_000 * WEEK)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": {"count": "x", "last": 1}}', b"\x00\xff"])
def test_a_damaged_count_of_uses_counts_nothing_and_is_replaced(places: Places, content: bytes) -> None:
    (places.home / "skill-uses.json").write_bytes(content)
    before = read_uses(places.home, 0.0)
    record_use(places.home, "build", 0.0)

    assert ({}, {"build": 1.0}) == (before, read_uses(places.home, 0.0))


def test_a_use_that_cannot_be_written_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    record_use(tmp_path / "file" / "home", "build", 0.0)

    assert {} == read_uses(tmp_path / "file" / "home", 0.0)
