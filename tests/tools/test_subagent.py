"""Subagents work beside one another, within bounds, and nothing of them is lost to an interruption."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import pytest

from perdure.kernel.agent import Agent, AgentTool, Bounds, Event, Setup, UsageSeen
from perdure.kernel.messages import Json, JsonObject, Tool, text_of
from perdure.testing.models import ScriptedModel
from perdure.tools.actions import Harmless, Spawn
from perdure.tools.failed import ToolFailed
from perdure.tools.subagent import AT_ONCE, FORBIDDEN, REPORT, Child, Ports, Task, offered, restricted

SCHEMA: JsonObject = {"type": "object", "properties": {}}
Run = Callable[[JsonObject], str | Awaitable[str]]


def tool(name: str, run: Run) -> AgentTool:
    return AgentTool(definition=Tool(name=name, description=name, schema=SCHEMA), run=run)


class Session:
    """A session's side of subagents, whose models follow scripts by title."""

    def __init__(self, scripts: dict[str, str], tools: Sequence[AgentTool] = (), bounds: Bounds | None = None) -> None:
        self.scripts, self.tools, self.bounds = scripts, tuple(tools), bounds or Bounds()
        self.agents, self.models = dict[int, Agent](), dict[int, ScriptedModel]()
        self.closed, self.paid, self.heard = list[int](), list[UsageSeen](), list[tuple[int, str]]()
        self.working = self.most = 0
        self.tool = offered(Ports(make=self.make, hear=self.hear, paid=self.paid.append))

    async def make(self, number: int, task: Task) -> Child:
        if task.title not in self.scripts:
            raise OSError("no room on the disk")
        self.working += 1
        self.most = max(self.most, self.working)
        model = self.models[number] = ScriptedModel(self.scripts[task.title])
        setup = Setup(tools=restricted(self.tools), bounds=self.bounds)
        agent = self.agents[number] = Agent(model, setup)

        async def close() -> None:
            self.working -= 1
            self.closed.append(number)

        return Child(agent=agent, place=f"agents/{number}.jsonl", close=close)

    def hear(self, number: int, event: Event) -> None:
        self.heard.append((number, event.name))

    async def call(self, *titles: str) -> str:
        given: JsonObject = {"tasks": [{"title": title, "task": f"Do {title}."} for title in titles]}
        return await cast("Awaitable[str]", self.tool.tool.run(given))

    def report(self, *titles: str) -> str:
        try:
            return asyncio.run(self.call(*titles))
        except ToolFailed as error:
            return f"Error: {error}"


def test_reports_come_back_in_the_order_of_the_tasks_with_where_the_rest_is() -> None:
    said = Session({"Tea": "say It is warm.", "Milk": "say It is cold."}).report("Tea", "Milk")

    assert ["# 1: Tea", "It is warm.", "# 2: Milk", "It is cold."] == [
        line for line in said.splitlines() if line and not line.startswith("(")
    ]
    assert "its conversation is in agents/1.jsonl)" in said


def test_a_subagent_reads_its_task_and_nothing_of_the_leaders_conversation() -> None:
    session = Session({"Tea": "say Done."})
    session.report("Tea")

    assert ["Do Tea."] == [text_of(message.content) for message in session.models[1].asked[0].messages]


def test_only_so_many_work_at_once_over_all_calls() -> None:
    session = Session({f"t{n}": "call wait {}\n---\nsay Done." for n in range(12)})

    async def go() -> int:
        full = asyncio.Event()

        async def wait(_given: JsonObject) -> str:
            if session.working == AT_ONCE:
                full.set()
            await full.wait()
            return "waited"

        session.tools = (tool("wait", wait),)
        async with asyncio.TaskGroup() as group:
            group.create_task(session.call(*(f"t{n}" for n in range(6))))
            group.create_task(session.call(*(f"t{n}" for n in range(6, 12))))
        return len(session.closed)

    assert (12, AT_ONCE) == (asyncio.run(asyncio.wait_for(go(), 20)), session.most)


def test_one_that_breaks_leaves_the_others_alone() -> None:
    said = Session({"Tea": "say Warm.", "Milk": "fail server It is down."}).report("Tea", "Milk", "Missing")

    assert "Warm." in said
    assert "It did not finish (failed: It is down.). Do not rely on it." in said
    assert "# 3: Missing\nCould not begin: no room on the disk" in said


def test_where_none_finished_the_call_failed() -> None:
    assert Session({"Milk": "fail server It is down."}).report("Milk").startswith("Error: # 1: Milk")


