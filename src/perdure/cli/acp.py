"""`perdure acp`: Perdure inside an editor that speaks the Agent Client Protocol.

It knows options, and how a session of this command line becomes one of an editor's. It must never write to standard
output: that is the protocol's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from perdure.acp import Command, Say, Told, Wants, serve
from perdure.acp.port import Desk as EditorDesk
from perdure.archive import carry_over, open_archive
from perdure.cli.agent.choice import KEYS
from perdure.cli.agent.hints import hint_of
from perdure.cli.agent.opening import Desk, Opens, chosen_for, opened
from perdure.cli.agent.place import Place, flags_of, place_at
from perdure.kernel.agent import AgentEnd
from perdure.kernel.errors import UserError
from perdure.kernel.models.lookup import PROFILES
from perdure.log import fork_log, read_log
from perdure.project import home_of, places_of
from perdure.project.settings import Layer
from perdure.session import Listed, Session, SessionEvent, find_session, list_sessions, new_id, path_of
from perdure.session.spec import wall_clock
from perdure.terminal import slash
from perdure.terminal.blocks import Look
from perdure.terminal.feed import Feed
from perdure.tools.permissions import Mode

EPILOG = """\
examples:
  perdure acp                          what an editor starts; it speaks through standard input and output
  perdure acp --model claude-opus-5-5 --mode accept_edits

Zed, in settings.json:
  "agent_servers": {"Perdure": {"type": "custom", "command": "perdure", "args": ["acp"]}}
docs/acp.md has other editors, and what is supported."""

LEFT_OUT = frozenset({"copy", "help", "output", "resume", "fork", "clear", "quit", "rewind", "theme"})
"""Commands that an editor has of its own, or that need a terminal. What a command says may not depend on a screen."""

COLUMNS = 100
"""Characters of a line of what commands say."""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "acp",
        help="Perdure inside an editor that speaks the Agent Client Protocol",
        description="An agent for editors that speak the Agent Client Protocol, such as Zed, JetBrains and Neovim.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", metavar="NAME", help="the model, such as claude-opus-5-5 or ollama/qwen3-coder")
    parser.add_argument("--mode", choices=slash.MODES, help="what needs no question when a session begins")
    parser.add_argument("--trust", action="store_true", help="trust the editor's folders (see perdure trust)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="pairs", help="any setting (perdure config)"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    flags = flags_of(options.mode, options.pairs)
    house = Rooms(environment=os.environ, flags=flags, model=options.model, trust=options.trust)
    asyncio.run(serve(house))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """Where sessions are. `perdure.acp.House`."""

    environment: Mapping[str, str]
    flags: Layer
    model: str | None = None
    trust: bool = False

    @asynccontextmanager
    async def open(self, wants: Wants) -> AsyncGenerator[EditorDesk]:
        """See `House`."""
        place = self._place(wants)
        path = _log_of(place.places.kept / "sessions", wants.resume) if wants.resume is not None else None
        opens = Opens(person=wants.person, resume=path, model=self.model, printed=wants.printed, around=wants.around)
        async with opened(place, opens) as desk:
            yield Table(desk)

    async def check(self) -> None:
        """See `House`."""
        await chosen_for(place_at(Path.cwd(), self.environment, self.flags, trusted=self.trust), self.model)

    def hint_of(self, end: AgentEnd) -> str:
        """See `House`."""
        return hint_of(end)

    def fork(self, cwd: Path, session: str) -> str:
        """See `House`."""
        folder = self._folder(cwd)
        name = new_id(wall_clock())
        with (
            read_log(_log_of(folder, session)) as log,
            fork_log(log, path_of(folder, name), name, wall_clock()) as made,
            open_archive(log) as before,
            open_archive(made) as after,
        ):
            carry_over(before, after)
        return name

    def sessions(self, cwd: Path) -> Sequence[Listed]:
        """See `House`."""
        return list_sessions(self._folder(cwd))

    def _folder(self, cwd: Path) -> Path:
        return places_of(cwd, home_of(self.environment)).kept / "sessions"

    def _place(self, wants: Wants) -> Place:
        """The folder's settings, with the editor's folders and servers beside the user's own."""
        place = place_at(wants.cwd, self.environment, self.flags, trusted=self.trust)
        if not wants.roots and not wants.servers:
            return place
        added = {
            "permissions.roots": (*place.settled.texts("permissions.roots"), *wants.roots),
            "mcp": {**place.settled.named("mcp"), **wants.servers},
        }
        layer = Layer(source="the editor", values={**self.flags.values, **added})
        return place_at(wants.cwd, self.environment, layer, trusted=self.trust)


class Table:
    """An open session, as an editor turns it. `perdure.acp.Desk`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._feed = Feed(_print_nothing, lambda: Look(columns=COLUMNS, colour=False))
        self._room = slash.Room(desk=desk, feed=self._feed, clock=wall_clock)

    @property
    def session(self) -> Session:
        """See `Desk`."""
        return self._desk.session

    @property
    def mode(self) -> Mode:
        """See `Desk`."""
        return self._desk.mode

    @property
    def model(self) -> str:
        """See `Desk`."""
        return self._desk.chosen.name

    @property
    def cautions(self) -> tuple[str, ...]:
        """See `Desk`."""
        return self._desk.cautions

    def turn(self, mode: Mode) -> None:
        """See `Desk`."""
        self._desk.turn(mode)

    def hear(self, event: SessionEvent) -> None:
        """See `Desk`."""
        self._feed.hear(event)

    def use_model(self, wanted: str) -> Awaitable[str]:
        """See `Desk`."""
        return self._desk.use_model(wanted)

    def rest(self) -> Awaitable[None]:
        """See `Desk`."""
        return self._desk.rest()

    def models(self) -> tuple[str, ...]:
        """See `Desk`. Those of providers whose key is there, and those that the user declared."""
        place = self._desk.place
        there = {provider for provider, variable in KEYS.items() if place.environment.get(variable)}
        return (
            *place.settled.named("models"),
            *(profile.id for profile in reversed(PROFILES) if profile.dialect in there and profile.prices is not None),
        )

    def commands(self) -> tuple[Command, ...]:
        """See `Desk`."""
        return tuple(_commands(self._desk))

    async def carry_out(self, typed: str) -> Told | Say:
        """See `Desk`."""
        name = typed[1:].split(maxsplit=1)[0]
        if name in LEFT_OUT:
            raise UserError(f"/{name} belongs to the terminal")
        match await slash.carry_out(self._room, typed):
            case slash.Say(text=text):
                return Say(text=text)
            case slash.Told(lines=lines):
                return Told(text="\n".join(lines))
            case slash.Edit(path=path):
                return Told(text=f"Open {path}")
            case _:
                raise UserError(f"/{name} belongs to the terminal")


def _commands(desk: Desk) -> Iterator[Command]:
    for name, says in slash.names(desk.folders.commands):
        if name not in LEFT_OUT:
            known = slash.COMMANDS.get(name)
            yield Command(name=name, says=says, takes=known.takes if known is not None else "what it is given")


def _log_of(folder: Path, session: str) -> Path:
    """The log of a session by its whole id: a part of one would open another one.

    Raises:
        UserError: there is none.
    """
    path = path_of(folder, session)
    return path if path.is_file() else find_session(folder, session)


def _print_nothing(_text: str) -> None:
    """The editor shows it."""
