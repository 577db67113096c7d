"""The open todos and the plan, as the agent's own tools last left them.

It knows the todo, task and plan tools of common agents. It must never bring anything back: a task that was finished or
cancelled is gone from the checkpoint for good, and only an open one is carried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from perdure.kernel.context.checkpoint.calls import Call
from perdure.kernel.context.checkpoint.document import CheckpointDocument, Todo
from perdure.kernel.messages import Json
from perdure.kernel.pattern import pattern

MOST_LINES_OF_A_PLAN = 60

_CLOSED = frozenset(
    (
        "completed", "complete", "done", "finished", "closed", "cancelled", "canceled", "deleted", "removed",
        "abandoned", "skipped", "rejected",
    )
)  # fmt: skip
_ACTIVE = frozenset(
    (
        "in_progress", "in-progress", "active", "doing", "started", "running",
    )
)  # fmt: skip
_TEXTS = ("content", "subject", "title", "step", "task", "text", "description", "name")
_LISTS = ("todos", "plan", "tasks", "items", "todoList", "todo_list", "task_list", "steps")
_SINGLE = pattern(r"task|todo", re.IGNORECASE)
_CREATES = pattern(r"create|add|new", re.IGNORECASE)
_UPDATES = pattern(r"update|complete|finish|delete|remove|cancel|close|set|stop", re.IGNORECASE)
_ID = pattern(r"#(\w+)|\"?\b(?:task_?)?id\"?\s*[:=]\s*\"?([\w-]+)", re.IGNORECASE)


def open_work(calls: Iterable[Call], previous: CheckpointDocument | None) -> tuple[tuple[Todo, ...], tuple[str, ...]]:
    """The open todos, and the open steps of the plan, after these calls."""
    todos = list(previous.todos) if previous is not None else []
    plan = previous.plan if previous is not None else ()
    for call in calls:
        if not call.succeeded:
            continue
        listed = _listed(call)
        if listed is not None and "plan" in call.name.lower():
            plan = tuple(todo.text for todo in listed)
        elif listed is not None:
            todos = listed
        elif isinstance(call.input.get("plan"), str):
            plan = _lines(call.argument("plan"))
        elif _SINGLE.search(call.name):
            todos = _after_one(todos, call)
    return tuple(todos), plan


def _listed(call: Call) -> list[Todo] | None:
    """The open ones of a call that gives the whole list anew; None for other calls."""
    if not re.search(r"todo|task|plan", call.name, re.IGNORECASE):
        return None
    for name in _LISTS:
        items = call.input.get(name)
        if isinstance(items, list) and not (_CREATES.search(call.name) or "delete" in call.name.lower()):
            return [todo for item in items if (todo := _todo(item)) is not None]
    return None


def _todo(item: Json) -> Todo | None:
    if isinstance(item, str):
        return Todo(text=item) if item.strip() else None
    if not isinstance(item, dict):
        return None
    state, text, name = _state(item), _first(item, _TEXTS), item.get("id")
    if not text or state in _CLOSED:
        return None
    return Todo(text=text, id=str(name) if isinstance(name, str | int) else "", active=state in _ACTIVE)


def _after_one(todos: list[Todo], call: Call) -> list[Todo]:
    """The list after a call that creates, updates or ends a single task."""
    name = _identifier(call.input)
    if name and _UPDATES.search(call.name):
        return [updated for todo in todos if (updated := _updated(todo, name, call)) is not None]
    text = _first(call.input, _TEXTS)
    if not text or not _CREATES.search(call.name):
        return todos
    found = _ID.search(call.result or "")
    made = (found[1] or found[2]) if found else ""
    return [*todos, Todo(text=text, id=name or made)]


def _updated(todo: Todo, name: str, call: Call) -> Todo | None:
    if todo.id != name:
        return todo
    state = _state(call.input)
    if state in _CLOSED or (
        not state and re.search(r"complete|finish|delete|remove|cancel|close", call.name, re.IGNORECASE)
    ):
        return None
    return Todo(
        text=_first(call.input, _TEXTS[:4]) or todo.text, id=name, active=state in _ACTIVE if state else todo.active
    )


def _identifier(given: dict[str, Json]) -> str:
    for key in ("taskId", "task_id", "id", "todo_id"):
        value = given.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return ""


def _state(item: dict[str, Json]) -> str:
    return _first(item, ("status", "state")).lower().replace(" ", "_") or ("done" if item.get("done") is True else "")


def _first(item: dict[str, Json], names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := item.get(name), str) and value.strip()), "")


def _lines(plan: str) -> tuple[str, ...]:
    lines = [" ".join(line.split()) for line in plan.splitlines()]
    return tuple(line for line in lines if line and not re.match(r"(?:[-*]\s*)?\[x\]", line, re.IGNORECASE))[
        :MOST_LINES_OF_A_PLAN
    ]
