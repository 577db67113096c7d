"""What our own tools note is carried by a checkpoint that folds their calls, and told again behind it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from perdure.kernel.agent import Agent, AgentTool, MemoryHost, Setup
from perdure.kernel.context import Answer, Checkpoint, Need, Restore, Restored, Settings
from perdure.kernel.context.checkpoint import Fold, build
from perdure.kernel.messages import Message, text_of
from perdure.project import Places, places_of
from perdure.testing.models import ScriptedModel
from perdure.tools import plan, skill, todo

SCRIPT = """
    call skill {"name": "tea"}
    ---
    call todo {"todos": [{"id": "1", "text": "Warm the pot", "state": "completed"}, \
{"id": "2", "text": "Brew", "state": "in_progress"}, {"id": "3", "text": "Pour", "state": "pending"}]}
    ---
    call enter_plan_mode {"why": "It is large."}
    ---
    call exit_plan_mode {"plan": "- Brew for four minutes"}
    ---
    say Done.
"""


SETTINGS = Settings(keep_tail=1_000, checkpoint_size=2_000)


class Host(MemoryHost):
    """Tells used skills again."""

    agent: Agent

    async def perform(self, need: Need) -> Answer:
        if isinstance(need, Restore):
            return Restored(messages=skill.retold(self.agent.transcript, need.tail, checkpoint="k1", time=None))
        return await super().perform(need)


def places_with_a_skill(folder: Path) -> Places:
    path = folder / "home" / "skills" / "tea" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: Brews tea.\n---\nFour minutes, no longer.", encoding="utf-8")
    (folder / "repo" / ".git").mkdir(parents=True)
    return places_of(folder / "repo", folder / "home")


def worked(folder: Path) -> tuple[Agent, Host]:
    """An agent that has used every one of the tools, and then has folded what it did."""
    on = [False]

    async def agree(_proposal: plan.Proposal) -> plan.Verdict:
        return plan.Verdict(agreed=True)

    def turn(planning: bool) -> None:
        on[0] = planning

    planning = plan.Planning(is_on=lambda: on[0], turn=turn, approve=agree)
    offered = (
        todo.offered(todo.Todos()),
        skill.offered(places_with_a_skill(folder), lambda _name: None),
        *plan.offered(planning),
    )
    tools: Sequence[AgentTool] = [each.tool for each in offered]
    host = Host()
    host.agent = agent = Agent(ScriptedModel(SCRIPT), Setup(tools=tuple(tools), settings=SETTINGS), host)

    async def go() -> None:
        await agent.run("Make tea.")
        for number in range(20):
            await agent.run(f"Guest {number} is {'very, ' * 400}thirsty.")
        await agent.compact()

    asyncio.run(go())
    return agent, host


def test_open_todos_and_the_agreed_plan_stand_in_a_checkpoint_and_closed_ones_do_not(tmp_path: Path) -> None:
    agent, _ = worked(tmp_path)
    document = build(Fold(folded=tuple(agent.transcript)), budget=100_000, measure=len)

    assert [("Brew", True), ("Pour", False)] == [(each.text, each.active) for each in document.todos]
    assert ("- Brew for four minutes",) == document.plan


def test_a_skill_that_was_folded_is_told_again_behind_the_checkpoint(tmp_path: Path) -> None:
    agent, _ = worked(tmp_path)
    (fold,) = [edit for edit in agent.engine.ledger if isinstance(edit, Checkpoint)]
    again: Sequence[Message] = fold.after

    assert ["k1-skill-tea"] == [message.id for message in again]
    assert "Four minutes, no longer." in text_of(again[0].content)
