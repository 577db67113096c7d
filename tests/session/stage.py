"""A session in front of a double, with one tool and a clock that the requests move: the same run gives the same bytes.

It knows how a session is wired. It must never know what a test asks of it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import httpx

from perdure.kernel.agent import AgentTool, Ask, Model, ModelEvent
from perdure.kernel.agent.setup import RECALL
from perdure.kernel.context import Settings
from perdure.kernel.messages import JsonObject, Request, Tool
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.wire import Codec
from perdure.project import Opening
from perdure.providers import ChatApi, Edge, HttpModel, anthropic, chat, openai
from perdure.providers.edge import new_client
from perdure.session import Bench, Session, Spec
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Say, Turn, serve
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.record import Received
from perdure.testing.doubles.shape import Body, as_text

Dialect: TypeAlias = Literal["anthropic", "responses", "chat"]

NOW = 1_790_000_000.0
NEAR = "http://double"
"""The double's address within the process, where no socket is needed."""
STEP = 7.0
"""Seconds from request to request."""

LOOK = Tool(
    name="look",
    description="Shows a part of the register.",
    schema={"type": "object", "properties": {"part": {"type": "integer"}}, "required": ["part"]},
)
SUMMARY = (
    "<summary>\n## Goal\n- The register is read part by part.\n## Progress\n### In progress\n- The next part.\n"
    "## Next steps\n- Read the next part.\n</summary>"
)


NOTES = (
    "## Current state\n- Reading part by part.\n## Task specification\n- Read the register.\n## Files and functions\n"
    "## Workflow\n## Errors and corrections\n## Learnings\n## Worklog\n"
)
"""Begins what a model writes as session memory."""


def is_aside(body: Body) -> bool:
    """Whether a request is the harness' own, for a summary or for the session memory, and none of the conversation."""
    return "[Harness request." in as_text(body.get("messages") or body.get("input"))


def shown(given: JsonObject) -> str:
    """What the tool gives: a part of a register that nobody keeps, the same each time."""
    part = given.get("part")
    number = part if isinstance(part, int) else 0
    rows = [f"row {number}.{row}: {(number * 7_919 + row * 104_729) % 99_991:05d} crates" for row in range(60)]
    return "\n".join(rows)


@dataclass(slots=True)
class Reader:
    """A model that looks at `rounds` parts and then says so; told otherwise, it writes a summary."""

    rounds: int = 8
    calls: int = 0
    fails: bool = False
    """Whether it writes no summary."""
    notes: int = 0
    """How often it wrote session memory."""

    def __call__(self, body: Body) -> Turn:
        if is_aside(body):
            if "You keep the working notes" in as_text(body.get("messages") or body.get("input")):
                self.notes += 1
                return Turn(parts=(Say(text=f"{NOTES}- Notes number {self.notes}.\n"),))
            return Turn(parts=(Say(text="" if self.fails else SUMMARY),))
        self.calls += 1
        if self.calls % (self.rounds + 1) == 0:
            return Turn(parts=(Say(text=f"Read up to part {self.calls}."),))
        return Turn(parts=(Say(text=f"Part {self.calls} next."), Call(name="look", arguments={"part": self.calls})))


