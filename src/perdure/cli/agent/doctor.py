"""`perdure doctor`: whether everything that a session needs is there, and the next step where it is not.

It knows what to look at. It must never show a key, and never change anything. A finding is `good`, `note` (works
without) or `bad` (a session will not start, or loses something).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import httpx

from perdure import __version__
from perdure.cli.agent.choice import KEYS, SERVERS, Chosen, choose
from perdure.cli.agent.opening import served
from perdure.cli.agent.place import Place, place_at
from perdure.guard.plain import one_line
from perdure.kernel.agent import Answered, Ask, Failure
from perdure.kernel.errors import InvalidSetting, PerdureError
from perdure.kernel.messages import Json, Message, Text, encode_json
from perdure.kernel.value import value
from perdure.memory.auto import check
from perdure.providers import LocalModel, find_local

State: TypeAlias = Literal["good", "note", "bad"]

LEAST_COLUMNS = 40
"""Columns below which the footer has no room for its numbers."""

LEAST_FREE = 200_000_000
"""Bytes free on the disk of the sessions; a long session takes some tens of millions."""

EPILOG = """\
Exit code: 0 where everything a session needs is there, 1 where something is missing.

examples:
  perdure doctor
  perdure doctor --call       also asks the model one short question, which may cost a fraction of a cent
  perdure doctor --json
