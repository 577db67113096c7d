"""The generated agent at work: which tools it calls, with what, and what they return.

It knows the project and what outputs showed so far. It must never know messages: `generate` makes them. Most of what
the agent does refers to something that an earlier output showed, since that is what a session's history is needed for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from perdure.kernel.messages import JsonObject
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value
from perdure.testing.sessions import outputs
from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.outputs import Output
from perdure.testing.sessions.project import Project
from perdure.testing.sessions.user import slots
from perdure.testing.sessions.vocabulary import LIBRARIES, WORDS


@value
class Call:
    """One call and what came of it."""

    tool: str
    input: JsonObject
    output: Output
    picture: str = ""
    """A PNG as base64, where the tool returned one."""


@value
class Shown:
    """Something that an output showed."""

    text: str
    message_id: str


@value
class Reading:
    """A part of a file that the agent has seen, and may therefore edit."""

    first: int
    last: int
    """One behind the last line; it moves with the agent's own edits."""
    shown: frozenset[str]
    message_id: str = ""


@record()
class Memory:
    """What outputs showed so far, and what of it the current step uses."""

    shown: list[Shown] = field(default_factory=list[Shown])
    read: dict[str, Reading] = field(default_factory=dict[str, Reading])
    """The part of each file that was read last."""
    reading: dict[str, Reading] = field(default_factory=dict[str, Reading])
    """What the current step reads, until its message has an id."""
    used: list[Shown] = field(default_factory=list[Shown])

    def settle(self, message_id: str, calls: list[Call]) -> None:
        """The outputs of the current step stand in this message."""
        self.shown += [Shown(text=text, message_id=message_id) for call in calls for text in call.output.showed]
        self.read |= {path: replace(part, message_id=message_id) for path, part in self.reading.items()}
        self.reading = {}

    def recall(self, dice: Dice) -> str:
        """Something seen before: mostly of late, at times of long ago. It counts as used."""
        recent = self.shown[-12:] if dice.chance(0.7) else self.shown
        if not recent:
            return ""
        seen = dice.pick(recent)
        self.used.append(seen)
        return seen.text


