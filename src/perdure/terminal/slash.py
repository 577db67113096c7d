"""The commands of the screen: what each is called, what it does, and the user's own.

It knows sessions and texts. It must never draw. A command gives lines to print, a text to say to the model, or where
to go.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import TypeAlias

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import read_file
from perdure.kernel.agent import CompactionEnd
from perdure.kernel.errors import UserError
from perdure.kernel.messages import text_of
from perdure.kernel.pattern import pattern
from perdure.kernel.prompt import head_of
from perdure.kernel.value import record, value
from perdure.memory.auto import check
from perdure.project import find_skills, places_of
from perdure.project.settings.keys import THEMES
from perdure.session import SessionEvent, find_session
from perdure.session.export import Form, export
from perdure.session.listing import list_sessions
from perdure.terminal import reports
from perdure.terminal.feed import Feed
from perdure.terminal.port import Desk, Leave

INIT = """\
Look through this repository and write an AGENTS.md at its root for coding agents: what it is, how it is built, \
tested and linted (exact commands), its layout, the conventions that its code keeps, and what is easy to get wrong. \
Only what you have seen; under 60 lines. If there is one already, improve it."""

COMMAND_SIZE = 64_000
"""Bytes of a user's own command."""

ENDINGS: tuple[tuple[Form, str], ...] = (("markdown", "md"), ("json", "json"), ("html", "html"))

_FENCED = pattern(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)

MODES = ("ask", "accept_edits", "plan", "full")


@value
class Told:
    """Lines to print."""

    lines: tuple[str, ...]


@value
class Say:
    """A text to say to the model."""

    text: str


@value
class Edit:
    """A file to open in the user's editor."""

    path: Path


@value
class Copy:
    """A text for the clipboard."""

    text: str
    what: str


@value
class Paint:
    """Other colours."""

    theme: str


Outcome: TypeAlias = Told | Say | Edit | Copy | Paint | Leave
Made: TypeAlias = "Outcome | Iterable[str] | str | None"
"""What a command gives; texts are shorthand for `Told`."""

Handler: TypeAlias = Callable[["Room", str], "Made | Awaitable[Made]"]


@value
class Room:
    """What commands work on."""

    desk: Desk
    feed: Feed
    clock: Callable[[], float]


@record(frozen=True)
class Command:
    """One command."""

    says: str
    run: Handler
    takes: str = ""


async def carry_out(room: Room, typed: str) -> Outcome:
    """Do what a line says that begins with a slash.

    Raises:
        PerdureError: it cannot be done; the message says why.
    """
    name, _, rest = typed[1:].partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        own = user_command(room.desk.folders.commands, name, rest.strip())
        if own is None:
            raise UserError(f"there is no command /{clip(one_line(name), 40)}; /help lists them")
        return Say(text=own)
    made = command.run(room, rest.strip())
    result = await made if isawaitable(made) else made
    if isinstance(result, Told | Say | Edit | Copy | Paint | Leave):
        return result
    lines = (result,) if isinstance(result, str) else tuple(result or ())
    return Told(lines=lines)


