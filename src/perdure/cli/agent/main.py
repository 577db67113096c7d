"""`perdure` and `perdure resume`: a session in this folder, on the screen or without one.

It knows what the options mean, and whether somebody sits in front of a terminal. It must never know what a session
does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from importlib import import_module
from types import ModuleType

from perdure.cli.agent.place import Place, flags_of, place_at
from perdure.kernel.errors import UserError
from perdure.session import find_session


def run(options: argparse.Namespace) -> int:
    """Open a session, on the screen or without one."""
    place = _place(options)
    path = find_session(place.places.kept / "sessions", options.session) if options.resumes else None
    text = _task(options)
    if text is not None or options.go_on:
        headless = _loaded("headless")
        task = headless.Task(text=text, output=options.output, resume=path, model=options.model, quiet=options.quiet)
        return asyncio.run(headless.work(place, task))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError('there is no terminal; say what to do with -p: perdure -p "TASK"')
    if options.plain or os.environ.get("TERM", "") in ("", "dumb"):
        return asyncio.run(_loaded("lines").talk(place, path, options.model))
    return asyncio.run(_loaded("shown").show(place, path, options.model))


def _loaded(name: str) -> ModuleType:
    """One of the ways to show a session. A screen loads what one without does not need, and both take their time."""
    return import_module(f"perdure.cli.agent.{name}")


def _place(options: argparse.Namespace) -> Place:
    return place_at(options.cwd, os.environ, flags_of(options.mode, options.pairs), trusted=options.trust)


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
