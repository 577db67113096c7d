"""The entry point: commands, errors and exit codes.

It knows which command is meant and where it lives. It must never know what a command does. Exit codes: 0 done, 1 done
with findings, 2 called or fed wrongly, 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

from perdure import __version__
from perdure.cli.later import load_later
from perdure.kernel.errors import PerdureError, UserError

DESCRIPTION = """\
Perdure is a coding agent that keeps its context cheap, valid and whole for as long as the work lasts.
Without a command it opens a session in this folder; with -p it does one task and ends."""


Runner: TypeAlias = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Command:
    """A command, before anything of it is loaded: each brings libraries that the others do not need."""

    module: str
    says: str
    extra: str = ""
    """The extra of the package that has what it needs beyond the standard library."""
    add: str = "add"
    """The function of the module that adds it."""


COMMANDS: Mapping[str, Command] = {
    "resume": Command("perdure.cli.agent.options", "go on with a session", "agent", "add_resume"),
    "sessions": Command("perdure.cli.agent.sessions", "list the sessions of this project", "agent", "add_sessions"),
    "show": Command("perdure.cli.agent.sessions", "show a session as text", "agent", "add_show"),
    "export": Command("perdure.cli.agent.sessions", "write a session as Markdown, JSON or HTML", "agent", "add_export"),
    "fork": Command("perdure.cli.agent.sessions", "make a session from a part of another", "agent", "add_fork"),
    "import": Command("perdure.cli.agent.sessions", "take over a session of another agent", "agent", "add_import"),
    "demo": Command("perdure.cli.demo", "see Perdure at work; no key, no network", "agent,testing"),
    "doctor": Command("perdure.cli.agent.doctor", "whether everything is there, and the next step", "agent"),
    "config": Command("perdure.cli.agent.config", "show and change settings", "agent"),
    "trust": Command("perdure.cli.agent.config", "let a project's settings run programs", "agent", "add_trust"),
    "memory": Command("perdure.cli.memory", "look after what is remembered across sessions"),
    "recall": Command("perdure.cli.recall", "bring back what left a session's context"),
    "gc": Command("perdure.cli.gc", "free what no session needs any more"),
    "acp": Command("perdure.cli.acp", "the agent inside an editor (Agent Client Protocol)", "acp"),
    "serve": Command("perdure.cli.serve", "context management for any client, in front of any model", "gateway"),
    "keys": Command("perdure.cli.keys", "who may call the gateway, and for what", "gateway"),
    "replay": Command("perdure.cli.replay", "recorded sessions under a policy: what they cost, what would leave"),
    "lab": Command("perdure.cli.lab", "choose a policy and settings on your own sessions"),
}
"""In the order of `--help`."""

DEFAULT = Command("perdure.cli.agent.options", "", "agent")
"""What runs where no command is named."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    load_later()
    try:
        with _nothing_to_collect():
            options = _parsed(given)
            run = _runner(options.run)
        return int(run(options))
    except PerdureError as error:
        print(f"perdure: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has gone. What is buffered still has to go somewhere, or the interpreter complains at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("perdure: interrupted", file=sys.stderr)
        return 130


@contextmanager
def _nothing_to_collect() -> Generator[None]:
    """Loading makes what stays until the end. To look for garbage in it again and again takes a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _parsed(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="perdure", description=DESCRIPTION, epilog=_list(), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"perdure {__version__}")
    name = given[0] if given else ""
    if name in COMMANDS:
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        _load(name, COMMANDS[name], commands)
        return parser.parse_args(given)
    if name and not name.startswith("-"):
        raise UserError(f"there is no command {name!r}; `perdure --help` lists them, and a task is given with -p TASK")
    _load("perdure", DEFAULT, parser)
    return parser.parse_args(given)


def _list() -> str:
    lines = [f"  {name:<10}{command.says}" for name, command in COMMANDS.items()]
    return "\n".join(["commands (each has --help):", *lines])


def _load(name: str, command: Command, parser: object) -> None:
    """Load a command's module and have it add its options."""
    getattr(_module(command.module, name, command.extra), command.add)(parser)


def _runner(run: Runner | str) -> Runner:
    """What carries out a command: a function, or where one is, as `module:function`."""
    if not isinstance(run, str):
        return run
    module, _, function = run.partition(":")
    found: Runner = getattr(_module(module, "perdure", "agent"), function)
    return found


def _module(module: str, name: str, extra: str) -> ModuleType:
    """A module by its name, and only the one that is meant: together they take longer to load than most take to run.

    Raises:
        SystemExit: a library is missing that it needs; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "perdure":
            raise
        wanted = f"perdure[{extra}]" if extra else "perdure"
        print(f"perdure: `{name}` needs {error.name}, which is not installed; pip install '{wanted}'", file=sys.stderr)
        raise SystemExit(2) from error
