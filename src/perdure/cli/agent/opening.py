"""A session opened for a working directory: settings, model, tools, permissions and servers put together.

It knows what comes from which setting. It must never know how anything is shown: whoever shows it hands in a `Person`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Protocol, cast

import httpx

from perdure.cli.agent.choice import Chosen, choose, needs_local, told
from perdure.cli.agent.place import Place
from perdure.guard import SecretGuard
from perdure.kernel.agent import AgentTool, Bounds
from perdure.kernel.messages import JsonObject, Message, Tool, Transcript, decode_json, encode_json
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import record, value
from perdure.project import Opening
from perdure.project.settings import Settled
from perdure.providers import Edge, HttpModel, find_local, window_of
from perdure.session import Bench, Session, Spec
from perdure.terminal.port import Folders
from perdure.tools import ask_user, skill
from perdure.tools.actions import Offered
from perdure.tools.kit import Kit, standard
from perdure.tools.mcp import Servers, sdk, servers_of, serving
from perdure.tools.mcp import offered as mcp_tools
from perdure.tools.permissions import Answer, Gate, Mode, Question, gate_of, gated
from perdure.tools.plan import Planning, Proposal, Verdict
from perdure.tools.process import Jobs
from perdure.tools.todo import Todos, todos_in
from perdure.tools.web_fetch import offered as web_fetch
from perdure.tools.web_fetch import the_web
from perdure.tools.workspace import Workspace


class Person(Protocol):
    """Whoever sits in front of a session and can be asked."""

    async def permit(self, question: Question) -> Answer:
        """Whether something may be done."""
        ...

    async def answer(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """What the model wants to know."""
        ...

    async def approve(self, proposal: Proposal) -> Verdict:
        """Whether a plan is agreed to."""
        ...


@record(kw_only=True)
class Desk:
    """An open session and what can be turned while it runs."""

    session: Session
    gate: Gate
    chosen: Chosen
    place: Place
    mcp: Servers | None = None
    """The MCP servers, where there are any."""
    edge: Edge
    models: list[HttpModel] = field(default_factory=list[HttpModel])
    """The one that answers is the last; closed with the desk."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a person should know: of settings, approvals and hooks."""
        told = (*self.place.cautions, *self.gate.cautions)
        return (*map(str, told), *self.gate.hooks.failures, *unpriced(self.session.spec.bounds, self.chosen.profile))

    @property
    def mode(self) -> Mode:
        """What is done without a question."""
        return self.gate.mode

    def turn(self, mode: Mode) -> None:
        """Change that."""
        self.gate.mode = mode

    @property
    def folders(self) -> Folders:
        """Where things of the project are."""
        places = self.place.places
        return Folders(
            cwd=places.cwd,
            root=places.root,
            kept=places.kept,
            memories=(places.user_memory, places.memory),
            commands=(places.own / "commands", places.home / "commands"),
        )

    def servers(self) -> tuple[str, ...]:
        """How each MCP server stands, in a line."""
        standings = self.mcp.standings if self.mcp is not None else ()
        return tuple(f"{one.name}: {one.state}, {one.tools} tools {one.problem}".rstrip() for one in standings)

    async def rest(self) -> None:
        """Keep the provider's cache while nothing happens, where that is wanted and pays; cancelled when it goes on."""
        if self.place.settled.flag("context.keep_warm"):
            await self.session.keep_warm(self.models[-1], self.edge)

    async def use_model(self, wanted: str) -> str:
        """Let another model answer; its name, and why it can be reached.

        Raises:
            NoModel: it cannot be reached.
        """
        chosen = await chosen_for(self.place, wanted)
        model = chosen.connect(self.edge, self.place.settled.text("effort"))
        self.models.append(model)
        await self.session.use_model(model)
        self.chosen = chosen
        return f"{chosen.name}, {chosen.because}"


@value
class Opens:
    """Which session, and who is there."""

    person: Person | None = None
    """None: nobody can be asked, so whatever would be asked is denied."""
    resume: Path | None = None
    """The log of a session to go on with; None: a new one."""
    model: str | None = None
    printed: Callable[[str], None] | None = None
    """Hears what a command prints while it runs."""
    around: Callable[[Offered], Offered] | None = None
    """Puts something around each tool, behind its permissions: the buffers of an editor."""


