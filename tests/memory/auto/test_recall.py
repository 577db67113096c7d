"""Recall brings the topics that fit what was typed, few, bounded, and each once."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.memory.auto import Topic, find_topics, recall
from perdure.memory.auto.topics import FILES

NOW = 1_796_083_200.0


def topic(name: str, description: str = "", text: str = "", *, days: float = 0) -> Topic:
    path = Path(f"/m/{name.replace(' ', '-')}.md")
    return Topic(path=path, name=name, description=description, text=text, time=NOW - days * 86_400)


def recalled(typed: str, *topics: Topic, shown: Iterable[str] = ()) -> list[str]:
    return [Path(each.key).stem for each in recall(typed, topics, set(shown), NOW)]


BUILD = topic("release build", "How the wheel is made", "Run the packaging script, then sign.")
STYLE = topic("code style", "Naming and line length", "Prefer nouns.")
DATABASE = topic("数据库迁移", "迁移脚本的顺序", "先备份, 再迁移。")


def test_a_word_of_the_name_brings_a_topic() -> None:
    assert ["release-build"] == recalled("The release fails", BUILD, STYLE, DATABASE)


def test_two_words_of_the_description_bring_a_topic_and_one_does_not() -> None:
    assert (["code-style"], []) == (recalled("naming and length?", STYLE), recalled("naming?", STYLE))


def test_words_of_the_body_count_less_and_three_of_them_are_enough() -> None:
    assert ([], ["release-build"]) == (
        recalled("run packaging now", BUILD),
        recalled("sign after the packaging script", BUILD),
    )


def test_chinese_finds_its_topic_by_pairs_of_characters() -> None:
    assert ["数据库迁移"] == recalled("数据库怎么迁移?", BUILD, STYLE, DATABASE)
    assert [] == recalled("今天天气很好", BUILD, STYLE, DATABASE)


def test_forms_of_a_word_and_of_writing_are_alike() -> None:
    assert ["release-build"] == recalled("ＲＥＬＥＡＳＥＳ", BUILD)


@pytest.mark.parametrize("typed", ["", "ok", "please go on with it", "what should I do now?", "???", "的"])
def test_words_that_say_nothing_bring_nothing(typed: str) -> None:
    assert [] == recalled(typed, BUILD, STYLE, topic("what to do", "please go on", "it should"))


def test_a_word_that_most_topics_have_tells_none_apart() -> None:
    topics = [topic(f"service part{number}", "about the service") for number in range(5)]

    assert ([], ["service-part3"]) == (recalled("the service", *topics), recalled("service part3", *topics))


def test_at_most_three_come_and_the_best_stands_last() -> None:
    topics = [
        topic("cache one"),
        topic("cache two keys"),
        topic("cache three keys lifetime"),
        topic("cache four keys lifetime price"),
        *(topic(f"other {number}") for number in range(6)),
    ]

    assert ["cache-two-keys", "cache-three-keys-lifetime", "cache-four-keys-lifetime-price"] == recalled(
        "cache keys, lifetime and price", *topics
    )


def test_of_equals_the_newest_stands_last() -> None:
    assert ["deploy-old", "deploy-new"] == recalled("deploy", topic("deploy new", days=1), topic("deploy old", days=2))


def test_what_the_view_shows_does_not_come_again() -> None:
    assert ["code-style"] == recalled("release style", BUILD, STYLE, shown=[str(BUILD.path)])


@pytest.mark.parametrize(
    ("days", "note"),
    [
        (0.9, None),
        (1, "Written a day ago: check what it says before you rely on it."),
        (12.5, "Written 12 days ago: check what it says before you rely on it."),
        (-3, None),
    ],
)
def test_a_memory_older_than_a_day_says_its_age(days: float, note: str | None) -> None:
    (told,) = recall("deploy", [topic("deploy", text="By hand.", days=days)], (), NOW)

    assert (["deploy", note, "", "By hand."] if note else ["deploy", "", "By hand."]) == told.body.split("\n")


@given(st.text(alphabet="x字\n", min_size=1, max_size=60), st.integers(1, 200))
def test_no_memory_is_told_beyond_four_kilobytes(pattern: str, times: int) -> None:
    text = pattern * times
    (told,) = recall("deploy", [topic("deploy", text=text)], (), NOW)

    assert len(told.body.encode()) <= 4_096 + 60
    assert (len(text.encode()) > 4_096) == told.body.endswith("[It goes on; read the file for the rest.]")


@given(st.text(), st.lists(st.text(max_size=20), max_size=4))
def test_no_text_breaks_recall(typed: str, names: list[str]) -> None:
    topics = [
        Topic(path=Path(f"/m/{at}.md"), name=name, description="", text="", time=0) for at, name in enumerate(names)
    ]

    assert len(recall(typed, topics, (), NOW)) <= 3


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_topics_are_found_with_their_heads_or_their_first_lines(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", "- [a](a.md)")
    write(tmp_path, "a.md", "---\nname: Alpha\ndescription: First.\ntype: project\n---\n\nBody.\n")
    write(tmp_path, "sub/b.md", "# Beta\n\nText.")
    write(tmp_path, ".hidden.md", "no")
    write(tmp_path, "notes.txt", "no")

    found = find_topics(tmp_path)

    assert ([("Alpha", "First.", "Body."), ("b", "Beta", "# Beta\n\nText.")], ()) == (
        [(each.name, each.description, each.text) for each in found.topics],
        found.cautions,
    )


def test_hostile_topics_are_left_out_with_a_caution_each(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    write(folder, "binary.md", b"\x00")
    write(folder, "good.md", "Text.")
    write(folder, "line\nbreak.md", "Text.")
    write(tmp_path, "private.md", "private")
    (folder / "linked.md").symlink_to(tmp_path / "private.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "circle").symlink_to(".", target_is_directory=True)

    found = find_topics(folder)

    assert ["good"] == [each.name for each in found.topics]
    assert [
        "is binary; it was not read",
        "has a name that cannot be told; rename it",
        "is a link that leads out of its folder; it was not read",
        "is no regular file; it was not read",
    ] == [each.what for each in found.cautions]


def test_a_memory_without_a_folder_has_no_topics(tmp_path: Path) -> None:
    assert () == find_topics(tmp_path / "none").topics


def test_of_thousands_of_topics_a_bounded_number_is_read(tmp_path: Path) -> None:
    for number in range(FILES + 50):
        write(tmp_path, f"{number:04}.md", "Text.")

    assert FILES == len(find_topics(tmp_path).topics)