def test_what_it_said_last_is_told_where_a_bound_ended_it() -> None:
    session = Session({"Tea": "say I looked.\ncall look {}\n---\nsay Never."}, bounds=Bounds(turns=1))
    session.tools = (tool("look", lambda _given: "leaves"),)

    assert "It did not finish (turn_limit). Do not rely on it. What it said last:\n\nI looked." in session.report("Tea")


def test_the_request_declares_the_leaders_tools_and_what_is_forbidden_is_refused_when_called() -> None:
    ran: list[str] = []
    tools = [tool(name, lambda _given: ran.append("ran") or "ran") for name in sorted(FORBIDDEN)]
    script = "\n".join(f"call {name} {{}}" for name in sorted(FORBIDDEN)) + "\n---\nsay Done."
    session = Session({"Tea": script}, tools)
    session.report("Tea")
    results = [text_of(result.content) for message in session.agents[1].transcript for result in message.tool_results]

    assert tuple(each.definition for each in tools) == session.models[1].asked[0].tools[: len(tools)]
    assert ([], len(FORBIDDEN)) == (ran, sum("A subagent may not use" in result for result in results))


def test_what_is_spent_is_counted_to_the_leader_as_it_is_spent() -> None:
    session = Session({"Tea": "call look {}\n---\nsay Done.", "Milk": "say Done."})
    session.report("Tea", "Milk")

    assert 3 == len(session.paid)
    assert {1, 2} == {number for number, name in session.heard if name == "usage"}


def test_an_interruption_reaches_every_subagent_and_closes_its_conversation() -> None:
    session = Session({"Tea": "call wait {}\n---\nsay Never.", "Milk": "call wait {}\n---\nsay Never."})

    async def go() -> None:
        begun = asyncio.Barrier(3)

        async def wait(_given: JsonObject) -> str:
            await begun.wait()
            await asyncio.Event().wait()
            return ""

        session.tools = (tool("wait", wait),)
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            running = group.create_task(session.call("Tea", "Milk"))
            await begun.wait()
            running.cancel()

    asyncio.run(go())
    last = [agent.transcript[-1].tool_results[0] for agent in session.agents.values()]

    assert ([True, True], [1, 2]) == ([result.is_error for result in last], sorted(session.closed))
    assert ["interrupted" in text_of(result.content) for result in last] == [True, True]
    assert 2 == len(session.paid)


def test_the_leaders_interruption_is_the_subagents() -> None:
    session = Session({"Tea": "call wait {}\n---\nsay Never."})
    script = 'call subagent {"tasks": [{"title": "Tea", "task": "Do it."}]}\n---\nsay Never.'

    async def go() -> str:
        begun = asyncio.Event()

        async def wait(_given: JsonObject) -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        session.tools = (tool("wait", wait),)
        leader = Agent(ScriptedModel(script), Setup(tools=(session.tool.tool,)))
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            running = group.create_task(leader.run("Go."))
            await begun.wait()
            leader.interrupt()
        return running.result().state

    assert ("interrupted", [1]) == (asyncio.run(go()), session.closed)


def test_a_report_that_is_too_long_keeps_its_ends() -> None:
    said = Session({"Tea": f"say {'a' * REPORT}{'z' * REPORT}"}).report("Tea")

    assert (True, "z", True) == (f"[{REPORT:,} characters left out]" in said, said[-1], len(said) < REPORT + 300)


def test_permissions_are_told_of_each_subagent() -> None:
    actions = offered(Ports(make=Session({}).make, hear=lambda _n, _e: None, paid=lambda _u: None)).actions

    assert (Spawn(what="Brew the tea"), Spawn(what="Pour")) == actions(
        {"tasks": [{"title": "Brew the\ntea", "task": "x"}, {"task": "Pour"}]}
    )
    assert (Harmless(),) == actions({"tasks": []})


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "There is no task"),
        (7, "must be a list"),
        ([{"title": "Tea"}], "Task 1 has no `task`"),
        ([{"title": "Tea", "task": "x" * 40_001}], "write what is long into a file"),
        ([{"title": "Tea", "task": "x"}] * 9, "too many"),
    ],
)
def test_tasks_that_are_none_are_refused(tasks: Json, said: str) -> None:
    async def go() -> None:
        await cast("Awaitable[str]", Session({}).tool.tool.run({"tasks": tasks}))

    with pytest.raises(ToolFailed, match=said):
        asyncio.run(go())
