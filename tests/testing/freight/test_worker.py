"""The scripted model takes what it uses out of its request, or stops."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from perdure.testing.doubles.script import Call, Say, Turn
from perdure.testing.doubles.shape import Body, bodies
from perdure.testing.freight import CORRECTION, RULES, TASKS, Worker, write_sample

TOOLS = [{"name": name} for name in ("read", "edit", "bash", "glob", "todo", "recall", "write")]
TODOS = {"todos": [{"id": "alder", "text": "put carriers/alder.py right", "state": "in_progress"}]}
MODULE = '"""Prices of the carrier Alder."""\nSURCHARGE = 0\n'
CLAUSE = "21. Surcharge. For each parcel Alder adds a fuel surcharge of 466 cents to the price of the table."


def body(*calls: tuple[str, Mapping[str, object], str], said: str = TASKS[0].text) -> Body:
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": said}]}]
    for number, (name, given, result) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": dict(given)}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    return {"messages": messages, "tools": TOOLS}


def call_in(turn: Turn) -> tuple[str, Mapping[str, object]]:
    call = next(part for part in turn.parts if isinstance(part, Call))
    return call.name, call.arguments


TODO = ("todo", TODOS, "ok")
READ = ("read", {"path": "carriers/alder.py"}, MODULE)
TESTED = ("bash", {"command": "python3 -m unittest -v tests.test_alder 2>&1"}, "FAILED")
CONTRACT = ("read", {"path": "contracts/alder.md"}, CLAUSE)


def test_it_edits_by_the_rules_once_it_has_seen_module_tests_and_contract() -> None:
    name, given = call_in(Worker()(body(TODO, READ, TESTED, CONTRACT)))

    added = [edit["new_string"] for edit in bodies(given["edits"])]
    assert (name, added[1], added[0].split("\n")[0]) == ("edit", "SURCHARGE = 400", "# checked: FR-2291")


def test_what_was_corrected_later_holds() -> None:
    said = f"{TASKS[0].text}\n{CORRECTION}"
    _, given = call_in(Worker()(body(TODO, READ, TESTED, CONTRACT, said=said)))

    added = [edit["new_string"] for edit in bodies(given["edits"])]
    assert added[0].split("\n")[0] == "# checked: FR-2307"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ((), "glob"),
        ((TODO,), "read"),
        ((TODO, READ), "bash"),
        ((TODO, READ, TESTED), "read"),
    ],
)
def test_it_asks_for_what_its_request_does_not_show(
    calls: tuple[tuple[str, Mapping[str, object], str], ...], expected: str
) -> None:
    assert call_in(Worker()(body(*calls)))[0] == expected


def test_it_recalls_what_stands_behind_a_handle() -> None:
    cleared = "[Tool result cleared to save context.] To see it again: recall h0123456789"
    turn = Worker()(body(TODO, READ, TESTED, ("read", {"path": "contracts/alder.md"}, cleared)))

    assert call_in(turn) == ("recall", {"handle": "h0123456789", "pattern": "surcharge"})


@pytest.mark.parametrize("missing", [RULES[2], "The stamp in force is FR-2291."])
def test_it_stops_where_a_rule_of_the_users_is_missing(missing: str) -> None:
    worker = Worker()
    turn = worker(body(TODO, READ, TESTED, CONTRACT, said=TASKS[0].text.replace(missing, "")))

    assert [type(part) for part in turn.parts] == [Say]
    assert len(worker.lost) == 1


def test_the_same_request_gives_the_same_answer() -> None:
    asked = body(TODO, READ, TESTED)

    assert Worker()(asked) == Worker()(asked)


def test_the_sample_passes_its_tests_once_the_right_surcharge_is_in(tmp_path: Path) -> None:
    sample = write_sample(tmp_path / "p", names=("alder",))
    path = sample.folder / "carriers" / "alder.py"

    def passes() -> bool:
        command = [sys.executable, "-B", "-m", "unittest", "tests.test_alder"]
        return subprocess.run(command, cwd=sample.folder, capture_output=True, check=False).returncode == 0

    before = passes()
    text = path.read_text().replace("SURCHARGE = 0", f"SURCHARGE = {sample.surcharges['alder']}")
    path.write_text(text.replace("return round(total / 100.0, 2)", "return total"))

    assert (before, passes(), sample.touched()) == (False, True, ())


def test_a_file_that_may_not_change_is_missed_when_it_does(tmp_path: Path) -> None:
    sample = write_sample(tmp_path / "p", names=("alder", "elm"))
    (sample.folder / "legacy" / "old_prices.py").write_text("")
    (sample.folder / "rates" / "elm.json").unlink()

    assert {path.name for path in sample.touched()} == {"old_prices.py", "elm.json"}
