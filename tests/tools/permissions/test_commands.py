"""Commands taken apart: each program is seen wherever it hides."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.tools.permissions.commands import effects_of
from perdure.tools.permissions.effects import Ruinous, Run
from perdure.tools.permissions.paths import ground_of


def runs(command: str, folder: Path) -> set[tuple[str, ...]]:
    ground = ground_of(folder, (), folder)
    return {effect.words for effect in effects_of(command, folder, ground) if isinstance(effect, Run)}


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x",
        "ls | rm x",
        "(ls; rm x)",
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "cat <<E\n$(rm x)\nE\n",
        "f() { rm x; }",
        "sh -c 'rm x'",
        "eval 'rm x'",
        "env A=1 nohup timeout 5 rm x",
        "r''m x",
        "find . -exec rm x \\;",
        "sudo rm x",
        "if ls; then rm x; fi",
    ],
)
def test_a_command_is_seen_wherever_it_hides(command: str, tmp_path: Path) -> None:
    found = runs(command, tmp_path)

    assert any(words[-2:] == ("rm", "x") for words in found), found


def test_what_takes_everything_away_is_ruinous(tmp_path: Path) -> None:
    found = effects_of("rm -rf /", tmp_path, ground_of(tmp_path, (), tmp_path))

    assert any(isinstance(effect, Ruinous) for effect in found)


@given(st.text())
def test_no_text_makes_the_reading_raise(text: str) -> None:
    folder = Path("/nowhere")

    assert isinstance(effects_of(text, folder, ground_of(folder, (), folder)), tuple)
