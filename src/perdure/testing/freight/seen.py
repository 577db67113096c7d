"""What a request shows, read the way a model has to: from its messages alone.

It knows the Messages API's form, reminders and checkpoints. It must never remember anything between two requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.testing.doubles.shape import Body, bodies, body_of, content_blocks

CLEARED = "[Tool result cleared to save context.]"
REDUCED = "[Reduced"

_HANDLE = pattern(r"\bh[0-9a-f]{10,}\b")
_REMINDER = pattern(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_TODO = pattern(r"^- \[(?P<sign>[ ~])\] #(?P<name>\w+) ", re.MULTILINE)


@value
class Step:
    """A call that the request shows, with its result."""

    id: str
    name: str
    arguments: Mapping[str, object]
    result: str
    failed: bool

    @property
    def handle(self) -> str:
        """The handle that stands in the place of what is missing; empty where nothing is."""
        found = _HANDLE.search(self.result) if self.is_partial else None
        return found.group() if found else ""

    @property
    def is_partial(self) -> bool:
        """Whether something of the result is not shown."""
        return self.result.startswith((CLEARED, REDUCED)) or CLEARED in self.result[:400]

    def text(self, name: str) -> str:
        """An argument; empty where it is no text."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


@value
class Seen:
    """One request, read."""

    said: str
    """Everything that the user said and that is shown, in order, typed or in a checkpoint."""
    last: str
    """The last text of the request."""
    summary: str
    """The checkpoint; empty where there is none."""
    steps: tuple[Step, ...]
    tools: frozenset[str]

    @property
    def todos(self) -> Mapping[str, str]:
        """The list of todos as it was last written: name to state. From the checkpoint, only the open ones."""
        for step in reversed(self.steps):
            if step.name == "todo" and not step.failed:
                return {str(todo.get("id")): str(todo.get("state")) for todo in bodies(step.arguments.get("todos"))}
        return {
            found["name"]: "in_progress" if found["sign"] == "~" else "pending"
            for found in _TODO.finditer(self.summary)
        }

    def latest(self, name: str, **wanted: str) -> Step | None:
        """The newest call of a tool whose arguments contain these texts."""
        for step in reversed(self.steps):
            if step.name == name and all(part in step.text(key) for key, part in wanted.items()):
                return step
        return None


def read_request(body: Body) -> Seen:
    """What a request shows."""
    results: dict[str, tuple[str, bool]] = {}
    said: list[str] = []
    summary, last = "", ""
    for role, block in _blocks(body):
        if block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            results[str(block.get("tool_use_id"))] = (_plain(block.get("content")), failed)
        elif block.get("type") == "text" and role == "user":
            text = last = str(block.get("text"))
            if text.startswith("<context-summary>"):
                summary = text
                said = [_section(text, "What the user said")]
            else:
                said.append(_REMINDER.sub("", text))
    steps = [
        Step(
            id=str(block.get("id")),
            name=str(block.get("name")),
            arguments=_arguments(block),
            result=result,
            failed=failed,
        )
        for _, block in _blocks(body)
        if block.get("type") == "tool_use"
        for result, failed in (results.get(str(block.get("id")), ("", True)),)
    ]
    tools = frozenset(str(tool.get("name")) for tool in bodies(body.get("tools")))
    return Seen(said="\n".join(said), last=last, summary=summary, steps=tuple(steps), tools=tools)


def _blocks(body: Body) -> Iterator[tuple[str, Body]]:
    for message in bodies(body.get("messages")):
        for block in content_blocks(message.get("content")):
            yield str(message.get("role")), block


def _section(summary: str, heading: str) -> str:
    """A section of a checkpoint. What is quoted in one cannot look like a heading."""
    _, _, behind = summary.partition(f"\n## {heading}\n")
    return behind.partition("\n## ")[0]


def _arguments(block: Body) -> Mapping[str, object]:
    return body_of(block.get("input"))


def _plain(content: object) -> str:
    return "\n".join(str(block.get("text")) for block in content_blocks(content) if block.get("type") == "text")
