"""Subagents of a session: a context, a log and a knowledge of files of their own, under the leader's block 1.

It knows how one is made and closed. It must never know what it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.archive import open_archive
from perdure.guard import guarded
from perdure.kernel.agent import Agent, AgentTool, Bounds, Event, Setup, UsageSeen
from perdure.kernel.context import Failed, Ladder, Restore
from perdure.kernel.messages import Message, Text, Transcript
from perdure.kernel.value import value
from perdure.log import create_log
from perdure.session.host import SessionHost
from perdure.session.spec import Bench, Spec
from perdure.session.stored import started_of
from perdure.tools.seen import Seen
from perdure.tools.subagent import Child, Ports, Task, restricted


@value
class Family:
    """What the subagents of one session share."""

    spec: Spec
    session: str
    system: tuple[Text, ...]
    """The leader's blocks."""
    git: str
    bounds: Bounds
    """What the leader's run may still spend."""


def children_of(
    folder: Path,
    *,
    family: Callable[[], Family],
    hear: Callable[[int, Event], None],
    paid: Callable[[UsageSeen], None],
) -> Ports:
    """The session's side of its subagents, whose logs lie in `folder`; `family` is asked for each of them."""

    async def make(number: int, _task: Task) -> Child:
        return child_of(family(), folder / f"{number}.jsonl", ports)

    begun = [int(path.stem) for path in folder.glob("*.jsonl") if path.stem.isdecimal()]
    ports = Ports(make=make, hear=hear, paid=paid, first=max(begun, default=0) + 1)
    return ports


def child_of(family: Family, path: Path, agents: Ports) -> Child:
    """A new subagent with its log at `path`. `agents` is the leader's: a subagent is offered its tools and refused
    this one.

    Raises:
        DiskError: its log cannot be made.
    """
    spec = family.spec
    name = f"{family.session}-agent-{path.stem}"
    log = create_log(path, name, spec.clock())
    try:
        archive = open_archive(log, guard=spec.guard)
    except BaseException:
        log.close()
        raise
    conversation: list[Agent] = []

    def transcript() -> Transcript:
        return conversation[0].transcript if conversation else Transcript()

    bench = Bench(
        session=name,
        archive=archive,
        seen=Seen(spec.clock),
        kept=path.with_suffix(""),
        transcript=transcript,
        view=(),
        clock=spec.clock,
        agents=agents,
    )
    made = restricted(spec.tools(bench))
    system = _system(family, made)
    log.append(started_of(system, made, family.git, spec.model.profile.id, {"leader": family.session}), spec.clock())
    host = SessionHost(
        log=log,
        originals=archive,
        clock=spec.clock,
        restore=_nothing_again,
        memory=lambda: Failed(reason="a subagent has no session memory"),
        rewritten=lambda _need: None,
        edited=lambda _edits: None,
    )
    setup = Setup(
        system=system,
        tools=made,
        settings=spec.settings,
        bounds=family.bounds,
        session=name,
        longest_answer=spec.answer_tokens,
        summarizer=spec.summarizer,
        ladder=guarded(Ladder(), spec.guard),
    )
    agent = Agent(spec.model, setup, host)
    conversation.append(agent)

    async def close() -> None:
        archive.close()
        log.close()

    return Child(agent=agent, place=str(path), close=close)


def _system(family: Family, tools: Sequence[AgentTool]) -> tuple[Text, ...]:
    """The leader's block 1, the role of a subagent, and the leader's state of the repository."""
    own = family.spec.opening.system("subagent", [tool.definition for tool in tools]).blocks
    return (family.system[0], *own[1:]) if family.system and len(own) > 1 else own


def _nothing_again(_need: Restore) -> Sequence[Message]:
    """A subagent's task is short: what left is recalled."""
    return ()
