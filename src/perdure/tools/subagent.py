"""The subagent tool: tasks handed to agents with a context of their own, several at once, each reporting back.

It knows how a task is run, bounded and told. It must never know how an agent is made: the session does, with the
leader's block 1, a log of its own, and its own knowledge of files. A subagent's request declares the leader's tools, so
that the cached prefix is shared; what it may not use is refused when it is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from itertools import count

from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import Agent, AgentEnd, AgentTool, Event, UsageSeen
from perdure.kernel.messages import JsonObject, Tool
from perdure.kernel.value import value
from perdure.tools.actions import Action, Harmless, Offered, Spawn
from perdure.tools.arguments import objects_in
from perdure.tools.failed import ToolFailed

NAME = "subagent"

FORBIDDEN = frozenset({NAME, "ask_user", "enter_plan_mode", "exit_plan_mode", "todo"})
"""What a subagent is refused: to nest, to reach the user, to move the leader's plan or its list. Memory is for the
session to decide."""

AT_ONCE = 4
"""Subagents that run at the same time, over all calls; others wait for their turn."""
MOST_TASKS = 8
LONGEST_TASK = 40_000
"""Characters."""
REPORT = 12_000
"""Characters of a report that reach the leader: some 3,000 tokens."""
TAIL = 2_000
"""Characters of them that come from its end, where a report that is too long sums up."""
GRACE = 2.0
"""Seconds that an interrupted subagent has to close its conversation."""

DESCRIPTION = """\
Hands tasks to subagents, each with a context of its own and your tools. Give independent tasks together: up to 8, \
4 of which run at once. A subagent has read nothing of this conversation: say in `task` all that it needs, and what \
its report has to hold. It cannot ask back. You get its report; its work stays yours to check."""

SUBAGENT = Tool(
    name=NAME,
    description=DESCRIPTION,
    schema={
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_TASKS,
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "description": "three to six words, for the user who looks on"},
                        "task": {"type": "string", "description": "the whole task"},
                    },
                    "required": ["title", "task"],
                },
            }
        },
        "required": ["tasks"],
    },
)


@value
class Task:
    """What a subagent has to do."""

    title: str
    """One line."""
    text: str


@value
class Child:
    """A subagent that is ready to run."""

    agent: Agent
    place: str
    """Where its conversation is kept, as it is told to people and to the leader; empty where nowhere."""
    close: Callable[[], Awaitable[None]]
    """Lets go of its log. Called once, however the run ended; may not raise."""


@value
class Ports:
    """The session's side of subagents."""

    make: Callable[[int, Task], Awaitable[Child]]
    """A new agent, numbered within the session: own bounds, own log. What it raises is told to the leader."""
    hear: Callable[[int, Event], None]
    """Hears every event of every subagent, by its number. May not raise."""
    paid: Callable[[UsageSeen], None]
    """Counts what a subagent spent to the leader, as it is spent, so that an interruption loses none. May not raise."""
    first: int = 1
    """The number of the next subagent, in a session that goes on."""


def offered(ports: Ports) -> Offered:
    """The tool."""
    crew = _Crew(ports)
    return Offered(tool=AgentTool(definition=SUBAGENT, run=crew.run, beside=True), actions=_actions)


def restricted(tools: Sequence[AgentTool], forbidden: Collection[str] = FORBIDDEN) -> tuple[AgentTool, ...]:
    """The same tools, byte for byte, of which the forbidden ones refuse each call."""
    return tuple(_refusing(tool) if tool.definition.name in forbidden else tool for tool in tools)


def tasks_of(given: JsonObject) -> tuple[Task, ...]:
    """The tasks of a call.

    Raises:
        ToolFailed: none, too many, or one without a text.
    """
    items = objects_in(given, "tasks")
    if not items:
        raise ToolFailed(f"There is no task. Give a list of one to {MOST_TASKS}, each with title and task.")
    if len(items) > MOST_TASKS:
        raise ToolFailed(f"{len(items)} tasks at once are too many; give the {MOST_TASKS} that come first.")
    return tuple(_task(item, place) for place, item in enumerate(items, 1))


