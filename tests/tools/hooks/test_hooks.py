"""Hooks: what they are told, what they may say, and that nothing hangs."""

from __future__ import annotations

import asyncio
import os
import re
import select
from pathlib import Path

import pytest

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Message, Text, decode_json
from perdure.project.settings import Layer, from_text, settle
from perdure.tools.hooks import Hook, Hooks, Said, hooks_of

PATH = {"PATH": os.environ["PATH"]}


def before(folder: Path, command: str, match: str = "*", timeout: float = 10) -> tuple[Said, list[str]]:
    hook = Hook(command=command, match=match, timeout=timeout)
    hooks = Hooks(by_event={"before_tool": (hook,)}, cwd=folder, environment=PATH)
    return asyncio.run(hooks.before("bash", {"command": "ls"})), hooks.failures


def answer(text: str) -> Message:
    return Message(id="m1", role="assistant", content=(Text(text=text),), provenance="assistant")


def has_ended(pid: int) -> bool:
    """Whether a process ends within some seconds; the kernel needs a moment to carry out a kill."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([descriptor], [], [], 5)
    os.close(descriptor)
    return bool(ready)


def test_a_hook_gets_the_call_as_json_on_its_input(tmp_path: Path) -> None:
    before(tmp_path, "cat > told.json")

    told = decode_json((tmp_path / "told.json").read_text())
    assert {"event": "before_tool", "cwd": str(tmp_path), "tool": "bash", "input": {"command": "ls"}} == told


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo 'not on Fridays' >&2; exit 2", Said(objection="not on Fridays")),
        ("""echo '{"decision": "block", "reason": "no"}'""", Said(objection="no")),
        ("""echo '{"context": "the build is red"}'""", Said(context="the build is red")),
        ("""echo '{"decision": "allow"}'""", Said()),
        ("echo hello", Said()),
    ],
)
def test_a_hook_objects_or_adds_something(tmp_path: Path, command: str, said: Said) -> None:
    assert (said, []) == before(tmp_path, command)


def test_an_objection_without_words_names_the_hook(tmp_path: Path) -> None:
    said, _ = before(tmp_path, "exit 2")

    assert said.objection == "the hook 'exit 2' objects"


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("exit 1", "ended with exit code 1"),
        ("no-such-program", "ended with exit code 127"),
        ("sleep 60", "took longer than 0.2 s"),
        ("while :; do :; done", "took longer than 0.2 s"),
        ("kill -9 $$", "ended with exit code -9"),
    ],
)
def test_a_hook_that_fails_is_reported_and_passed_over(tmp_path: Path, command: str, what: str) -> None:
    said, failures = before(tmp_path, command, timeout=0.2 if "longer" in what else 10)

    assert (Said(), 1) == (said, len(failures))
    assert what in failures[0]


def test_a_hook_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    said, failures = before(tmp_path, "cat /dev/zero", timeout=20)

    assert (Said(), ["the hook 'cat /dev/zero' printed too much; it was passed over"]) == (said, failures)


def test_what_a_hook_leaves_behind_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    said, failures = before(tmp_path, """sleep 60 & echo $! > pid; echo '{"context": "done"}'""")

    assert (Said(context="done"), []) == (said, failures)
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_a_hook_hears_only_of_tools_that_it_wants(tmp_path: Path) -> None:
    found = [before(tmp_path, "exit 2", match)[0].objection != "" for match in ("edit|write", "edit | bash", "b*", "*")]

    assert [False, True, True, True] == found


def test_a_stop_hook_says_what_still_has_to_be_done(tmp_path: Path) -> None:
    hook = Hook(command="grep -q tested || { echo 'run the tests' >&2; exit 2; }")
    hooks = Hooks(by_event={"stop": (hook,)}, cwd=tmp_path, environment=PATH)

    said = [asyncio.run(hooks.stop(answer(text))) for text in ("done", "tested")]

    assert ["run the tests", None] == said


def test_hooks_around_a_compaction_are_told_why(tmp_path: Path) -> None:
    hook = Hook(command="cat >> told")
    hooks = Hooks(by_event={"before_compaction": (hook,), "after_compaction": (hook,)}, cwd=tmp_path, environment=PATH)

    hooks.before_compaction("asked")
    hooks.after_compaction("asked")

    assert (tmp_path / "told").read_text().count('"reason":"asked"') == 2


@pytest.mark.parametrize(
    "text",
    [
        "[[hooks.stop]]\nmatch = '*'",
        "[[hooks.stop]]\ncommand = 'x'\ntimeout = 0",
        "[[hooks.stop]]\ncommand = 'x'\ntimeout = true",
        "[[hooks.stop]]\ncommand = 'x'\nwhen = 'now'",
        "[[hooks.stop]]\ncommand = 'x'\nmatch = ''",
    ],
)
def test_a_hook_that_is_none_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    layer = from_text(text, "user.toml")

    with pytest.raises(InvalidSetting, match=re.escape("user.toml: hooks.stop, number 1")):
        hooks_of(settle((layer,), Layer(source="none"), trusted=True), tmp_path, PATH)


def test_hooks_of_a_repository_that_is_not_trusted_do_not_run(tmp_path: Path) -> None:
    layer = from_text("[[hooks.stop]]\ncommand = 'x'", "project")

    hooks = hooks_of(settle((layer,), layer, trusted=False), tmp_path, PATH)

    assert not hooks.wants("stop")
