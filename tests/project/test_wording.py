"""The words say what they must, and nothing that may change."""

import re
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Extra, Tool
from perdure.project.wording import (
    MEMORY_RULES,
    date_body,
    deferred_body,
    project_body,
    repeated_words,
    role_block,
    skills_body,
    todos_words,
    universal_base,
)

BASE = universal_base("/srv/app", "Linux (x86_64)")
NAMES = ("read", "bash", "todo", "subagent")
TOOLS = tuple(Tool(name=name, description=f"{name} does it. And more.") for name in NAMES)
MIDNIGHT = 1_796_169_600.0
"""2026-12-02, 00:00 UTC."""


def headings(text: str) -> list[str]:
    return re.findall(r"^# (.+)$", text, re.MULTILINE)


def test_the_base_has_an_environment_and_five_sections_of_conventions() -> None:
    assert [
        "Environment",
        "Parallel execution",
        "Doing tasks",
        "Using tools",
        "System conventions",
        "Output economy",
    ] == headings(BASE)


def test_the_base_says_that_reminders_are_the_harness_and_not_the_user() -> None:
    assert (
        "A text in <system-reminder> tags is written by the harness that runs you. It is not the user speaking" in BASE
    )


def test_the_base_names_no_tool_no_role_and_no_date() -> None:
    named = r"`(?:read|write|edit|bash|glob|grep|recall|todo|subagent)`|\b(?:leader|subagent|20\d\d)\b"

    assert [] == re.findall(named, BASE)


@given(st.text(max_size=50))
def test_a_folder_of_any_name_takes_one_line_and_adds_no_heading(cwd: str) -> None:
    base = universal_base(f"/srv/{cwd}", "Linux")

    assert (headings(BASE), len(BASE.splitlines())) == (headings(base), len(base.splitlines()))


def test_leader_and_subagent_are_told_who_they_are() -> None:
    assert "You lead this session." in role_block("leader", TOOLS)
    assert "You are a subagent." in role_block("subagent", TOOLS)


@pytest.mark.parametrize(
    ("names", "sections"),
    [
        ([], ["Your role", "Memory"]),
        (["read"], ["Your role", "Your tools", "Memory"]),
        (["read", "todo"], ["Your role", "Your tools", "Tasks", "Memory"]),
        (["read", "subagent"], ["Your role", "Your tools", "Subagents", "Memory"]),
        (["read", "bash", "todo", "subagent"], ["Your role", "Your tools", "Tasks", "Subagents", "Memory"]),
    ],
)
def test_a_section_is_there_where_its_tools_are(names: list[str], sections: list[str]) -> None:
    assert sections == headings(role_block("leader", [tool for tool in TOOLS if tool.name in names]))


def test_a_subagent_is_not_told_to_start_subagents() -> None:
    assert ["Your role", "Your tools", "Tasks", "Memory"] == headings(role_block("subagent", TOOLS))


def test_local_tools_are_listed_in_order_each_with_a_sentence() -> None:
    hostile = Tool(name="a\nb", description="x" * 500 + "\n# Heading")
    late = Tool(name="late", extra=Extra(dialect="anthropic", fields=(("defer_loading", True),)))
    lines = role_block("leader", [*TOOLS[:2], hostile, late]).splitlines()

    listed = [line for line in lines if line.startswith("- `")]
    assert ["- `read`: read does it.", "- `bash`: bash does it."] == listed[:2]
    assert (3, True) == (len(listed), listed[2].startswith("- `a\\nb`: xxx") and len(listed[2]) < 140)


@pytest.mark.parametrize(
    "rule",
    [
        "conventions that were confirmed more than once",
        "key decisions with their reasons, and important paths",
        "the user's preferences",
        "solutions of problems that come back",
        "the state of the current task",
        "guesses from a single file that nothing confirmed",
        "what repeats or contradicts AGENTS.md",
        "change or remove that entry where it stands",
    ],
)
def test_the_rules_of_memory_say(rule: str) -> None:
    assert rule in MEMORY_RULES
    assert MEMORY_RULES in role_block("subagent", ())


def test_the_date_is_that_of_the_zone() -> None:
    before, after = timezone(timedelta(hours=-1)), timezone(timedelta(hours=1))

    assert "Today is Tuesday, 2026-12-01." == date_body(MIDNIGHT, before)
    assert "Today is Wednesday, 2026-12-02." == date_body(MIDNIGHT, after)
    assert date_body(MIDNIGHT, UTC) == date_body(MIDNIGHT + 86_399, UTC) != date_body(MIDNIGHT - 1, UTC)
    assert "Today is " == date_body(MIDNIGHT)[:9]


def test_what_is_not_there_has_no_words() -> None:
    assert ["", "", "", ""] == [skills_body(""), project_body(""), deferred_body(TOOLS), todos_words([])]


def test_deferred_tools_are_named_in_order() -> None:
    tools = [Tool(name=name, extra=Extra(dialect="anthropic", fields=(("defer_loading", True),))) for name in "ba"]

    assert ["- a", "- b"] == deferred_body([*TOOLS, *tools]).splitlines()[1:]


def test_a_repeated_call_and_open_todos_are_named_within_bounds() -> None:
    assert "called `bash` 4 times in a row" in repeated_words("bash", 4)
    words = todos_words([f"{number} {'x' * 300}\n" for number in range(30)])
    assert (22, "- and 10 more") == (len(words.splitlines()), words.splitlines()[-1])
    assert max(len(line) for line in words.splitlines()[1:]) < 130