"""


@value
class Finding:
    """One thing that was looked at."""

    what: str
    state: State
    says: str
    next: str = ""
    """What to do about it."""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the command."""
    parser = commands.add_parser(
        "doctor",
        description="Looks at keys, model, window, terminal, git and stores, and tells the next step.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", metavar="NAME", help="look at this model instead of the one that is set")
    parser.add_argument("--call", action="store_true", help="ask the model one short question")
    parser.add_argument("--cwd", metavar="DIR", type=Path, default=Path(), help="a folder of the project")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look, and tell."""
    found = asyncio.run(examine(options.cwd, os.environ, options.model, call=options.call))
    if options.json:
        rows: list[Json] = [{"what": one.what, "state": one.state, "says": one.says, "next": one.next} for one in found]
        print(encode_json(rows).decode())
    else:
        print(f"perdure {__version__}, Python {sys.version.partition(' ')[0]}\n")
        signs = {"good": "ok  ", "note": "note", "bad": "BAD "}
        for one in found:
            print(f"{signs[one.state]}  {one.what:<10}{one.says}")
            for line in one.next.splitlines():
                print(f"{'':<16}{line}")
    return int(any(one.state == "bad" for one in found))


async def examine(cwd: Path, environment: Mapping[str, str], model: str | None, *, call: bool) -> list[Finding]:
    """Everything that was looked at, in the order in which a session needs it."""
    try:
        place = place_at(cwd, environment)
    except InvalidSetting as error:
        return [Finding(what="settings", state="bad", says=str(error), next="correct the file, and try again")]
    async with httpx.AsyncClient() as client:
        local = await find_local(client)
    found = [*_settings(place), *_keys(environment), *_servers(local)]
    try:
        chosen = choose(place.settled, environment, local, model)
        if chosen.provider not in SERVERS:
            chosen = await served(chosen, place.settled)
    except PerdureError as error:
        found.append(Finding(what="model", state="bad", says="none can be asked", next=str(error)))
    else:
        found += _model(chosen)
        if call:
            found.append(await _called(chosen))
    return [*found, *_terminal(environment), *_programs(), *_stores(place)]


def _settings(place: Place) -> Iterator[Finding]:
    sources = {one.source for one in place.settled.settings} - {"default"}
    says = f"from {', '.join(sorted(sources))}" if sources else "all are the defaults"
    yield Finding(what="settings", state="good", says=says)
    for caution in place.cautions:
        yield Finding(what="settings", state="note", says=str(caution), next="perdure trust")


def _keys(environment: Mapping[str, str]) -> Iterator[Finding]:
    for provider, variable in KEYS.items():
        key = environment.get(variable, "")
        if not key:
            yield Finding(what="key", state="note", says=f"{variable} is not set", next=f"needed for {provider} alone")
        elif key != key.strip() or not key.isascii() or not key.isprintable():
            says = f"{variable} has spaces or characters that no key has"
            yield Finding(what="key", state="bad", says=says, next="export it again, without quotes inside")
        else:
            yield Finding(what="key", state="good", says=f"{variable} is set ({len(key)} characters)")


def _servers(local: tuple[LocalModel, ...]) -> Iterator[Finding]:
    if not local:
        yield Finding(what="local", state="note", says="no model server answers on this machine")
    for model in local:
        window = f"window {model.window:,} tokens" if model.window else "it does not tell its window"
        small = (
            f"it was trained for {model.trained:,}: load it with a larger window"
            if model.window and model.trained and model.window < min(model.trained, 16_000)
            else ""
        )
        says = f"{model.server}/{one_line(model.name)}, {window}"
        yield Finding(what="local", state="note" if small else "good", says=says, next=small)


def _model(chosen: Chosen) -> Iterator[Finding]:
    yield Finding(what="model", state="good", says=f"{one_line(chosen.name)} ({chosen.because})")
    window = chosen.profile.window.tokens
    if window is None:
        next_step = "perdure config set window N    without it the context is not kept inside of it"
        yield Finding(what="window", state="bad", says="nobody tells how large it is", next=next_step)
    elif window < 8_000:
        says = f"{window:,} tokens: tools and system alone may fill it"
        yield Finding(what="window", state="note", says=says, next="load the model with a larger one")
    else:
        yield Finding(what="window", state="good", says=f"{window:,} tokens")
    if chosen.profile.prices is None and chosen.provider not in SERVERS:
        step = (
            f'in the settings file (perdure config path): price_input and price_output under [models."{chosen.name}"]'
        )
        yield Finding(what="price", state="note", says="nobody publishes one, so no cost is shown", next=step)


async def _called(chosen: Chosen) -> Finding:
    model = chosen.connect()
    said = Message(id="m1", role="user", content=(Text(text="Answer with the word: ready"),), provenance="user")
    try:
        async for event in model.stream(Ask(messages=(said,), max_tokens=64)):
            if isinstance(event, Failure):
                return Finding(what="call", state="bad", says=f"{event.kind}: {one_line(event.message)}")
            if isinstance(event, Answered):
                return Finding(what="call", state="good", says="the model answered")
    finally:
        await model.close()
    return Finding(what="call", state="bad", says="no answer came")


def _terminal(environment: Mapping[str, str]) -> Iterator[Finding]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Finding(what="terminal", state="note", says="none; use perdure -p TASK")
        return
    size = shutil.get_terminal_size()
    name = environment.get("TERM", "")
    says = f"{name or 'unknown'}, {size.columns} x {size.lines}" + (", inside tmux" if "TMUX" in environment else "")
    if name in ("", "dumb"):
        yield Finding(what="terminal", state="note", says=says, next="plain lines are used; set TERM for the screen")
    elif size.columns < LEAST_COLUMNS:
        yield Finding(what="terminal", state="note", says=says, next=f"{LEAST_COLUMNS} columns show the whole footer")
    else:
        yield Finding(what="terminal", state="good", says=says)


def _programs() -> Iterator[Finding]:
    git = shutil.which("git")
    step = "" if git else "without it the model does not see the state of the repository"
    yield Finding(what="git", state="good" if git else "note", says=git or "not found", next=step)
    for name, what in (("rg", "the grep tool is slower without"), ("bwrap", "permissions.sandbox needs it")):
        found = shutil.which(name)
        yield Finding(what=name, state="good" if found else "note", says=found or f"not found; {what}")


def _stores(place: Place) -> Iterator[Finding]:
    home = place.places.home
    folder = next(one for one in (home, *home.parents) if one.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        step = f"chmod u+rwx {folder}, or name another folder in PERDURE_HOME"
        yield Finding(what="store", state="bad", says=f"{folder} cannot be written", next=step)
    elif (free := shutil.disk_usage(folder).free) < LEAST_FREE:
        step = "make room, or see what `perdure gc` frees"
        yield Finding(what="store", state="bad", says=f"{free // 1_000_000:,} MB are free on its disk", next=step)
    else:
        yield Finding(what="store", state="good", says=f"{home}, {free // 1_000_000_000:,} GB free")
    findings = [one for at in (place.places.user_memory, place.places.memory) for one in check(at)]
    step = "perdure memory check" if findings else ""
    says = f"{len(findings)} findings" if findings else "nothing is wrong with it"
    yield Finding(what="memory", state="note" if findings else "good", says=says, next=step)
