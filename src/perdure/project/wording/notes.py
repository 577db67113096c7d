"""What is told in reminders: bodies of parts and of notes.

It knows words. It must never know when they are due: `kernel/prompt` finds that in the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from perdure.guard.plain import clip, one_line
from perdure.kernel.messages import Tool
from perdure.kernel.prompt import PlanWords

TODO_LINES = 20
"""Open todos that a reminder repeats."""
TODO_WIDTH = 120

PLAN_WORDS = PlanWords(
    rules="""\
Plan mode is on: the user wants a plan, and no change yet.
- Read and search as much as you need. Change nothing: no file, no setting, no repository, nothing beyond this machine.
- Commands may only look. One that might write is not for now.
- Settle what is open: find out what can be found out, and ask the user what only the user can decide.
- Then give the plan: what will change, in which files, in which order, how it will be checked, what may go wrong.
- End with the plan and wait. You begin when the user agrees and this mode is over.""",
    still="Plan mode is still on: look, change nothing, and end with a plan.",
    over="Plan mode is over: you may change things again. What was said about plan mode no longer holds.",
)


def date_body(now: float, zone: tzinfo | None = None) -> str:
    """The date at a time, in a time zone; None for the one of this machine."""
    day = datetime.fromtimestamp(now, zone) if zone is not None else datetime.fromtimestamp(now).astimezone()
    return f"Today is {_DAYS[day.weekday()]}, {day:%Y-%m-%d}."


def skills_body(listing: str) -> str:
    """The list of skills; empty where there are none."""
    if not listing:
        return ""
    return f"Skills: instructions for tasks of a kind. Load the one that fits before you begin such a task.\n{listing}"


def project_body(text: str) -> str:
    """The project context; empty where there is none."""
    if not text:
        return ""
    return (
        "Instructions of the user and of this project, from the general to the closest; where two disagree, the later "
        f"one holds.\n\n{text}"
    )


def deferred_body(tools: Sequence[Tool]) -> str:
    """The names of tools whose definitions come when they are asked for; empty where there are none."""
    names = sorted(one_line(tool.name) for tool in tools if tool.deferred)
    if not names:
        return ""
    return "These tools can be had too. Search for one before you call it:\n" + "\n".join(f"- {name}" for name in names)


def repeated_words(tool: str, count: int) -> str:
    """That the same call was made again and again."""
    return (
        f"You have called `{one_line(tool)}` {count} times in a row with the same arguments. The result will not "
        "change by itself. Look at what it says, then do something else, or tell the user what is in the way."
    )


def todos_words(todos: Sequence[str]) -> str:
    """The open todos, for a model that has not touched its list for a while; empty where none is open."""
    if not todos:
        return ""
    lines = [f"- {one_line(clip(todo, TODO_WIDTH))}" for todo in todos[:TODO_LINES]]
    more = [f"- and {len(todos) - TODO_LINES} more"] if len(todos) > TODO_LINES else []
    return "\n".join(
        [
            "Your list of todos has not changed for a while. Bring it up to date if it no longer fits. Open:",
            *lines,
            *more,
        ]
    )


# `strftime` would name the day in the language of the machine.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
