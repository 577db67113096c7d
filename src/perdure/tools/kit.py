"""The tools of the coding agent, in the order in which every request declares them.

It knows which tools there are and what each needs. It must never know who asks for them. The order is part of what a
provider caches, so a new tool comes last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from perdure.archive import Archive
from perdure.guard import Guard
from perdure.kernel.agent import AgentTool, Result
from perdure.kernel.errors import SecretFound
from perdure.kernel.messages import Json, JsonObject, Message, ToolUse
from perdure.kernel.value import value
from perdure.project import Places, record_use
from perdure.tools import ask_user, bash, edit, glob, grep, plan, read, recall, skill, subagent, todo, write
from perdure.tools.actions import Harmless, Offered, WritePath
from perdure.tools.ask_user import Asker
from perdure.tools.failed import ToolFailed
from perdure.tools.plan import Planning
from perdure.tools.process import Jobs
from perdure.tools.seen import Seen
from perdure.tools.sights import see_again
from perdure.tools.subagent import Ports
from perdure.tools.todo import Todos
from perdure.tools.workspace import Workspace


@value
class Kit:
    """What the tools of one session work with."""

    workspace: Workspace
    places: Places
    seen: Seen
    archive: Archive
    todos: Todos
    view: Sequence[Message]
    """What the model of a session that goes on is shown; empty for a new one."""
    jobs: Jobs
    agents: Ports
    planning: Planning
    ask: Asker | None
    """Puts questions to the user; None where nobody is there."""
    guard: Guard
    """Keeps secrets out of memories."""
    clock: Callable[[], float]
    confine: Callable[[Sequence[str], Path], Sequence[str]] | None = None
    """Puts a command into a sandbox; None: none."""
    printed: Callable[[str], None] | None = None
    """Hears what a command prints while it runs."""


def standard(kit: Kit, more: Sequence[Offered] = ()) -> tuple[Offered, ...]:
    """Every tool, in its place; `more` comes behind them."""
    space, shell = kit.workspace, bash.shell_of(kit.workspace)
    if kit.confine is not None:
        shell = replace(shell, confine=kit.confine)

    see_again(space, kit.seen, kit.view)

    def used(name: str) -> None:
        record_use(kit.places.home, name, kit.clock())

    memories = (kit.places.memory, kit.places.user_memory)
    return (
        read.offered(space, kit.seen),
        _careful(write.offered(space, kit.seen), memories, kit.guard),
        _careful(edit.offered(space, kit.seen), memories, kit.guard),
        bash.offered(space, kit.jobs, shell, kit.printed),
        bash.offered_job(kit.jobs),
        glob.offered(space),
        grep.offered(space, grep.ripgrep_of(space)),
        glob.offered_ls(space),
        todo.offered(kit.todos),
        recalling(kit.archive),
        skill.offered(kit.places, used),
        ask_user.offered(kit.ask),
        *plan.offered(kit.planning),
        subagent.offered(kit.agents),
        *more,
    )


def recalling(archive: Archive) -> Offered:
    """The recall tool over an archive."""
    tool = recall.RecallTool(archive=archive)

    def run(given: JsonObject) -> Result:
        result = tool.call(ToolUse(id="recall", name=recall.NAME, input=given))
        if result.is_error:
            raise ToolFailed(str(result.content).removeprefix("Error: "))
        return result.content if result.content is not None else ""

    # One at a time: the archive is one connection to a database.
    return Offered(tool=AgentTool(definition=recall.RECALL, run=run), actions=lambda _given: (Harmless(),))


def _careful(offered: Offered, memories: Sequence[Path], guard: Guard) -> Offered:
    """The same tool, which keeps no secret in a memory: what is written there is told in every later session."""
    run = offered.tool.run

    def checked(given: JsonObject) -> Result | Awaitable[Result]:
        paths = [action.path for action in offered.actions(given) if isinstance(action, WritePath)]
        if any(path.is_relative_to(folder) for path in paths for folder in memories):
            try:
                guard.refuse("\n".join(_texts(given)))
            except SecretFound as found:
                raise ToolFailed(f"{found} Nothing was written; a memory keeps no secret.") from found
        return run(given)

    return replace(offered, tool=replace(offered.tool, run=checked))


def _texts(value: Json) -> list[str]:
    """All texts in the arguments of a call."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inside for text in _texts(item)]