class _Crew:
    """The subagents of one session."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._numbers = count(ports.first)
        self._room = asyncio.Semaphore(AT_ONCE)

    async def run(self, given: JsonObject) -> str:
        """Run the tasks of a call, and give their reports in the order of the tasks."""
        tasks = tasks_of(given)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._one(next(self._numbers), task)) for task in tasks]
        outcomes = [each.result() for each in running]
        told = "\n\n".join(text for _, text in outcomes)
        if not any(well for well, _ in outcomes):
            raise ToolFailed(told)
        return told

    async def _one(self, number: int, task: Task) -> tuple[bool, str]:
        """Whether a task went well, and its report. An agent that breaks leaves the others alone."""
        async with self._room:
            try:
                child = await self._ports.make(number, task)
            # The session's own code opens files and reads models; whatever it raises is for the leader to read.
            except Exception as error:  # noqa: BLE001
                return False, f"# {number}: {task.title}\nCould not begin: {clip(one_line(str(error)), 500)}"
            try:
                end = await self._worked(number, child, task)
            finally:
                await child.close()
            return end.state == "done", report(number, task, end, child.place)

    async def _worked(self, number: int, child: Child, task: Task) -> AgentEnd:
        """Let the agent work. An interruption reaches it first as its own, so that no call of it is left open."""

        def listen(event: Event) -> None:
            if isinstance(event, UsageSeen):
                self._ports.paid(event)
            self._ports.hear(number, event)

        async with asyncio.TaskGroup() as group:
            running = group.create_task(child.agent.run(task.text, listen))
            try:
                await asyncio.wait((running,))
            except asyncio.CancelledError:
                child.agent.interrupt()
                await asyncio.wait((running,), timeout=GRACE)
                raise
        return running.result()


def report(number: int, task: Task, end: AgentEnd, place: str) -> str:
    """What the leader reads of a subagent's run."""
    about = f"{end.turns} model calls, {end.tokens:,} tokens"
    kept = f"; its conversation is in {place}" if place else ""
    head = f"# {number}: {task.title}\n({about}{kept})"
    said = _bounded(end.answer.strip())
    if end.state == "done":
        return f"{head}\n\n{said or '(It ended without a report.)'}"
    why = f": {clip(one_line(end.failure.message), 300)}" if end.failure is not None else ""
    rest = f" What it said last:\n\n{said}" if said else ""
    return f"{head}\n\nIt did not finish ({end.state}{why}). Do not rely on it.{rest}"


def _bounded(text: str) -> str:
    if len(text) <= REPORT:
        return text
    left_out = len(text) - REPORT
    return f"{text[: REPORT - TAIL]}\n[{left_out:,} characters left out]\n{text[-TAIL:]}"


def _refusing(tool: AgentTool) -> AgentTool:
    name = tool.definition.name

    def refuse(_given: JsonObject) -> str:
        raise ToolFailed(f"A subagent may not use {name!r}. Do the task with the other tools, and report what is open.")

    return replace(tool, run=refuse)


def _actions(given: JsonObject) -> tuple[Action, ...]:
    try:
        return tuple(Spawn(what=task.title) for task in tasks_of(given))
    except ToolFailed:
        return (Harmless(),)


def _task(item: JsonObject, place: int) -> Task:
    title, text = item.get("title"), item.get("task")
    if not isinstance(text, str) or not text.strip():
        raise ToolFailed(f"Task {place} has no `task`. Say all that the subagent needs: it has read nothing of this.")
    if len(text) > LONGEST_TASK:
        raise ToolFailed(f"Task {place} has {len(text):,} characters; write what is long into a file and name it.")
    named = title if isinstance(title, str) and title.strip() else text
    return Task(title=clip(one_line(" ".join(named.split())), 80), text=text)
