"""`perdure demo`: the real agent at work on a real task, with a scripted model behind a strict double of a provider.

It knows what to show. It must never show a figure that the run did not give, nor make the agent a special case: what
runs is `perdure` itself, in a process of its own, which only knows that a provider answers at an address.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from pathlib import Path

from perdure.cli.agent.opening import chosen_for
from perdure.cli.agent.place import place_at
from perdure.cli.demo.stage import Stage, play
from perdure.cli.demo.told import told
from perdure.cli.demo.verdict import Verdict, judge
from perdure.kernel.errors import UserError

__all__ = ["Verdict", "add", "run"]

LEAST = 16_000
"""Tokens of the smallest window."""

INTRODUCTION = """\
Perdure works through a project of 36 modules with a mistake in each. A scripted model answers, behind a strict double
of the Messages API on this machine; it takes every path, handle and value that it uses out of the request that it gets.
The window has only {window:,} tokens; one request is refused as too long, and the process is killed once.
Nothing leaves this machine. Everything is in {folder}
"""

EPILOG = """\
Exit code: 0 where the work is right and nothing was lost, 1 otherwise.

examples:
  perdure demo
  perdure demo --keep         leave the project, the session and its log for a look
  perdure demo --window 16000
  perdure demo --live         a model of yours (a key, or a server on this machine) writes the summaries
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        description="Shows the agent at work for a few hundred calls in a small window.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--window", metavar="N", type=int, default=24_000, help="tokens of the window (default: 24000)")
    parser.add_argument(
        "--html", metavar="OUT", type=Path, default=Path("perdure-demo.html"), help="where the page goes"
    )
    parser.add_argument("--keep", action="store_true", help="leave the folder of the demo")
    parser.add_argument("--live", action="store_true", help="have a model that is set up write the summaries")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play, judge and tell."""
    if options.window < LEAST:
        raise UserError(f"a window of {options.window} tokens is too small for the agent's own tools; give {LEAST}")
    folder = Path(tempfile.mkdtemp(prefix="perdure-demo-"))
    stage = Stage(folder=folder, window=options.window, summarizer=_own_model() if options.live else None)
    if not options.json:
        print(INTRODUCTION.format(window=options.window, folder=folder))
    played = play(stage)
    verdict = judge(stage, played)
    told(verdict, played, options.html, as_json=options.json)
    if not options.keep:
        stage.remove()
    return 0 if verdict.is_right else 1


def _own_model() -> str:
    """The model that is set up here, by the name under which the agent finds it again.

    Raises:
        NoModel: there is none.
    """
    chosen = asyncio.run(chosen_for(place_at(Path(), os.environ), None))
    return f"{chosen.provider}/{chosen.name}"