def names(folders: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Every command with its meaning, the user's own behind the others."""
    yield from ((name, command.says) for name, command in COMMANDS.items())
    seen = set(COMMANDS)
    for folder in folders:
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            if path.stem not in seen:
                seen.add(path.stem)
                yield path.stem, "your own"


def user_command(folders: Iterable[Path], name: str, rest: str) -> str | None:
    """The text of a user's own command; `$ARGUMENTS` stands for what follows its name. None where there is none."""
    if not re.fullmatch(r"[\w.-]{1,60}", name):
        return None
    for folder in folders:
        reading = read_file(folder / f"{name}.md", limit=COMMAND_SIZE, within=folder)
        if reading is not None and reading.caution is None:
            text = reading.text
            if text.startswith("---\n") and head_of(text):
                text = text.split("\n---", 1)[-1].lstrip("-\n")
            return text.replace("$ARGUMENTS", rest) if "$ARGUMENTS" in text else f"{text.rstrip()}\n\n{rest}".rstrip()
    return None


def _help(room: Room, _rest: str) -> Iterator[str]:
    for name, command in COMMANDS.items():
        yield f"  /{name} {command.takes}".ljust(33) + command.says
    for name, _ in names(room.desk.folders.commands):
        if name not in COMMANDS:
            yield f"  /{name}".ljust(33) + "your own command"
    yield "  Enter sends, Alt+Enter or a \\ at the end begins a new line, Esc interrupts, Ctrl+D leaves"
    yield "  @path completes a file; what you type while the agent works waits until it is done (Up takes it back)"


async def _compact(room: Room, rest: str) -> str | None:
    session = room.desk.session
    if session.is_running:
        await session.compact(rest)
        return "it will be folded as soon as the agent is done with this"

    def listen(event: SessionEvent) -> None:
        # That nothing changed is told below, once.
        if not isinstance(event, CompactionEnd) or event.changed:
            room.feed.hear(event)

    room.feed.doing = "folding the history"
    try:
        projection = await session.compact(rest, listen)
    finally:
        room.feed.doing = ""
    return None if projection is not None and projection.changed else "nothing could be folded"


async def _expand(room: Room, rest: str) -> str:
    result = await room.desk.session.expand(rest or None)
    return f"it is back: the context has {result.tokens_after:,} tokens"


def _pin(room: Room, rest: str) -> str:
    if not rest:
        return "\n".join(room.desk.session.pins) or "nothing is pinned; /pin TEXT pins it"
    room.desk.session.pin(rest)
    return "pinned: every checkpoint carries it first"


def _unpin(room: Room, rest: str) -> str:
    return "it is not pinned any more" if room.desk.session.unpin(rest) else "that is not pinned; /pin lists what is"


def _recall(room: Room, rest: str) -> Iterator[str]:
    if not rest:
        yield from reports.losses(room.desk.session)
        return
    found = room.desk.session.recall(rest.split(maxsplit=1)[0])
    yield f"{one_line(found.what)} ({found.tokens:,} tokens)"
    yield found.text


async def _model(room: Room, rest: str) -> str:
    if not rest:
        return f"{room.desk.session.model.profile.id}; /model NAME changes it"
    return await room.desk.use_model(rest)


def _mode(room: Room, rest: str) -> str:
    mode = rest.replace("-", "_").replace(" ", "_")
    for known in MODES:
        if known == mode:
            room.desk.turn(known)
            return f"mode: {known.replace('_', ' ')}"
    return f"mode: {room.desk.mode}; one of {', '.join(MODES)}"


def _plan(room: Room, _rest: str) -> str:
    turned = "ask" if room.desk.mode == "plan" else "plan"
    room.desk.turn(turned)
    return "plan mode: it looks, changes nothing, and ends with a plan" if turned == "plan" else "plan mode is over"


def _memory(room: Room, rest: str) -> Outcome | Iterable[str]:
    folders = room.desk.folders.memories
    if rest == "edit":
        return Edit(path=folders[-1] / "MEMORY.md")
    if rest == "check":
        found = [
            f"  {finding.file}:{finding.line} {finding.kind}: {finding.what}"
            for folder in folders
            for finding in check(folder)
        ]
        return found or ["nothing is wrong with it"]
    lines: list[str] = []
    for folder in folders:
        lines.append(f"{folder}:")
        reading = read_file(folder / "MEMORY.md", limit=25_000)
        lines.append(reading.text.rstrip() if reading is not None else "  (empty)")
    return [*lines, "/memory edit opens the project's, /memory check looks for dead links and secrets"]


def _skills(room: Room, _rest: str) -> Iterable[str]:
    found = find_skills(places_of(room.desk.folders.cwd, room.desk.folders.kept.parent.parent)).skills
    return [f"  {one_line(skill.name):<24} {clip(one_line(skill.what), 80)}" for skill in found] or ["there are none"]


def _agents(room: Room, _rest: str) -> Iterable[str]:
    logs = sorted((room.desk.session.folder / "agents").glob("*.jsonl"))
    rows = list_sessions(room.desk.session.folder / "agents") if logs else ()
    told = {row.id: f"{row.messages:>5} messages  {clip(one_line(row.title), 50)}" for row in rows}
    return [f"  {told.get(path.stem, '')}  {path}" for path in logs] or ["there are none"]


def _sessions(room: Room, _rest: str) -> Iterable[str]:
    own = room.desk.session.id
    rows = list_sessions(room.desk.session.path.parent)[:20]
    told = [
        f"{'*' if row.id == own else ' '} {row.id}  {row.messages:>5} messages  {clip(one_line(row.title), 60)}"
        for row in rows
    ]
    return [*told, "* is this one; /resume ID goes on with another"]


def _resume(room: Room, rest: str) -> Outcome | Iterable[str]:
    if not rest:
        return _sessions(room, rest)
    found = find_session(room.desk.session.path.parent, rest)
    return Told(lines=("this is that session",)) if found == room.desk.session.path else Leave(to=found)


def _fork(room: Room, rest: str) -> Leave:
    return Leave(to=room.desk.session.fork(rest or None))


def _rewind(room: Room, rest: str) -> str:
    if not rest:
        typed = [message for message in room.desk.session.transcript if message.is_typed]
        rows = [f"  {message.id:<6} {clip(one_line(text_of(message.content)), 70)}" for message in typed[-10:]]
        return "\n".join(["/rewind MESSAGE goes back to it; you typed:", *rows])
    room.desk.session.rewind(rest)
    return f"it goes on from {rest}; what came after stays in the log"


def _rename(room: Room, rest: str) -> str:
    room.desk.session.rename(rest)
    return f"it is called {one_line(rest)}" if rest else "it has no name any more"


def _export(room: Room, rest: str) -> str:
    wanted = rest or "markdown"
    for form, ending in ENDINGS:
        if form == wanted:
            return _written(room, form, ending)
    raise UserError(f"there is no form {rest!r}; one of {', '.join(form for form, _ in ENDINGS)}")


def _written(room: Room, form: Form, ending: str) -> str:
    path = room.desk.folders.cwd / f"perdure-{room.desk.session.id}.{ending}"
    path.touch(mode=0o600)
    path.write_text(export(room.desk.session.log, form), encoding="utf-8")
    return str(path)


def _output(room: Room, rest: str) -> str:
    number = int(rest) if rest.isdecimal() and int(rest) > 0 else 1
    if number > len(room.feed.results):
        return "there is no such result"
    return text_of(room.feed.results[-number].content) or "it has no text"


def _copy(room: Room, rest: str) -> Copy:
    answers = [text_of(message.content) for message in room.desk.session.transcript if message.role == "assistant"]
    newest = next((text for text in reversed(answers) if text.strip()), "")
    match rest:
        case "":
            text = newest
        case "code":
            text = next((found[2] for found in reversed([*_FENCED.finditer(newest)])), "")
        case "output":
            text = text_of(room.feed.results[-1].content) if room.feed.results else ""
        case _:
            raise UserError(f"{rest!r} is none of code and output; /copy alone takes the last answer")
    if not text:
        raise UserError("there is nothing of that to copy yet")
    return Copy(text=text, what={"code": "the last block of code", "output": "the last result"}.get(rest, "the answer"))


def _theme(_room: Room, rest: str) -> Outcome:
    if rest not in THEMES:
        return Told(lines=(f"/theme {'|'.join(THEMES)}; perdure config set screen.theme NAME keeps it",))
    return Paint(theme=rest)


COMMANDS: Mapping[str, Command] = {
    "help": Command("this list", _help),
    "context": Command("what fills the window", lambda room, _: reports.context(room.desk.session, room.clock())),
    "why": Command("the newest edit: why, its price, what left", lambda room, _: reports.why(room.desk.session)),
    "loss": Command("everything that left, with handles", lambda room, _: reports.losses(room.desk.session)),
    "expand": Command("take the newest edit back", _expand, "[EDIT]"),
    "recall": Command("show what left", _recall, "HANDLE"),
    "compact": Command("fold the history now", _compact, "[what to keep]"),
    "pin": Command("what every checkpoint carries first", _pin, "[TEXT]"),
    "unpin": Command("let a pin go", _unpin, "TEXT"),
    "output": Command("all of the last result", _output, "[NUMBER]"),
    "copy": Command("the last answer into the clipboard", _copy, "[code|output]"),
    "theme": Command("other colours", _theme, f"[{'|'.join(THEMES)}]"),
    "cost": Command("what it cost, and saved", lambda room, _: reports.cost(room.desk.session, room.clock())),
    "cache": Command(
        "hits, breaks and their causes",
        lambda room, _: reports.cache(room.desk.session, room.feed.breaks, room.clock()),
    ),
    "memory": Command("what is remembered across sessions", _memory, "[edit|check]"),
    "model": Command("let another model answer", _model, "[NAME]"),
    "mode": Command("what needs no question", _mode, "[MODE]"),
    "plan": Command("plan mode on or off", _plan),
    "skills": Command("the skills there are", _skills),
    "mcp": Command("how the MCP servers stand", lambda room, _: room.desk.servers() or ("there are none",)),
    "agents": Command("the subagents, and where each one's log is", _agents),
    "sessions": Command("the sessions of this project", _sessions),
    "resume": Command("go on with another one", _resume, "[ID]"),
    "fork": Command("a session of its own from here, or a message", _fork, "[MESSAGE]"),
    "rewind": Command("go back to a message", _rewind, "[MESSAGE]"),
    "rename": Command("name this session", _rename, "TITLE"),
    "export": Command("write it to a file", _export, "[markdown|json|html]"),
    "init": Command("have AGENTS.md written", lambda _room, _rest: Say(text=INIT)),
    "clear": Command("begin a new session", lambda _room, _rest: Leave(to="new")),
    "quit": Command("leave; it can be resumed", lambda _room, _rest: Leave()),
}
