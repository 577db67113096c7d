"""Subagents of a session: logs of their own, and the leader's limits for what they spend."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.session.stage import Stage, reading

from perdure.kernel.agent import AgentEnd, AgentTool, Bounds
from perdure.session import Bench, Session, SessionEvent, SubagentHeard
from perdure.testing.doubles import AnthropicDouble, Call, Say, Turn
from perdure.testing.doubles.shape import Body, as_text
from perdure.tools.subagent import offered

LIMIT = 20_000
TASKS = [{"title": "One half", "task": "Read the first half."}, {"title": "Another", "task": "Read the second half."}]


def with_subagents(bench: Bench) -> Sequence[AgentTool]:
    return (*reading(bench), offered(bench.agents).tool)


class Restless:
    """The leader hands everything to two subagents, again and again, and they read without end."""

    def __init__(self) -> None:
        self.parts = 0

    def __call__(self, body: Body) -> Turn:
        if "Read the" in as_text(body.get("messages")) and "Share it" not in as_text(body.get("messages")):
            self.parts += 1
            return Turn(parts=(Say(text="Next."), Call(name="look", arguments={"part": self.parts})))
        return Turn(parts=(Say(text="Both."), Call(name="subagent", arguments={"tasks": TASKS})))


def test_what_subagents_spend_ends_them_and_their_leader_at_the_leaders_limit(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.double = AnthropicDouble(Restless(), clock=stage.clock)
    ends = list[AgentEnd]()

    def listen(event: SessionEvent) -> None:
        if isinstance(event, SubagentHeard) and isinstance(event.event, AgentEnd):
            ends.append(event.event)

    async def play(url: str) -> AgentEnd:
        spec = replace(stage.spec(stage.model(url), with_subagents), bounds=Bounds(tokens=LIMIT))
        session = Session.start(spec)
        end = await session.run("Share it.", listen)
        await session.close()
        return end

    with stage.serve() as url:
        end = asyncio.run(play(url))
    logs = list(stage.home.rglob("agents/*.jsonl"))

    assert ("token_limit", 1, None) == (end.state, end.turns, end.failure)
    assert ["token_limit"] * 2 == [one.state for one in ends]
    # Both began with what was left, and each ended with the answer that went beyond.
    assert LIMIT <= end.tokens <= 2 * LIMIT + 2 * 16_000
    assert end.tokens > sum(one.tokens for one in ends)
    assert 2 == len(logs)
    assert all(log.read_bytes().count(b"\n") > 4 for log in logs)
