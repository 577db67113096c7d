"""`perdure memory check`: what is wrong with the memories of the user and of a project.

It knows options and how findings are printed. It must never change a memory.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from perdure.kernel.errors import UserError
from perdure.kernel.messages import JsonObject, encode_json
from perdure.memory.auto import Finding, check
from perdure.project import home_of, places_of

EPILOG = """\
kinds of findings:
  dead link         a link that leads nowhere, or out of the memory
  not in the index  a topic that no line of MEMORY.md links to
  duplicate         a line, a link or a name that stands twice
  secret            a key, token or password; neither this command nor its output shows it
  too long          more than is told at the start (200 lines, 25 KB) or recalled of a topic (4 KB)
  unreadable        a file that is binary, no file, or a link out of the memory

Exit code: 0 where nothing was found, 1 where something was.

examples:
  perdure memory check
  perdure memory check --project ../service --json
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "memory",
        help="look after what is remembered across sessions",
        description="Looks after what is remembered across sessions; in a session `/memory` shows where that is kept.",
        epilog="example:\n  perdure memory check",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    checking = actions.add_parser(
        "check",
        help="find dead links, duplicates, secrets and files that grew too long",
        description="Looks through the memories of the user and of a project. It changes nothing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    checking.add_argument(
        "--project", metavar="DIR", type=Path, default=Path(), help="a folder of the project (default: this one)"
    )
    checking.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    checking.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check both memories and print what was found."""
    if not options.project.is_dir():
        raise UserError(f"there is no folder {str(options.project)!r}; name one with --project")
    places = places_of(options.project, home_of(os.environ))
    found = [(folder, finding) for folder in (places.user_memory, places.memory) for finding in check(folder)]
    if options.json:
        print(encode_json({"findings": [_object(folder, finding) for folder, finding in found]}).decode())
    else:
        for line in _lines(found):
            print(line)
        looked = " and ".join(str(folder) for folder in (places.user_memory, places.memory))
        print(f"{len(found)} found in {looked}" if found else f"nothing found in {looked}")
    return 1 if found else 0


def _lines(found: list[tuple[Path, Finding]]) -> Iterator[str]:
    for folder, finding in found:
        where = f"{folder / finding.file}:{finding.line}" if finding.line else str(folder / finding.file)
        yield f"{where}: {finding.kind}: {finding.what}"


def _object(folder: Path, finding: Finding) -> JsonObject:
    return {
        "file": str(folder / finding.file),
        "line": finding.line or None,
        "kind": finding.kind,
        "what": finding.what,
    }