class Stage:
    """A project, a home, and a double."""

    def __init__(
        self, top: Path, dialect: Dialect = "anthropic", window: int = 16_000, *, memory: bool = False
    ) -> None:
        self.dialect: Dialect = dialect
        self.window = window
        self.memory = memory
        """Whether session memory is kept."""
        self.project, self.home = top / "project", top / "home"
        self.project.mkdir(parents=True, exist_ok=True)
        self.reader = Reader()
        self.settings = Settings()
        self.later = 0.0
        """Seconds that pauses of the user's add to the clock."""
        self.double = self._double()

    def narrowed(self, tokens: int) -> Stage:
        """The same before a provider whose window is smaller than the model is said to have."""
        name = "claude-sonnet-4-5"
        narrow = {name: replace(MODELS[name], window=tokens, stops_at_window=False)}
        self.double = AnthropicDouble(self.reader, clock=self.clock, models=narrow)
        return self

    def died(self, top: Path) -> Stage:
        """What a process that is killed now leaves behind, for another one to go on with."""
        left = Stage(top, self.dialect, self.window, memory=self.memory)
        shutil.copytree(self.home, left.home)
        left.project, left.reader, left.double = self.project, self.reader, self.double
        return left

    def _double(self) -> AnthropicDouble | OpenAIDouble:
        kind = AnthropicDouble if self.dialect == "anthropic" else OpenAIDouble
        return kind(self.reader, clock=self.clock)

    @property
    def received(self) -> Sequence[Received]:
        """Every request so far."""
        return self.double.received

    def clock(self) -> float:
        """Unix seconds: a request takes `STEP`."""
        received = self.double.received if hasattr(self, "double") else ()
        return NOW + self.later + STEP * len(received)

    def again(self) -> None:
        """Everything as it was at the beginning."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.reader, self.later = Reader(), 0.0
        self.renew()

    def renew(self) -> None:
        """A provider that knows of nothing, for the reader as it is."""
        del self.double
        self.double = self._double()

    @property
    def talk(self) -> list[Received]:
        """The requests of the conversation so far."""
        return [one for one in self.received if not is_aside(one.body)]

    def serve(self) -> AbstractContextManager[str]:
        """The double's address; it answers in this process."""
        return nullcontext(NEAR)

    def listen(self) -> AbstractContextManager[str]:
        """The double's address, for other processes as well."""
        return serve(self.double)

    def model(self, url: str = NEAR) -> HttpModel:
        """The model of the dialect, with the small window."""
        near = url == NEAR
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.double)) if near else new_client()
        edge = Edge(client=client, clock=self.clock, sleep=_at_once)
        match self.dialect:
            case "anthropic":
                profile = lookup("claude-sonnet-4-5")
            case "responses":
                profile = lookup("gpt-5")
            case "chat":
                profile = lookup("gpt-4.1")
        profile = replace(profile, window=replace(profile.window, tokens=self.window))
        if self.dialect == "anthropic":
            return anthropic(profile, api_key="k", url=url, edge=edge)
        if self.dialect == "responses":
            return openai(profile, api_key="k", url=f"{url}/v1", edge=edge)
        api = ChatApi(limit="max_completion_tokens", cache_key=True)
        return chat(profile, api_key="k", url=f"{url}/v1", api=api, edge=edge)

    def spec(self, model: Model, tools: Callable[[Bench], Sequence[AgentTool]] | None = None) -> Spec:
        """What a session is made of."""
        opening = Opening.read(self.project, {"PERDURE_HOME": str(self.home), "PATH": "/usr/bin:/bin"}, self.clock())
        return Spec(
            model=model,
            opening=opening,
            tools=tools or reading,
            settings=self.settings,
            session_memory=self.memory,
            answer_tokens=2_000,
            clock=self.clock,
        )


async def _at_once(_seconds: float) -> None:
    """A pause that takes no time."""


@dataclass(slots=True)
class Held:
    """A model whose answers wait until they are let go: what happens meanwhile is up to the test."""

    model: HttpModel
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once something was asked."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    fails: bool = False
    """Whether it then says nothing."""

    @property
    def profile(self) -> ModelProfile:
        """See `perdure.kernel.agent.Model`, as for the rest."""
        return self.model.profile

    @property
    def codec(self) -> Codec:
        return self.model.codec

    def now(self) -> float | None:
        return self.model.now()

    def request(self, ask: Ask) -> Request:
        return self.model.request(ask)

    async def stream(self, ask: Ask) -> AsyncGenerator[ModelEvent, None]:
        self.asked.set()
        await self.go.wait()
        if not self.fails:
            async for event in self.model.stream(ask):
                yield event


def reading(bench: Bench) -> Sequence[AgentTool]:
    """The register, and what left the view."""

    def recalled(given: JsonObject) -> str:
        return str(bench.archive.recall(str(given.get("handle"))))

    return (
        AgentTool(definition=LOOK, run=shown, beside=True),
        AgentTool(definition=RECALL, run=recalled, beside=True),
    )


async def closed(session: Session) -> Path:
    """Close a session; its log."""
    await session.close()
    return session.path
