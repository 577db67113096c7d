"""The entry point: subcommands, errors and exit codes.

It knows which subcommand is meant. It must never know what a subcommand does. Exit codes: 0 done, 1 done with findings,
2 called or fed wrongly, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from perdure import __version__
from perdure.cli import demo, gc, memory, recall, replay
from perdure.kernel.errors import PerdureError

DESCRIPTION = "Perdure keeps a coding agent's context cheap, valid and whole for as long as the work lasts."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except PerdureError as error:
        print(f"perdure: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("perdure: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perdure", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"perdure {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    replay.add(commands)
    demo.add(commands)
    memory.add(commands)
    recall.add(commands)
    gc.add(commands)
    return parser
