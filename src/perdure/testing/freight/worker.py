"""A model that works through the sample project: a pure function of the request.

It knows how the work is done. It must never know a value: every path, handle, rule and number that it uses stands in
the request that it answers, or it asks for it again, by reading a file or by recalling what left. Where something can
be had in neither way, it says so and stops, and `lost` names it: then the context that it was given was not enough.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

from perdure.kernel.pattern import pattern
from perdure.testing.doubles.script import Call, Say, Turn
from perdure.testing.doubles.shape import Body, as_text
from perdure.testing.freight.notes import narrative, notes
from perdure.testing.freight.seen import Seen, Step, read_request

_RANGE = pattern(r"carriers from (\w) to (\w)|(Write REPORT\.md)")
_STAMP = pattern(r"stamp in force is (FR-\d+)")
_LIMIT = pattern(r"may be (\d+) cents at most")
_CENTS = pattern(r"fuel surcharge of (\d+) cents")
_CLAUSE = pattern(
    r"\d+\. Surcharge\. For each parcel Alder adds a fuel surcharge of \d+ cents to the price of the table\."
)
_MODULE = pattern(r"carriers/(\w+)\.py")
_HANDLE = pattern(r"\bh[0-9a-f]{10,}\b")
_LINE = pattern(r"^- (\w+): (\d+) cents, (FR-\d+)$", re.MULTILINE)


class LostFact(Exception):
    """Something that the work needs stands nowhere in the request and cannot be asked for."""


class Worker:
    """The model, as a script of a double."""

    def __init__(self) -> None:
        """Nothing is kept but what is shown to people."""
        self.lost: list[str] = []
        """What could not be had. Nothing is decided by it."""

    def __call__(self, body: Body) -> Turn:
        """Answer a request."""
        seen = read_request(body)
        if "[Harness request." in seen.last:
            # Every third summary fails, by what the request holds: then the rung without a model has to do.
            failing = zlib.crc32(as_text(body.get("messages")).encode()) % 3 == 0
            text = notes(seen.last) if "<notes>" in seen.last else "" if failing else narrative(seen)
            return Turn(parts=(Say(text=text or "I cannot."),))
        try:
            return _next(seen)
        except LostFact as lost:
            self.lost.append(str(lost))
            return Turn(parts=(Say(text=f"I cannot go on: {lost}."),))


def _next(seen: Seen) -> Turn:
    """What a careful person would do next, who knows only this request."""
    asked = list(_RANGE.finditer(seen.said))
    if not asked:
        raise LostFact("the request does not say what the user wants")
    if asked[-1].group(3):
        return _report(seen)
    first, last = asked[-1].group(1), asked[-1].group(2)
    todos = {name: state for name, state in seen.todos.items() if first <= name[:1] <= last}
    if not todos:
        return _plan(seen, first, last)
    active = next((name for name, state in todos.items() if state == "in_progress"), None)
    if active is not None:
        return _work(seen, active, todos)
    if any(state == "pending" for state in todos.values()):
        return _write_todos(todos, None)
    return Turn(parts=(Say(text=f"The carriers from {first} to {last} are done, and the tests of each pass."),))


def _plan(seen: Seen, first: str, last: str) -> Turn:
    """Find the carriers of a range that are not done yet, and list them."""
    listed, changes = seen.latest("glob", pattern="carriers"), seen.latest("bash", command="cat CHANGES.md")
    if listed is None or listed.is_partial:
        return _call("Which carriers are there?", "glob", pattern="carriers/*.py")
    names = sorted({name for name in _MODULE.findall(listed.result) if first <= name[0] <= last})
    if not names:
        raise LostFact(f"the list of carriers shows none from {first} to {last}")
    if changes is None or changes.is_partial:
        return _call("What is done already?", "bash", command="cat CHANGES.md")
    done = {found.group(1) for found in _LINE.finditer(changes.result)}
    left = [name for name in names if name not in done]
    if not left:
        return Turn(parts=(Say(text=f"The carriers from {first} to {last} are done already."),))
    return _write_todos(dict.fromkeys(left, "pending"), None)


def _write_todos(todos: Mapping[str, str], done: str | None) -> Turn:
    """The list with one more done, and the next one begun."""
    now = {name: "completed" if name == done else state for name, state in todos.items()}
    following = next((name for name, state in now.items() if state == "pending"), None)
    if following is not None:
        now[following] = "in_progress"
    items = [{"id": name, "text": f"put carriers/{name}.py right", "state": state} for name, state in now.items()]
    return Turn(parts=(Call(name="todo", arguments={"todos": items}),))


def _work(seen: Seen, name: str, todos: Mapping[str, str]) -> Turn:
    """The next step for one carrier. Each may be done twice, since a step that left the request cannot be seen."""
    module = seen.latest("read", path=f"carriers/{name}.py")
    edited = _position(seen, "edit", f"carriers/{name}.py")
    if module is None or _unread(seen, name) or (module.is_partial and edited < 0):
        return _call(f"Now {name}.", "read", path=f"carriers/{name}.py")
    if edited < 0 and "# checked:" not in module.result:
        return _prepare(seen, name, module)
    tested = _position(seen, "bash", f"tests.test_{name}")
    if tested < edited or tested < 0 or seen.steps[tested].is_partial or "FAILED" in seen.steps[tested].result:
        if tested > edited >= 0:
            raise LostFact(f"the tests of {name} fail behind the edit")
        return _run_tests(name)
    if _position(seen, "bash", f"- {name}: ") < 0:
        line = f"- {name}: {_surcharge(seen, name)} cents, {_last(_STAMP, seen.said, 'the stamp')}"
        return _call("", "bash", command=f"printf '%s\\n' '{line}' >> CHANGES.md && tail -3 CHANGES.md")
    return _write_todos(todos, name)


def _prepare(seen: Seen, name: str, module: Step) -> Turn:
    """Learn what the edit needs, then make it."""
    if seen.latest("bash", command=f"tests.test_{name}") is None:
        return _run_tests(name)
    contract = seen.latest("read", path=f"contracts/{name}.md")
    if _agreed(seen, name) is None:
        if contract is None or (contract.is_partial and not contract.handle):
            return _call("What does the contract say?", "read", path=f"contracts/{name}.md")
        recalled = seen.latest("recall", handle=contract.handle)
        if contract.handle and recalled is None:
            return _call("The clause is not shown.", "recall", handle=contract.handle, pattern="surcharge")
        raise LostFact(f"the surcharge of {name} is neither in its contract nor behind its handle")
    stamp, cents = _last(_STAMP, seen.said, "the stamp"), _surcharge(seen, name)
    head = f'"""Prices of the carrier {name.capitalize()}."""'
    if head not in module.result:
        raise LostFact(f"carriers/{name}.py does not begin as it was read")
    edits = [
        {"old_string": head, "new_string": f"# checked: {stamp}\n{head}"},
        {"old_string": "SURCHARGE = 0", "new_string": f"SURCHARGE = {cents}"},
        {"old_string": "grams: int) -> float:", "new_string": "grams: int) -> int:"},
        {"old_string": "return round(total / 100.0, 2)", "new_string": "return total"},
    ]
    call = Call(name="edit", arguments={"path": f"carriers/{name}.py", "edits": edits})
    if contract is not None and zlib.crc32(name.encode()) % 3:
        # A model that thinks aloud at length: what `light_trim` is for.
        tests = seen.latest("bash", command=f"tests.test_{name}")
        failing = tests.result if tests is not None else ""
        aloud = f"What the contract with {name} says:\n{contract.result}\nWhat the tests say:\n{failing}"
        return Turn(parts=(Say(text=aloud[:8_000]), call))
    return Turn(parts=(call,))


def _report(seen: Seen) -> Turn:
    """The last task: put together what was learnt over the whole session."""
    changes = seen.latest("bash", command="cat CHANGES.md")
    listed, appended = _position(seen, "bash", "cat CHANGES.md"), _position(seen, "bash", ">> CHANGES.md")
    if changes is None or changes.is_partial or listed < appended or "FR-" not in changes.result:
        return _call("", "bash", command="cat CHANGES.md")
    clause = next((found.group() for step in reversed(seen.steps) if (found := _CLAUSE.search(step.result))), None)
    if clause is None:
        return _recall_clause(seen)
    if seen.latest("write", path="REPORT.md") is None:
        stamp = _last(_STAMP, seen.said, "the stamp")
        lines = [f"- {name}: {cents}" for name, cents, _ in _LINE.findall(changes.result)]
        report = "\n".join(["# Surcharges", "", f"Stamp in force: {stamp}", "", *lines, "", f"> {clause}", ""])
        return _call("", "write", path="REPORT.md", content=report)
    tests = seen.latest("bash", command="unittest discover")
    if tests is None:
        return _call("", "bash", command="python3 -m unittest discover -s tests -t . 2>&1 | tail -5")
    return Turn(parts=(Say(text=f"REPORT.md is written. All tests: {tests.result.strip().splitlines()[-1][:80]}"),))


def _recall_clause(seen: Seen) -> Turn:
    """Search what left for the clause, then look behind each handle that the search found."""
    searched = seen.latest("recall", words="Alder")
    if searched is None:
        return _call("That was long ago.", "recall", words="Alder adds fuel surcharge")
    tried = {step.text("handle") for step in seen.steps if step.name == "recall"}
    left = [handle for handle in dict.fromkeys(_HANDLE.findall(searched.result)) if handle not in tried]
    if not left:
        raise LostFact("the clause of the contract with Alder cannot be recalled")
    return _call("", "recall", handle=left[0], pattern="fuel surcharge")


def _run_tests(name: str) -> Turn:
    return _call("", "bash", command=f"python3 -m unittest -v tests.test_{name} 2>&1")


def _call(text: str, tool: str, **arguments: str) -> Turn:
    call = Call(name=tool, arguments=arguments)
    return Turn(parts=(Say(text=text), call) if text else (call,))


def _position(seen: Seen, tool: str, part: str) -> int:
    """Where the newest successful call of a tool stands among the steps that mentions something; -1 where none does."""
    for place in range(len(seen.steps) - 1, -1, -1):
        step = seen.steps[place]
        if step.name == tool and not step.failed and part in (step.text("path") or step.text("command")):
            return place
    return -1


def _agreed(seen: Seen, name: str) -> int | None:
    """What a shown result says of a carrier's surcharge: of its contract, of what was recalled, or of its module."""
    for step in reversed(seen.steps):
        about = step.name == "recall" or f"contracts/{name}.md" in step.text("path")
        for found in _CENTS.finditer(step.result) if about else ():
            line = step.result[step.result.rfind("\n", 0, found.start()) + 1 : found.end()]
            if name.capitalize() in line:
                return int(found.group(1))
    return None


def _unread(seen: Seen, name: str) -> bool:
    """Whether the newest word on a module is that it has to be read first."""
    about = [step for step in seen.steps if step.text("path") == f"carriers/{name}.py"]
    return bool(about) and about[-1].failed and "Read it first" in about[-1].result


def _surcharge(seen: Seen, name: str) -> int:
    """What the module adds: as agreed, within the user's limit; or as the module says that was put right."""
    agreed = _agreed(seen, name)
    if agreed is not None:
        return min(agreed, int(_last(_LIMIT, seen.said, "the highest surcharge")))
    shown = (re.search(r"SURCHARGE = ([1-9]\d*)", as_text(dict(step.arguments)) + step.result) for step in seen.steps
             if f"carriers/{name}.py" in step.text("path"))  # fmt: skip
    found = next((match for match in shown if match), None)
    if found is None:
        raise LostFact(f"the surcharge of {name} is not shown any more")
    return int(found.group(1))


def _last(pattern: re.Pattern[str], text: str, what: str) -> str:
    """What was said last, which is what holds."""
    found = pattern.findall(text)
    if not found:
        raise LostFact(f"{what} is not among what the user said")
    return str(found[-1])
