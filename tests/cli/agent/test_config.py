"""`perdure config`, `perdure trust` and `perdure doctor`, as they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perdure.cli import main
from perdure.cli.agent.config import written
from perdure.kernel.errors import InvalidSetting


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without keys, in a folder without settings."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_what_was_set_is_shown_with_its_source(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "context.preset", "thrifty"])
    main(["config", "set", "--project", "window", "9000"])
    capsys.readouterr()
    main(["config", "--json"])

    rows = {row["key"]: (row["value"], row["source"]) for row in json.loads(capsys.readouterr().out)}
    assert rows["context.preset"] == ("thrifty", str(alone / "home" / "settings.toml"))
    assert rows["window"] == (9_000, str(alone / "work" / ".perdure" / "settings.toml"))
    assert rows["model"] == (None, "default")


def test_a_file_keeps_its_comments_and_other_keys() -> None:
    before = '# mine\nmodel = "a" # the good one\n\n[context]\n# early\npreset = "thrifty"\n'

    after = written(written(before, "context.low_water", 0.4), "model", None)
    assert after == '# mine\n\n[context]\n# early\npreset = "thrifty"\nlow_water = 0.4\n'


@pytest.mark.parametrize("text", ["context = 3", "model = [", 'context = "a"\n'])
def test_a_file_that_is_wrong_is_not_overwritten(text: str) -> None:
    with pytest.raises(InvalidSetting):
        written(text, "context.preset", "thrifty")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["config", "set", "contxt.preset", "x"],
            "there is no setting 'contxt.preset'; did you mean 'context.preset'?",
        ),
        (["config", "set", "context.preset", "x"], "context.preset is not one of balanced, cautious, thrifty"),
        (["config", "set", "window", "few"], "window is not a whole number from 1000"),
        (["config", "set", "mcp", "x"], "mcp is not tables, each under a name, as JSON"),
    ],
)
def test_a_wrong_call_says_what_to_change_and_writes_nothing(
    alone: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code = main(arguments)

    assert (code, said in capsys.readouterr().err) == (2, True)
    assert not (alone / "home").exists()


def test_what_a_project_sets_counts_once_it_is_trusted(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "--project", "permissions.mode", "full"])
    capsys.readouterr()
    main(["config", "get", "permissions.mode"])
    before = capsys.readouterr().out
    main(["trust", str(alone / "work")])
    capsys.readouterr()
    main(["config", "get", "permissions.mode"])

    assert (before.splitlines()[0], capsys.readouterr().out) == ("ask", "full\n")


def test_the_doctor_says_the_next_step_where_no_model_is_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)

    bad = [row for row in rows if row["state"] == "bad"]
    assert (code, [row["what"] for row in bad]) == (1, ["model"])
    assert "export ANTHROPIC_API_KEY=" in bad[0]["next"]


def test_the_doctor_shows_no_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-that-nobody-may-see")

    assert main(["doctor"]) == 0
    assert "nobody-may-see" not in capsys.readouterr().out


def test_the_doctor_names_a_settings_file_that_is_wrong(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "home").mkdir()
    (alone / "home" / "settings.toml").write_text("modle = 3")

    assert main(["doctor"]) == 1
    assert "did you mean 'model'?" in capsys.readouterr().out
