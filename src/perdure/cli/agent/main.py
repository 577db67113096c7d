"""`perdure` and `perdure resume`: a session in this folder, on the screen or without one.

It knows options, and whether somebody sits in front of a terminal. It must never know what a session does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from perdure.cli.agent.headless import Task, work
from perdure.cli.agent.lines import talk
from perdure.cli.agent.place import Place, place_at
from perdure.kernel.errors import UserError
from perdure.project.settings import from_flags
from perdure.session import find_session

EPILOG = """\
examples:
  perdure                                        a session in this folder
  perdure -p "Why does the parser test fail?"    one task, then its answer
  git diff | perdure -p "Review this."           what is piped in comes behind the task
  perdure -p "Fix it." --output jsonl            an object for each event
  perdure resume                                 go on with the last session of this folder
"""

RESUME_EPILOG = """\
examples:
  perdure resume                         the last session of this folder
  perdure resume 20261201-09             the one whose id begins so
  perdure resume -p "Now the docs."      without a screen
  perdure resume --go-on                 go on where it was cut off, and say nothing new
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `perdure` itself."""
    _options(parser)
    parser.set_defaults(run=run, session=None, resumes=False, go_on=False)


# argparse gives the type of a group of subcommands no public name.
def add_resume(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `resume`."""
    parser = commands.add_parser(
        "resume",
        description="Goes on with a session: the next request is the one that it would have made.",
        epilog=RESUME_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("session", nargs="?", metavar="ID", help="the beginning of its id (default: the last one)")
    parser.add_argument("--go-on", action="store_true", help="go on where it was cut off, without a screen")
    _options(parser)
    parser.set_defaults(run=run, resumes=True)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--print", metavar="TASK", dest="task", help="do this without a screen; - reads it")
    parser.add_argument("--model", metavar="NAME", help="the model, such as claude-opus-5-5 or ollama/qwen3-coder")
    parser.add_argument("--mode", choices=("ask", "accept_edits", "plan", "full"), help="what needs no question")
    parser.add_argument("--output", choices=("text", "json", "jsonl"), default="text", help="with -p: its form")
    parser.add_argument("--quiet", action="store_true", help="with -p: only the answer")
    parser.add_argument("--plain", action="store_true", help="line by line, without a screen of its own")
    parser.add_argument("--trust", action="store_true", help="trust this folder for this call (see perdure trust)")
    parser.add_argument("--cwd", metavar="DIR", type=Path, default=Path(), help="work in this folder")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="pairs", help="any setting (perdure config)"
    )


def run(options: argparse.Namespace) -> int:
    """Open a session, on the screen or without one."""
    place = _place(options)
    path = find_session(place.places.kept / "sessions", options.session) if options.resumes else None
    text = _task(options)
    if text is not None or options.go_on:
        task = Task(text=text, output=options.output, resume=path, model=options.model, quiet=options.quiet)
        return asyncio.run(work(place, task))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError('there is no terminal; say what to do with -p: perdure -p "TASK"')
    return asyncio.run(talk(place, path, options.model))


def _place(options: argparse.Namespace) -> Place:
    pairs: dict[str, str | None] = {"permissions.mode": options.mode}
    for pair in options.pairs:
        name, sign, value = str(pair).partition("=")
        if not sign:
            raise UserError(f"--set takes KEY=VALUE, and {pair!r} has no value; `perdure config` lists the keys")
        pairs[name.strip()] = value.strip()
    return place_at(options.cwd, os.environ, from_flags(pairs), trusted=options.trust)


def _task(options: argparse.Namespace) -> str | None:
    """The task of `-p`, with what is piped in behind it."""
    given: str | None = options.task
    if given is None or options.go_on:
        return None
    if given != "-" and sys.stdin.isatty():
        piped = ""
    else:
        piped = sys.stdin.buffer.read().decode("utf-8", "replace").strip() if not sys.stdin.closed else ""
    text = piped if given == "-" else "\n\n".join(filter(None, (given.strip(), piped)))
    if not text:
        raise UserError('there is no task; give one with -p "TASK", or pipe it in')
    return text
