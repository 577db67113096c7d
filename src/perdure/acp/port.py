"""What the server asks of whoever opens sessions for it.

It knows shapes. It must never know how a session is opened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from perdure.kernel.agent import AgentEnd
from perdure.kernel.messages import JsonObject
from perdure.session import Listed, Session, SessionEvent
from perdure.tools import ask_user
from perdure.tools.actions import Offered
from perdure.tools.permissions import Answer, Mode, Question
from perdure.tools.plan import Proposal, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a command says."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """What a command has said to the model."""

    text: str


Outcome: TypeAlias = Told | Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command that an editor offers."""

    name: str
    says: str
    takes: str = ""
    """What may follow its name; empty where nothing does."""


class Person(Protocol):
    """Whoever sits in front of the editor."""

    async def permit(self, question: Question) -> Answer:
        """Whether something may be done."""
        ...

    async def answer(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """What the model wants to know."""
        ...

    async def approve(self, proposal: Proposal) -> Verdict:
        """Whether a plan is agreed to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """A session that an editor wants to have open."""

    cwd: Path
    resume: str | None = None
    """The id of one to go on with; None: a new one."""
    roots: tuple[str, ...] = ()
    """Further folders that may be worked in."""
    servers: Mapping[str, JsonObject]
    """MCP servers of the editor's by name, as settings name them."""
    person: Person
    printed: Callable[[str], None]
    """Hears what a command prints while it runs."""
    around: Callable[[Offered], Offered]
    """Puts the editor's buffers around a tool; what it makes stands behind the permissions."""


class Desk(Protocol):
    """An open session and what can be turned while it is open."""

    @property
    def session(self) -> Session:
        """The session."""
        ...

    @property
    def mode(self) -> Mode:
        """What is done without a question."""
        ...

    @property
    def model(self) -> str:
        """What the endpoint calls the model that answers."""
        ...

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the user should know of settings and approvals."""
        ...

    def turn(self, mode: Mode) -> None:
        """Change the mode."""
        ...

    def hear(self, event: SessionEvent) -> None:
        """Hears everything that happens, for what commands tell later."""
        ...

    def use_model(self, wanted: str) -> Awaitable[str]:
        """Let another model answer."""
        ...

    def rest(self) -> Awaitable[None]:
        """What is done while nothing happens, such as keeping the provider's cache; cancelled when it goes on."""
        ...

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be reached."""
        ...

    def commands(self) -> Sequence[Command]:
        """The commands there are."""
        ...

    def carry_out(self, typed: str) -> Awaitable[Outcome]:
        """Do what a line says that begins with a slash.

        Raises:
            PerdureError: it cannot be done; the message says why.
        """
        ...


class House(Protocol):
    """Where sessions are."""

    def open(self, wants: Wants) -> AbstractAsyncContextManager[Desk]:
        """A session, open while the block lasts.

        Raises:
            PerdureError: it cannot be opened.
        """
        ...

    def check(self) -> Awaitable[None]:
        """Whether a model can be reached.

        Raises:
            NoModel: none; the message says what is enough.
        """
        ...

    def hint_of(self, end: AgentEnd) -> str:
        """The next step where a run failed; empty where there is none to tell."""
        ...

    def fork(self, cwd: Path, session: str) -> str:
        """A session of its own with the conversation of another one: its id.

        Raises:
            PerdureError: there is no such session, or it cannot be made.
        """
        ...

    def sessions(self, cwd: Path) -> Sequence[Listed]:
        """The sessions of a project, the one that was written last first."""
        ...
