"""The todo tool: one list for each session, which the model always writes whole.

It knows the list and what makes one odd. It must never know when the model is reminded of it: `kernel/prompt` finds
that in the view, and a checkpoint reads the open ones out of the calls themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from perdure.kernel.agent import AgentTool
from perdure.kernel.agent.mend import arguments_of
from perdure.kernel.messages import Json, JsonObject, Message, Tool, kind_of
from perdure.kernel.value import value
from perdure.tools.actions import Harmless, Offered
from perdure.tools.arguments import objects_in
from perdure.tools.failed import ToolFailed

NAME = "todo"

State: TypeAlias = Literal["pending", "in_progress", "completed"]

MOST = 100
"""Todos of a list: more is a plan, and belongs into a file."""
LONGEST = 500
"""Characters of one."""

DESCRIPTION = """\
Your list of todos for this session, for work of three steps or more. Each call gives the whole list anew: what you \
leave out is gone. Keep one todo in progress while you work, and mark each completed as soon as it is, not in batches. \
Open todos survive every summary of the conversation."""

TODO = Tool(
    name=NAME,
    description=DESCRIPTION,
    schema={
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "stays the same from call to call"},
                        "text": {"type": "string"},
                        "state": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    },
                    "required": ["id", "text", "state"],
                },
            }
        },
        "required": ["todos"],
    },
)


@value
class Todo:
    """One thing to do."""

    id: str
    text: str
    state: State


class Todos:
    """The list of one session."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """The list as the last call in a conversation that goes on left it."""
        self.now: tuple[Todo, ...] = todos_in(messages)

    @property
    def open(self) -> tuple[str, ...]:
        """The texts of those that are not completed."""
        return tuple(todo.text for todo in self.now if todo.state != "completed")


def offered(todos: Todos) -> Offered:
    """The tool over one list."""

    def run(given: JsonObject) -> str:
        todos.now = todos_of(given)
        return told(todos.now)

    return Offered(tool=AgentTool(definition=TODO, run=run), actions=lambda _given: (Harmless(),))


def todos_of(given: JsonObject) -> tuple[Todo, ...]:
    """The list that a call gives.

    Raises:
        ToolFailed: it is none.
    """
    items = objects_in(given, "todos")
    if len(items) > MOST:
        raise ToolFailed(f"{len(items)} todos are too many to keep an eye on; keep the list under {MOST}.")
    todos = tuple(_todo(item, place) for place, item in enumerate(items, 1))
    twice = {todo.id for todo in todos if sum(other.id == todo.id for other in todos) > 1}
    if twice:
        raise ToolFailed(f"Several todos have the id {min(twice)!r}. Give each an id of its own.")
    return todos


def told(todos: tuple[Todo, ...]) -> str:
    """What the model hears of its list, and advice where it is odd."""
    if not todos:
        return "The list is empty."
    counts = {state: sum(todo.state == state for todo in todos) for state in ("completed", "in_progress", "pending")}
    said = f"{len(todos)} todos: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count) + "."
    if counts["in_progress"] > 1:
        return f"{said} Several are in progress; one at a time is easier to follow."
    if counts["pending"] and not counts["in_progress"]:
        return f"{said} None is in progress: mark the one that you work on."
    return said


def todos_in(messages: Iterable[Message]) -> tuple[Todo, ...]:
    """The list as the last call that went well left it; empty where there was none."""
    calls: dict[str, tuple[Todo, ...]] = {}
    last: tuple[Todo, ...] = ()
    for message in messages:
        for call in message.tool_uses:
            if call.name == NAME:
                try:
                    calls[call.id] = todos_of(arguments_of(call) or {})
                except ToolFailed:
                    continue
        for result in message.tool_results:
            if not result.is_error:
                last = calls.pop(result.tool_use_id, last)
    return last


def _todo(item: JsonObject, place: int) -> Todo:
    text, name = item.get("text"), item.get("id", str(place))
    if not isinstance(text, str) or not text.strip():
        raise ToolFailed(f"Todo {place} has no `text`. Say in a line what is to be done.")
    if len(text) > LONGEST:
        raise ToolFailed(f"Todo {place} has {len(text)} characters; {LONGEST} are the most. Keep details elsewhere.")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ToolFailed(f"The `id` of todo {place} is {kind_of(name)}. It must be a string.")
    return Todo(id=str(name), text=" ".join(text.split()), state=_state(item.get("state", "pending"), place))


def _state(given: Json, place: int) -> State:
    match given:
        case "pending" | "in_progress" | "completed":
            return given
        case _:
            raise ToolFailed(f"The `state` of todo {place} must be pending, in_progress or completed.")