async def chosen_for(place: Place, wanted: str | None) -> Chosen:
    """The model that answers, with the window that its server really has.

    Raises:
        NoModel: none can be reached.
    """
    settled, environment = place.settled, place.environment
    if not needs_local(settled, environment, wanted):
        return await served(choose(settled, environment, (), wanted), settled)
    async with httpx.AsyncClient() as client:
        local = await find_local(client)
    return choose(settled, environment, local, wanted)


async def served(chosen: Chosen, settled: Settled) -> Chosen:
    """A model with the window that its server tells, where that is a server which may have loaded it with any."""
    if chosen.dialect != "chat":
        return chosen
    async with httpx.AsyncClient() as client:
        headers = {"authorization": f"Bearer {chosen.key}"} if chosen.key else {}
        window = await window_of(client, chosen.url, chosen.name, headers)
    return chosen if window is None else told(chosen, settled, window)


@asynccontextmanager
async def opened(place: Place, opens: Opens) -> AsyncGenerator[Desk]:
    """A session, open while the block lasts.

    Raises:
        NoModel: no model can be reached.
        InvalidSetting: settings that do not fit together.
        DiskError: the session cannot be opened.
    """
    settled = place.settled
    chosen = await chosen_for(place, opens.model)
    opening = await asyncio.to_thread(Opening.read, place.places.cwd, place.environment, _now(), trusted=place.trusted)
    effort = settled.text("effort")
    async with AsyncExitStack() as stack:
        edge = Edge()
        stack.push_async_callback(edge.close)
        if opens.person is None:
            # Nobody has to type first, so the request leaves as soon as both are there: the session and a connection.
            stack.push_async_callback(_done, asyncio.get_running_loop().run_in_executor(None, lambda: edge.client))
        model = chosen.connect(edge, effort)
        summarizer = settled.text("summarizer")
        writer = (await chosen_for(place, summarizer)).connect(edge) if summarizer else None
        gate = gate_of(
            settled, place.places, place.environment, ask=opens.person.permit if opens.person is not None else None
        )
        servers = await _served(stack, place, place.places.kept / "mcp")
        more = (*_web(stack, settled), *servers.tools)
        room = _Room(place=place, gate=gate, person=opens.person, printed=opens.printed, more=more, around=opens.around)
        spec = Spec(
            model=model,
            opening=opening,
            tools=room.tools,
            settings=settled.engine(),
            bounds=settled.bounds(),
            roots=gate.roots,
            guard=SecretGuard(),
            summarizer=writer,
            answer_tokens=settled.whole("answer_tokens") or 32_000,
            tell_memory=settled.flag("memory.tell"),
            session_memory=settled.flag("memory.session"),
            background=settled.flag("context.background"),
            overlays=servers.overlays,
            late_tools=servers.late,
            planning=lambda: gate.mode == "plan",
            open_todos=lambda: room.todos.open if room.todos is not None else (),
            retold=_skills_again,
            rewound=room.rewound,
            stop_guards=(gate.hooks.stop,) if gate.hooks.wants("stop") else (),
            before_compaction=gate.hooks.before_compaction,
            after_compaction=gate.hooks.after_compaction,
        )
        session = Session.start(spec) if opens.resume is None else Session.resume(spec, opens.resume)
        stack.push_async_callback(session.close)
        desk = Desk(session=session, gate=gate, chosen=chosen, place=place, mcp=servers.all, edge=edge, models=[model])
        stack.push_async_callback(_close_models, desk)
        stack.push_async_callback(room.close)
        yield desk


def unpriced(bounds: Bounds, profile: ModelProfile) -> tuple[str, ...]:
    """What a limit in dollars is worth where nobody knows a price."""
    if bounds.usd is None or profile.prices is not None:
        return ()
    return (
        f"limits.usd bounds nothing here, since the price of {profile.id!r} is not known; state price_input and "
        f'price_output under [models."{profile.id}"], or set limits.tokens',
    )