class Agent:
    """Does one step at a time: some calls that belong together."""

    def __init__(self, dice: Dice, project: Project) -> None:
        self._dice = dice.fork("agent")
        self._project = project
        self.memory = Memory()
        self.path = self._dice.pick(project.sources())
        """The file that the work is about."""
        self._after = "start"
        self._steps: dict[str, Callable[[int], list[Call]]] = {
            "survey": self._survey,
            "read": self._read,
            "search": self._search,
            "edit": self._edit,
            "write": self._write,
            "test": self._test,
            "inspect": self._inspect,
            "build": self._build,
            "fetch": self._fetch,
        }

    def begin_turn(self) -> None:
        """The user said something: the agent looks around first."""
        self._after = "start"
        if self._dice.chance(0.5):
            self.path = self._dice.pick(self._project.sources())

    def step(self, size: int) -> tuple[str, list[Call]]:
        """Take a step whose outputs have about `size` bytes together: its name, and its calls."""
        name = self._dice.weighted(_NEXT[self._after])
        if name == "edit" and not self._may_edit():
            name = "read"
        calls = self._steps[name](size)
        failed = any(call.output.is_error for call in calls)
        self._after = f"{name} failed" if failed and f"{name} failed" in _NEXT else name
        return name, calls

    def _may_edit(self) -> bool:
        part = self.memory.read.get(self.path)
        return part is not None and min(part.last, len(self._project.lines(self.path))) - part.first >= _LINES_TO_EDIT

    def huge(self, size: int) -> tuple[str, list[Call]]:
        """Print something far too long."""
        writer = self._dice.pick(outputs.LONG)
        self._after = "inspect"
        return "inspect", [self._bash(_COMMANDS[writer], writer(self._dice, self._project, size))]

    def look(self) -> tuple[str, list[Call]]:
        """Look at a screenshot."""
        name = f"shots/{self._dice.pick(WORDS)}-{self._dice.hex(4)}.png"
        picture = outputs.png(self._dice, 480, 300)
        self._after = "look"
        return "look", [Call(tool="read", input={"path": name}, output=Output(text=""), picture=picture)]

    def _survey(self, size: int) -> list[Call]:
        folder = self._dice.pick(("services", "web/src", "gateway/internal", "tests", "config"))
        hits = [path for path in self._project.paths if path.startswith(folder)]
        listing = Call(
            tool="glob",
            input={"pattern": f"{folder}/**/*"},
            output=Output(text="\n".join(hits), showed=tuple(self._dice.some(hits, 2))),
        )
        words = slots(self._dice, self._project)
        return [listing, self._grep(words["field"], size), self._grep(words["word"], size // 2)]

    def _read(self, size: int) -> list[Call]:
        count = self._dice.pick((1, 1, 1, 2, 3))
        folder = self.path.rsplit("/", 1)[0]
        near = [path for path in self._project.paths if path != self.path and path.startswith(folder)]
        others = near + self._dice.some(self._project.paths, 4)
        paths = list(dict.fromkeys([self.path, *self._dice.some(others, count - 1)]))
        return [self._read_one(path, size // len(paths)) for path in paths]

    def _read_one(self, path: str, size: int) -> Call:
        lines = self._project.lines(path)
        count = max(12, size // 42)
        given: JsonObject = {"path": path}
        start = 0
        if count < len(lines):
            start = self._dice.below(len(lines) - count) if self._dice.chance(0.5) else 0
            given |= {"offset": start + 1, "limit": count}
        part = lines[start : start + count]
        self.memory.reading[path] = Reading(first=start, last=start + len(part), shown=frozenset(part))
        text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(part, start=start + 1))
        names = [match[1] for line in part if (match := _DEFINITION.match(line))]
        return Call(tool="read", input=given, output=Output(text=text, showed=tuple(self._dice.some(names, 2))))

    def _search(self, size: int) -> list[Call]:
        calls = [self._grep(self._known_word(), size)]
        if self._dice.chance(0.4):
            calls.append(self._grep(slots(self._dice, self._project)["word"], size // 2))
        return calls

    def _grep(self, pattern: str, size: int) -> Call:
        hits: list[str] = []
        length = 0
        for path in self._project.paths:
            for number, line in enumerate(self._project.lines(path), start=1):
                if pattern in line and length < max(size, 200):
                    hits.append(f"{path}:{number}:{line.strip()}")
                    length += len(hits[-1])
        shown = tuple(hit.split(":")[0] for hit in self._dice.some(hits, 1))
        text = "\n".join(hits) or "No matches found"
        return Call(tool="grep", input={"pattern": pattern}, output=Output(text=text, showed=shown))

    def _edit(self, size: int) -> list[Call]:
        del size
        return [self._edit_one() for _ in range(self._dice.pick((1, 1, 1, 2)))]

    def _edit_one(self) -> Call:
        part = self.memory.read[self.path]
        lines = self._project.lines(self.path)
        last = min(part.last, len(lines))
        start = part.first + self._dice.below(last - part.first - _LINES_TO_EDIT + 1)
        old = lines[start : min(start + self._dice.between(3, 24), last)]
        if self._dice.chance(0.07):
            given: JsonObject = {"path": self.path, "old": f"{old[0]}  # {self._dice.pick(WORDS)}", "new": ""}
            refusal = Output(text=f"`old` does not occur in {self.path}. Read the file again.", is_error=True)
            return Call(tool="edit", input=given, output=refusal)
        new = self._changed(old)
        known = next((line for line in old if line in part.shown and len(line.strip()) > _WORTH_A_FINDING), None)
        if known:
            self.memory.used.append(Shown(text=known, message_id=part.message_id))
        self._project.replace(self.path, start, start + len(old), new)
        self.memory.read[self.path] = replace(part, last=last + len(new) - len(old))
        text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(new[:12], start=start + 1))
        return Call(
            tool="edit",
            input={"path": self.path, "old": "\n".join(old), "new": "\n".join(new)},
            output=Output(text=f"Changed {self.path}:\n{text}"),
        )

    def _changed(self, old: list[str]) -> list[str]:
        """Another number where there is one, or a remark."""
        numbered = [place for place, line in enumerate(old) if _NUMBER.search(line)]
        if not numbered or self._dice.chance(0.35):
            return [*old[:1], *self._inserted(old[0]), *old[1:]]
        place = self._dice.pick(numbered)
        line = _NUMBER.sub(lambda found: str(int(found[0]) + self._dice.between(1, 90)), old[place], count=1)
        return [*old[:place], line, *old[place + 1 :]]

    def _inserted(self, before: str) -> list[str]:
        indent = before[: len(before) - len(before.lstrip())]
        words = slots(self._dice, self._project)
        known = self._known_word()
        sign = "#" if self.path.endswith(".py") else "//"
        return [
            f"{indent}{sign} {words['quality'].capitalize()} {words['entities']} reach this with an old "
            f"{words['word']} ({known}).",
            f"{indent}{sign} Compare {words['field']} first: {words['word']} {self._dice.between(2, 900)}.",
        ]

    def _write(self, size: int) -> list[Call]:
        words = slots(self._dice, self._project)
        path = f"services/{words['package']}/{words['entity']}/{words['word']}_{self._dice.hex(2)}.py"
        donor = self._dice.pick([path for path in self._project.sources() if path.endswith(".py")])
        lines = self._project.lines(donor)[: max(20, min(size, 6_000) // 35)]
        lines = [f'"""{words["verb"].capitalize()} {words["entities"]} by {self._known_word()}."""', *lines[1:]]
        self._project.write(path, lines)
        self.path = path
        output = Output(text=f"Wrote {len(lines)} lines to {path}", showed=(path,))
        return [Call(tool="write", input={"path": path, "content": "\n".join(lines)}, output=output)]

    def _test(self, size: int) -> list[Call]:
        if self._dice.chance(0.04):
            output = Output(text="Stopped after 120 seconds. Nothing was printed.", is_error=True)
        elif self._dice.chance(0.4):
            output = outputs.failing_tests(self._dice, self._project, size)
        else:
            output = outputs.passing_tests(self._dice, self._project, min(size, 2_500))
        known = self._known_word()
        target = known if known.startswith("tests/") else self._dice.pick(self._project.tests())
        return [self._bash(f"pytest -q {target}", output)]

    def _inspect(self, size: int) -> list[Call]:
        writers = self._dice.some(tuple(_COMMANDS), self._dice.pick((1, 1, 2)))
        return [
            self._bash(
                f"{_COMMANDS[writer]} {self._known_word()}", writer(self._dice, self._project, size // len(writers))
            )
            for writer in writers
        ]

    def _build(self, size: int) -> list[Call]:
        return [self._bash("make image", outputs.build_log(self._dice, self._project, size))]

    def _fetch(self, size: int) -> list[Call]:
        url = f"https://docs.example/{self._dice.pick(LIBRARIES)}/reference?q={self._dice.pick(WORDS)}"
        return [Call(tool="fetch", input={"url": url}, output=outputs.web_page(self._dice, self._project, size))]

    def _known_word(self) -> str:
        return self.memory.recall(self._dice) or slots(self._dice, self._project)["field"]

    def _bash(self, command: str, output: Output) -> Call:
        return Call(tool="bash", input={"command": command}, output=output)


_LINES_TO_EDIT = 5
_WORTH_A_FINDING = 12
"""Characters from which on a line of code can be told from others."""

_NUMBER = pattern(r"\b\d{1,6}\b")
_DEFINITION = pattern(r"(?:def|class|func(?: \(.*?\))?|export (?:async )?function) (\w+)")

_COMMANDS: dict[Callable[[Dice, Project, int], Output], str] = {
    outputs.service_log: "journalctl --no-pager -u app --grep",
    outputs.json_answer: "curl -s http://localhost:8080/api/items?q=",
    outputs.sql_table: "psql -f checks.sql -v key=",
    outputs.stack_trace: "python -m tools.replay",
    outputs.build_log: "make image VERBOSE=1 TARGET=",
}

_NEXT: dict[str, tuple[tuple[str, int], ...]] = {
    "start": (("survey", 4), ("read", 4), ("search", 3), ("inspect", 2)),
    "survey": (("read", 8), ("search", 3)),
    "read": (("edit", 7), ("search", 3), ("read", 3), ("inspect", 1), ("fetch", 1), ("write", 2)),
    "search": (("read", 6), ("edit", 3), ("inspect", 1)),
    "edit": (("test", 6), ("edit", 4), ("read", 1), ("build", 1)),
    "edit failed": (("read", 1),),
    "write": (("test", 4), ("read", 3)),
    "test": (("edit", 3), ("read", 5), ("build", 1), ("inspect", 2), ("survey", 1), ("write", 2)),
    "test failed": (("read", 3), ("edit", 4), ("search", 3), ("inspect", 2), ("test", 1)),
    "inspect": (("search", 4), ("read", 4), ("edit", 2), ("inspect", 1)),
    "build": (("test", 2), ("read", 3), ("edit", 3), ("inspect", 1)),
    "fetch": (("edit", 3), ("read", 3)),
    "look": (("edit", 2), ("read", 3)),
}
"""What follows what, by weight."""
