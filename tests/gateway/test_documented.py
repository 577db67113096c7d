"""What a stranger needs to run the gateway: every option is in the page, and what is deployed fits the page."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from perdure.cli.main import main
from perdure.gateway import Config, Route
from perdure.gateway.app import LAST_WORDS
from perdure.gateway.config import config_of

HOUSE = Path(__file__).parents[2]
PAGE = (HOUSE / "docs" / "deployment.md").read_text()
UNIT = (HOUSE / "deploy" / "perdure-gateway.service").read_text()


def test_every_option_of_the_file_is_documented() -> None:
    named = {one.name for kind in (Config, Route) for one in fields(kind)} - {"routes"}
    told = set(re.findall(r"`([a-z_]+)`", PAGE))

    assert set() == named - told


@pytest.mark.parametrize("name", [one.name for one in fields(Config) if isinstance(one.default, int | float)])
def test_the_page_tells_the_default_of_each_number(name: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if re.match(rf"\|[^|]*`{name}`", line)]
    default: Any = getattr(Config(), name)
    shown = str(default).lower() if isinstance(default, bool) else f"{default:.0f}"

    assert shown in row.split("|")[2].replace(",", "")


def test_the_example_of_the_page_is_a_configuration(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    secret = tmp_path / "secret"
    secret.write_text("made up")
    given = tomllib.loads(re.sub(r"file:[^\"]+", f"file:{secret}", example))

    assert ("made up", True) == ((made := config_of(given, {})).routes[0].key, made.routes[0].auto)


@pytest.mark.parametrize("command", [["keys"], ["keys", "add"], ["serve"]])
def test_the_help_of_a_command_has_what_the_page_names(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    said = capsys.readouterr().out
    wanted = {
        "keys": ["add", "list", "rotate", "revoke", "setup"],
        "add": ["--routes", "--models", "--auto", "--days", "--concurrent", "--storage", "--usd-per-month"],
        "serve": ["--open", "--store", "--config", "--audit", "SIGHUP"],
    }[command[-1]]

    assert [] == [one for one in wanted if one not in said]
    assert command == ["keys", "add"] or "examples:" in said


def test_the_unit_waits_for_the_drain_and_runs_as_nobody() -> None:
    told = dict(line.split("=", 1) for line in UNIT.splitlines() if "=" in line and not line.startswith("#"))
    config = Config()

    assert int(told["TimeoutStopSec"]) >= config.drain_notice + config.drain_seconds + LAST_WORDS
    assert ("yes", "yes", "strict", "") == (
        told["DynamicUser"], told["NoNewPrivileges"], told["ProtectSystem"], told["CapabilityBoundingSet"],
    )  # fmt: skip


def test_the_container_runs_as_a_number_that_is_not_root() -> None:
    lines = (HOUSE / "deploy" / "Containerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    last = max(place for place, line in enumerate(lines) if line.startswith(("USER ", "FROM ")))

    assert ["10001:10001"] == users
    assert lines[last].startswith("USER")
