"""`perdure lab cache`: what broke the prompt cache of recorded sessions, and what would have prevented it.

It knows options and files. It must never compute a figure: the lab does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

from perdure.cli.elsewhere import FILES, here, listed
from perdure.guard.plain import one_line
from perdure.kernel.errors import PerdureError
from perdure.kernel.messages import encode_json
from perdure.lab.doctor import doctor_rows, doctor_text, incidents
from perdure.lab.readers import read
from perdure.lab.recording import Recording

DESCRIPTION = """\
Says for every break of the prompt cache in recorded sessions what broke it, what it cost, and what would have
prevented it. Exit code: 0 where nothing broke, 1 where something did.
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser("cache", help="what broke the cache of recorded sessions", description=DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    parser.add_argument("--model", metavar="M", help="price as this model (default: the session's own)")
    parser.add_argument("--json", action="store_true", help="print every break as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find the breaks and print them; 1 where there are any."""
    troubles: list[str] = []
    found = list(incidents(_recordings(options.files, troubles), options.model))
    for trouble in troubles:
        print(f"perdure: {trouble}", file=sys.stderr)
    if options.json:
        sys.stdout.buffer.write(encode_json([*doctor_rows(found)]) + b"\n")
    else:
        print(doctor_text(found), end="")
    return 2 if troubles else int(bool(found))


def _recordings(names: list[str], troubles: list[str]) -> Iterator[Recording]:
    for place in listed(names):
        try:
            with here(place) as path:
                for recording in read(path):
                    yield replace(recording, file=one_line(recording.file))
        except PerdureError as error:
            troubles.append(str(error))
