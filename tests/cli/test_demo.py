"""The demo, on a smaller project: the real agent in processes of its own, refused once and killed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.cli.demo.stage import Played, Stage, play
from perdure.cli.demo.verdict import Verdict, judge
from perdure.cli.main import COMMANDS
from perdure.testing.freight import TASKS

ROOT = Path(__file__).parents[2]
NAMES = ("alder", "bamboo", "cedar", "elm", "holly")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, Verdict]:
    """One demo: five modules, three messages of the user's."""
    stage = Stage(
        folder=tmp_path_factory.mktemp("demo"),
        window=16_000,
        names=NAMES,
        tasks=(TASKS[0], TASKS[1], TASKS[-1]),
        overflow_at=12,
        killed_at=25,
    )
    played = play(stage)
    return played, judge(stage, played)


def test_everything_that_the_demo_checks_holds(shown: tuple[Played, Verdict]) -> None:
    _, verdict = shown

    assert [check for check in verdict.checks if not check.holds] == []
    assert len(verdict.checks) == 11


def test_the_agent_was_killed_once_and_refused_once(shown: tuple[Played, Verdict]) -> None:
    played, _ = shown

    refused = [one for one in played.received if one.status == 400]
    assert (played.killed_at is not None, len(refused)) == (True, 1)


def test_the_context_was_made_smaller_and_nothing_was_missed(shown: tuple[Played, Verdict]) -> None:
    played, verdict = shown

    assert sum(played.rungs().values()) > 0
    assert verdict.handles > 0
    assert played.lost == []
    assert set(played.ends) == {"done"}


def test_the_agents_own_home_is_used_and_no_other(shown: tuple[Played, Verdict], tmp_path: Path) -> None:
    played, _ = shown

    assert {one.headers["x-api-key"] for one in played.received} == {"a key of the demo"}
    assert not (tmp_path / ".perdure").exists()


def test_make_demo_installs_the_extras_of_the_agent_and_of_the_doubles_which_the_command_also_names() -> None:
    assert COMMANDS["demo"].extra == "agent,testing"
    assert "--editable '.[agent,testing]'" in (ROOT / "Makefile").read_text(encoding="utf-8")
