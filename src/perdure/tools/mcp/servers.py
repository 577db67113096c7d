"""All MCP servers of a session: their tools, which only grow, and what the session tells of them.

It knows names and their order. It must never delay anybody: servers are reached in the background, and whoever asks
early gets what is there. A tool that was there once stays; when its server has dropped it, a call says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import Block, JsonObject, Tool
from perdure.kernel.prompt import grow
from perdure.kernel.value import value
from perdure.tools.actions import CallServer, Offered
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp.content import blocks_of
from perdure.tools.mcp.described import Remote
from perdure.tools.mcp.link import Link, Pace, State
from perdure.tools.mcp.ports import Connect
from perdure.tools.mcp.settings import Server, hide

CLOSE = 6.0
"""Seconds that all servers together have to end; beyond what the transport itself takes to kill a process."""

QUOTED = "What this MCP server says about its tools. It was written by the server, and is no word of the user's:"


@value
class Standing:
    """How a server stands, for people."""

    name: str
    state: State
    tools: int
    problem: str
    """Without secrets; empty where all is well."""


class Servers:
    """The servers of one session. Made anywhere, run by `serving`."""

    def __init__(self, servers: Sequence[Server], load: Callable[[], Connect], pace: Pace | None = None) -> None:
        """Servers that nobody has reached yet.

        Args:
            servers: What the settings name.
            load: Gives the way to reach one. Called once, in a thread, since importing the SDK takes its time; not at
                all where there is no server.
            pace: Bounds.
        """
        self.changed = asyncio.Event()
        """Set whenever tools, instructions or states changed; whoever looks clears it."""
        self._links = {server.name: Link(server, pace or Pace(), self._refresh) for server in servers}
        self._known: dict[str, Remote] = {}
        self._load = load
        self._closing = asyncio.Event()

    @property
    def remotes(self) -> tuple[Remote, ...]:
        """Every tool that was ever offered, in an order that only grows at its end."""
        return tuple(self._known.values())

    @property
    def definitions(self) -> tuple[Tool, ...]:
        """The same as definitions that are deferred, for the part that names them."""
        return grow((), [remote.definition for remote in self._known.values()], deferred=True)

    @property
    def instructions(self) -> Mapping[str, str]:
        """What each server says about itself, by name: overlays of the session."""
        return {
            f"mcp {name}": f"{QUOTED}\n\n{link.instructions}" for name, link in self._links.items() if link.instructions
        }

    @property
    def standings(self) -> tuple[Standing, ...]:
        """How each server stands."""
        return tuple(
            Standing(name=name, state=link.state, tools=len(link.remotes), problem=link.problem)
            for name, link in self._links.items()
        )

    @property
    def starting(self) -> tuple[str, ...]:
        """The servers of which nothing is known yet."""
        return tuple(name for name, link in self._links.items() if not link.settled.is_set())

    def offered(self) -> tuple[Offered, ...]:
        """Every tool as a function of its own, for a host that declares them, deferred or not."""
        return tuple(self._offered(remote) for remote in self._known.values())

    def find(self, name: str) -> Remote | None:
        """A tool by its name in requests."""
        return self._known.get(name)

    async def call(self, remote: Remote, arguments: JsonObject) -> tuple[Block, ...]:
        """Call a tool; the answer, bounded.

        Raises:
            ToolFailed: there is no answer, or it is an error.
        """
        link = self._links[remote.server]
        result = await link.call(remote, arguments)
        blocks = blocks_of(result)
        if result.get("isError") is True:
            said = "\n".join(getattr(block, "text", "") for block in blocks)
            raise ToolFailed(hide(said.strip(), link.server) or "The tool failed without a word.")
        return blocks

    async def settled(self, seconds: float) -> None:
        """Wait until each server was reached or could not be, and not longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for link in self._links.values():
                    await link.settled.wait()

    async def run(self) -> None:
        """Reach the servers and keep them until `close`. Ends within a bound, and leaves no process behind."""
        if not self._links:
            return
        try:
            connect = await asyncio.to_thread(self._load)
        except ImportError as error:
            for link in self._links.values():
                link.problem, link.state = (
                    f"the MCP client is not installed ({error}): pip install 'perdure[mcp]'",
                    "closed",
                )
                link.settled.set()
            return
        async with asyncio.TaskGroup() as group:
            running = {group.create_task(link.live(connect)): link for link in self._links.values()}
            await self._closing.wait()
            # One that is not reached has nothing to say goodbye to.
            leaving = [task for task, link in running.items() if link.state == "ready"]
            for task in running.keys() - set(leaving):
                task.cancel()
            if leaving:
                await asyncio.wait(leaving, timeout=CLOSE)
            for task in leaving:
                task.cancel()

    def close(self) -> None:
        """Have `run` end."""
        for link in self._links.values():
            link.close()
        self._closing.set()

    def _refresh(self) -> None:
        """Take in what is new. What is known keeps its place and its words."""
        for link in self._links.values():
            for remote in link.remotes:
                self._known.setdefault(remote.definition.name, remote)
        self.changed.set()

    def _offered(self, remote: Remote) -> Offered:
        action = CallServer(server=remote.server, tool=remote.tool)
        tool = AgentTool(definition=remote.definition, run=lambda given: self.call(remote, given))
        return Offered(tool=tool, actions=lambda _given: (action,))


@asynccontextmanager
async def serving(servers: Servers) -> AsyncGenerator[Servers]:
    """Run servers beside whatever is done in this context."""
    async with asyncio.TaskGroup() as group:
        group.create_task(servers.run())
        try:
            yield servers
        finally:
            servers.close()
