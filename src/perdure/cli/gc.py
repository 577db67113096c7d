"""`perdure gc`: makes room in archives, by age and size, and only when it is called.

It knows options and units. It must never touch a log: what a log holds stays recallable.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path

from perdure.archive import collect, doomed, folder_of, open_archive, weigh_blobs
from perdure.kernel.errors import UserError
from perdure.log import read_log

DESCRIPTION = """\
Makes room in the archives of sessions: removes originals that lie beside the log, the oldest first. Nothing that the
log itself holds is removed, and nothing is ever removed unless this command is called. A handle whose original was
removed says so from then on.
"""

EPILOG = """\
examples:
  perdure gc ~/sessions --older-than 30d --dry-run
  perdure gc session.jsonl --larger-than 500M
"""

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SPANS = {"h": 3_600, "d": 86_400, "w": 604_800}


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "gc",
        help="make room in the archives of sessions",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("places", metavar="PLACE", nargs="+", type=Path, help="a session, or a folder of them")
    parser.add_argument("--older-than", metavar="AGE", help="remove what left a view longer ago: 36h, 30d, 8w")
    parser.add_argument("--larger-than", metavar="SIZE", help="keep at most so much of each session: 500M, 2G")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Collect, print what was removed, and give the exit code."""
    if options.older_than is None and options.larger_than is None:
        raise UserError("say what may go: --older-than, --larger-than, or both")
    # The command line is the edge: here the clock is read.
    now = time.time()  # noqa: TID251
    before = now - _span(options.older_than) if options.older_than is not None else None
    most = _size(options.larger_than) if options.larger_than is not None else None
    for path in _sessions(options.places):
        with read_log(path) as log, open_archive(log) as archive:
            if options.dry_run:
                count, whole = len(doomed(archive, before, most)), weigh_blobs(archive)
                print(f"{path}: would remove {count} originals, of {whole:,} bytes in blobs")
            else:
                done = collect(archive, now, before, most)
                print(f"{path}: removed {done.originals} originals, {done.bytes:,} bytes; {done.left:,} bytes are left")
    return 0


def _sessions(places: list[Path]) -> Iterator[Path]:
    """The logs that have an archive."""
    for place in places:
        logs = sorted(place.rglob("*.jsonl")) if place.is_dir() else [place]
        yield from (log for log in logs if not place.is_dir() or folder_of(log).is_dir())


def _span(given: str) -> float:
    found = re.fullmatch(r"(\d{1,9})([hdw])", given.lower())
    if found is None:
        raise UserError(f"an age is a number of hours, days or weeks, such as 36h, 30d or 8w, not {given!r}")
    return int(found[1]) * _SPANS[found[2]]


def _size(given: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([kmg]?)b?", given.lower())
    if found is None:
        raise UserError(f"a size is a number of bytes, such as 500M or 2G, not {given!r}")
    return int(found[1]) * _UNITS[found[2]]
