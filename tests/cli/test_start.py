"""The command is quick to start by what it does not load. No test may fail by a time: these look at what is there."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from perdure.session.spec import wall_clock
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import answer

# Runs the command in this process's stead, and says at its end what was loaded.
WATCHED = """
import json, sys
from perdure.cli import main
try:
    raise SystemExit(main(sys.argv[2:]))
finally:
    with open(sys.argv[1], "w") as file:
        json.dump(sorted(sys.modules), file)
"""

NOT_FOR_A_TASK = {
    *("detect_secrets", "markdownify", "mcp", "opentelemetry", "prompt_toolkit", "psycopg", "pypdf", "rich"),
    *("click", "langchain", "pygments", "pydantic", "starlette", "uvicorn", "xml", "html.entities"),
    *("tree_sitter._binding", "tomlkit.api", "unittest", "multiprocessing"),
    *("perdure.lab", "perdure.gateway", "perdure.acp", "perdure.testing", "perdure.terminal.screen"),
}
NOT_FOR_A_SETTING = NOT_FOR_A_TASK | {"httpcore", "httpx._api", "h11", "anyio", "asyncio.events", "perdure.session"}
NOT_FOR_HELP = NOT_FOR_A_SETTING | {"perdure.kernel.messages", "perdure.project", "perdure.tools"}
# The library of the screen reads XML as it is loaded.
NOT_FOR_THE_PROMPT = NOT_FOR_A_TASK - {"prompt_toolkit", "perdure.terminal.screen", "xml"} | {
    *("httpcore", "httpx._api", "h11", "anyio"),
}


def loaded(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> set[str]:
    told = folder / "modules.json"
    command = [sys.executable, "-c", WATCHED, str(told), *words]
    surroundings = {**os.environ, "PERDURE_HOME": str(folder / "home"), **(environment or {})}
    subprocess.run(command, env=surroundings, cwd=folder, capture_output=True, check=True, timeout=60)
    return set(json.loads(told.read_text(encoding="utf-8")))


def needless(modules: set[str], unwanted: set[str]) -> set[str]:
    return {module for module in modules for one in unwanted if module == one or module.startswith(f"{one}.")}


def test_a_task_loads_nothing_that_its_first_request_does_without(tmp_path: Path) -> None:
    double = AnthropicDouble(lambda _body: answer("Done."), clock=wall_clock)
    with serve(double) as url:
        modules = loaded(
            tmp_path,
            *("-p", "Say it is done."),
            environment={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "any"},
        )

    assert (set(), True) == (needless(modules, NOT_FOR_A_TASK), "httpx._api" in modules)


def test_a_setting_is_told_without_what_a_session_needs(tmp_path: Path) -> None:
    assert set() == needless(loaded(tmp_path, "config", "get", "model"), NOT_FOR_A_SETTING)


def test_help_is_told_without_what_any_command_needs(tmp_path: Path) -> None:
    assert set() == needless(loaded(tmp_path, "--help"), NOT_FOR_HELP)


def test_the_prompt_is_there_before_what_the_first_turn_needs(tmp_path: Path) -> None:
    told = tmp_path / "modules.json"
    surroundings = {**os.environ, "PERDURE_HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "any", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", WATCHED, str(told), "--cwd", str(tmp_path)]
    with subprocess.Popen(command, env=surroundings, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while b"> " not in seen.partition(b"/help")[2]:
            seen += os.read(ours, 4096)
        # The key that leaves, at an empty prompt.
        os.write(ours, b"\x04")
        code = process.wait(60)
    os.close(ours)
    modules = set(json.loads(told.read_text(encoding="utf-8")))

    assert (0, set(), True) == (code, needless(modules, NOT_FOR_THE_PROMPT), "prompt_toolkit" in modules)
