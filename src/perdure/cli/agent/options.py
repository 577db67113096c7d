"""The options of `perdure` and `perdure resume`.

It knows options. It must never load what a session needs: `--help` and a wrong option are answered at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

RUN = "perdure.cli.agent.main:run"
"""What carries the options out, loaded once they are known to be right."""

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
    parser.set_defaults(run=RUN, session=None, resumes=False, go_on=False)


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
    parser.set_defaults(run=RUN, resumes=True)


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
