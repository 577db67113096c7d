"""An opening gives the same blocks to everybody, on every day, and tells the rest as parts."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

import perdure
from perdure.kernel.messages import Text, Tool
from perdure.kernel.prompt import System, grow
from perdure.project import Opening, Snapshot, read_parts
from perdure.project.wording import MEMORY_RULES

NOW = 1_796_083_200.0
"""2026-12-01, noon UTC."""
TOOLS = (Tool(name="read", description="Reads."), Tool(name="todo", description="Lists."))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "home").mkdir()
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)
    return root


def environment(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PERDURE_HOME": str(root.parent / "home")}


def opening(root: Path, *, trusted: bool = False) -> Opening:
    return Opening.read(root, environment(root), NOW, trusted=trusted)


def texts(system: System) -> list[str]:
    return [block.text for block in system.blocks]


def bodies(given: Opening, memory: str = "Notes.", **more: str) -> dict[str, str]:
    return {each.key: each.body for each in read_parts(given, NOW, memory=memory, overlays=more, zone=UTC).parts}


def test_leader_and_subagent_share_the_first_block(root: Path) -> None:
    given = opening(root)
    leader, subagent = given.system("leader", TOOLS), given.system("subagent", TOOLS)

    assert (leader.blocks[0], leader.blocks[2]) == (subagent.blocks[0], subagent.blocks[2])
    assert leader.blocks[1] != subagent.blocks[1]
    assert (True, True, True) == leader.static


def test_blocks_stay_as_they_are_whatever_happens_on_the_disk_until_they_are_reloaded(root: Path) -> None:
    given = opening(root)
    before = texts(given.system("leader", TOOLS))
    (root.parent / "home" / "SYSTEM.md").write_text("You are mine.", encoding="utf-8")
    (root / "new.py").touch()

    assert before == texts(given.system("leader", TOOLS))
    assert ["You are mine.", before[2]] == texts(given.reload(NOW).system("leader", TOOLS))


def test_parts_follow_the_disk_in_their_fixed_order(root: Path) -> None:
    given = opening(root)
    before = bodies(given)
    (root / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    (root / ".perdure" / "skills" / "build").mkdir(parents=True)
    (root / ".perdure" / "skills" / "build" / "SKILL.md").write_text("Steps.", encoding="utf-8")
    (root.parent / "home" / "APPEND_SYSTEM.md").write_text("Be kind.", encoding="utf-8")
    after = bodies(given, plan="Look only.")

    assert ["date", "skills", "project", "append", "memory", "overlay plan", "tools"] == list(after)
    assert ["", "", ""] == [before[key] for key in ("skills", "project", "append")]
    assert "- build (project): no description" in after["skills"]
    assert "Use tabs." in after["project"]
    assert ("Be kind.", "Notes.", "Look only.") == (after["append"], after["memory"], after["overlay plan"])
    assert "Today is Tuesday, 2026-12-01." == after["date"]


def test_an_override_stands_in_the_place_of_both_blocks_and_the_rules_of_memory_become_a_part(root: Path) -> None:
    (root.parent / "home" / "SYSTEM.md").write_text("You are mine.\n", encoding="utf-8")
    given = opening(root)

    assert ["You are mine.", given.snapshot.text] == texts(given.system("subagent", TOOLS))
    assert f"{MEMORY_RULES}\n\nNotes." == bodies(given)["memory"]


def test_a_repository_changes_the_system_prompt_only_where_it_is_trusted(root: Path) -> None:
    (root / ".perdure").mkdir()
    for name in ("SYSTEM.md", "APPEND_SYSTEM.md"):
        (root / ".perdure" / name).write_text(f"{name} of the repository", encoding="utf-8")
    (root.parent / "home" / "APPEND_SYSTEM.md").write_text("Of the user.", encoding="utf-8")
    stranger, friend = opening(root), opening(root, trusted=True)

    assert ("", "SYSTEM.md of the repository") == (stranger.override, friend.override)
    assert "Of the user." == bodies(stranger)["append"]
    assert "Of the user.\n\nAPPEND_SYSTEM.md of the repository" == bodies(friend)["append"]
    cautions = read_parts(stranger, NOW, memory="").cautions
    assert {"not used: it would change the system prompt, and this repository is not trusted"} == {
        caution.what for caution in cautions
    }


def test_overlays_in_the_system_stand_behind_the_snapshot_and_do_not_stay(root: Path) -> None:
    given = opening(root)
    system = given.system("leader", TOOLS, {"plan": "Look only.", "mcp": "Ask first."})

    assert Text(text="# mcp\n\nAsk first.\n\n# plan\n\nLook only.") == system.blocks[3]
    assert (True, True, True, False) == system.static
    assert texts(given.system("leader", TOOLS)) == texts(system)[:3]


def test_late_tools_are_told_by_name_and_leave_the_blocks_alone(root: Path) -> None:
    given = opening(root)
    grown = grow(TOOLS, [Tool(name="mcp__wiki__search")], deferred=True)
    parts = {each.key: each.body for each in read_parts(given, NOW, memory="", tools=grown).parts}

    assert "- mcp__wiki__search" in parts["tools"]
    assert texts(given.system("leader", TOOLS)) == texts(given.system("leader", grown))


def test_without_memory_nothing_is_told_of_it(root: Path) -> None:
    (root.parent / "home" / "SYSTEM.md").write_text("You are mine.\n", encoding="utf-8")

    assert "" == bodies(opening(root), memory="")["memory"]


SCRIPT = """
import sys
from pathlib import Path
from perdure.kernel.messages import Tool
from perdure.project import Opening
opening = Opening.read(Path(sys.argv[1]), {"PERDURE_HOME": sys.argv[2], "PATH": sys.argv[3]}, float(sys.argv[4]))
blocks = opening.system(sys.argv[5], (Tool(name="read", description="Reads."),)).blocks
sys.stdout.buffer.write("\\0".join(block.text for block in blocks[:2]).encode())
"""


def test_two_processes_a_day_apart_give_the_same_bytes_for_both_blocks(root: Path) -> None:
    def blocks(now: float, zone: str, seed: str, *, role: str = "leader") -> bytes:
        arguments = [str(root), str(root.parent / "home"), os.environ["PATH"], str(now), role]
        source = str(Path(perdure.__file__).parents[1])
        variables = {"PYTHONPATH": source, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C.UTF-8"}
        ran = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], check=True, capture_output=True, env=variables)
        return ran.stdout

    today = blocks(NOW, "UTC", "1")
    (root / "work.py").touch()
    tomorrow = blocks(NOW + 86_400, "Asia/Shanghai", "2")
    subagent = blocks(NOW + 86_400, "UTC", "3", role="subagent")

    assert (today, today.split(b"\0")[0]) == (tomorrow, subagent.split(b"\0")[0])
    assert b"# Your role" in today


def test_a_session_that_is_resumed_keeps_the_snapshot_it_began_with(root: Path) -> None:
    given = opening(root)
    logged = given.snapshot.text
    (root / "new.py").touch()

    resumed = replace(opening(root), snapshot=Snapshot(text=logged))

    assert texts(given.system("leader", TOOLS)) == texts(resumed.system("leader", TOOLS))