@record(kw_only=True)
class _Room:
    """Makes the tools of a session and of its subagents."""

    place: Place
    gate: Gate
    person: Person | None
    printed: Callable[[str], None] | None
    more: Sequence[Offered]
    around: Callable[[Offered], Offered] | None
    todos: Todos | None = None
    """The leader's, once it has its tools."""
    jobs: list[Jobs] = field(default_factory=list[Jobs])
    before: Mode = "ask"
    """The mode that holds when plan mode ends."""

    def tools(self, bench: Bench) -> Sequence[AgentTool]:
        """The tools, each behind the gate. The first ones that are made are the leader's."""
        places, person = self.place.places, self.person
        workspace = Workspace(
            cwd=places.cwd,
            roots=self.gate.roots,
            home=Path(self.place.environment.get("HOME") or "~").expanduser(),
            environment=self.place.environment,
            kept=bench.kept,
        )
        todos, jobs = Todos(bench.transcript()), Jobs(bench.kept)
        self.jobs.append(jobs)
        self.todos = self.todos or todos
        kit = Kit(
            workspace=workspace,
            places=places,
            seen=bench.seen,
            archive=bench.archive,
            todos=todos,
            view=bench.view,
            jobs=jobs,
            agents=bench.agents,
            planning=Planning(
                is_on=lambda: self.gate.mode == "plan",
                turn=self._plan,
                approve=person.approve if person is not None else None,
            ),
            ask=person.answer if person is not None else None,
            guard=SecretGuard(),
            clock=bench.clock,
            confine=self.gate.confine,
            printed=self.printed,
        )
        tools = standard(kit, self.more)
        return [gated(self.around(tool) if self.around is not None else tool, self.gate) for tool in tools]

    async def close(self) -> None:
        """End the commands that still run."""
        for jobs in self.jobs:
            await jobs.close()

    def rewound(self, left: Transcript) -> None:
        """The list of todos as a conversation has it that went back."""
        if self.todos is not None:
            self.todos.now = todos_in(left)

    def _plan(self, on: bool) -> None:
        """Plan mode, and back to the mode from before."""
        if on:
            self.before, self.gate.mode = self.gate.mode, "plan"
        else:
            self.gate.mode = self.before


def _skills_again(
    messages: Sequence[Message], tail: Sequence[Message], checkpoint: str, now: float | None
) -> Sequence[Message]:
    return skill.retold(messages, tail, checkpoint=checkpoint, time=now)


@value
class _Served:
    """What MCP servers bring; nothing where none is set."""

    all: Servers | None = None
    tools: Sequence[Offered] = ()

    def overlays(self) -> Mapping[str, str]:
        """What each says of itself."""
        return self.all.instructions if self.all is not None else {}

    def late(self) -> Sequence[Tool]:
        """The names of their tools."""
        return self.all.definitions if self.all is not None else ()


async def _served(stack: AsyncExitStack, place: Place, logs: Path) -> _Served:
    """Reach the servers that are set, in the background."""
    named = place.settled.named("mcp")
    if not named:
        return _Served()
    given = {name: decode_json(encode_json(cast("JsonObject", dict(table)))) for name, table in named.items()}
    servers = Servers(servers_of(given, place.environment, place.places.cwd), sdk(logs))
    await stack.enter_async_context(serving(servers))
    return _Served(all=servers, tools=mcp_tools(servers))


def _web(stack: AsyncExitStack, settled: Settled) -> tuple[Offered, ...]:
    """The tool that reads pages of the web, where it is turned on."""
    if not settled.flag("tools.web_fetch"):
        return ()
    web = the_web()
    stack.push_async_callback(web.client.aclose)
    return (web_fetch(web),)


async def _done(future: asyncio.Future[httpx.AsyncClient]) -> None:
    await asyncio.wait((future,))


async def _close_models(desk: Desk) -> None:
    for model in desk.models:
        await model.close()


def _now() -> float:
    # The edge is where the time comes from.
    return time.time()  # noqa: TID251
