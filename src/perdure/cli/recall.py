"""`perdure recall`: what left the views of a session, by handle, by the id of a message, or by words.

It knows options and where to print. It must never change a session: the log is only read.
"""

from __future__ import annotations

import argparse
import os
import sys
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from perdure.archive import Archive, Recalled, lines_matching, open_archive
from perdure.kernel.errors import DiskRefused, InvalidJson, UserError
from perdure.kernel.messages import JsonObject, encode_json
from perdure.kernel.messages.persist import block_to_json, message_to_json
from perdure.log import SessionLog, read_log
from perdure.project import home_of, places_of
from perdure.tools.recall import hits, lines_of, listing

DESCRIPTION = """\
Recalls what left the views of a session: old tool results, arguments, trimmed text, folded messages. A handle, or the
id of a message, gives the whole of it as it was; without one, the originals are listed, the newest first.
"""

EPILOG = """\
examples:
  perdure recall 20261201-09
  perdure recall session.jsonl h0123456789
  perdure recall session.jsonl h0123456789 --lines 120-180
  perdure recall session.jsonl m17 --pattern 'error*timeout'
  perdure recall session.jsonl --words "retry limit"
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "recall",
        help="recall what left the views of a session",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "session", metavar="SESSION", type=Path, help="the log of a session (JSONL), or the beginning of its id"
    )
    parser.add_argument("handle", metavar="HANDLE", nargs="?", default="", help="a handle, or the id of a message")
    parser.add_argument("--lines", metavar="A-B", help="only these lines of it")
    parser.add_argument("--pattern", metavar="TEXT", help="only its lines with this text; * for any characters")
    parser.add_argument("--words", metavar="WORDS", help="search everything that left for these words")
    parser.add_argument("--json", action="store_true", help="print the original itself, as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for, and give the exit code."""
    if options.handle and options.words:
        raise UserError("give a handle or --words, not both")
    with TemporaryDirectory(prefix="perdure-") as scratch, read_log(_log_of(options.session)) as log:
        for damage in log.damage:
            print(f"perdure: line {damage.line} of the log is damaged: {damage.reason}", file=sys.stderr)
        with _opened(log, Path(scratch)) as archive:
            sys.stdout.buffer.write(_asked(archive, options))
    return 0


def _log_of(named: Path) -> Path:
    """The log that is meant: a file, or the beginning of the id of a session of this project."""
    if named.exists() or len(named.parts) != 1:
        return named
    folder = places_of(Path(), home_of(os.environ)).kept / "sessions"
    # Square brackets and their like mean themselves in a name.
    found = sorted(folder.glob(f"{escape(named.name)}*.jsonl"))
    if len(found) > 1:
        raise UserError(
            f"{named.name!r} fits {len(found)} sessions; `perdure sessions` lists them, give more of the id"
        )
    return found[0] if found else named


def _opened(log: SessionLog, scratch: Path) -> Archive:
    """The archive; where it cannot be used, as on a read-only disk, an index made of the log for this once."""
    try:
        return open_archive(log)
    except DiskRefused as error:
        print(f"perdure: {error}. Only what the log holds can be recalled.", file=sys.stderr)
        return open_archive(log, scratch / "archive")


def _asked(archive: Archive, options: argparse.Namespace) -> bytes:
    if options.handle:
        found = archive.recall(options.handle)
        if options.json:
            return encode_json(_as_json(found)) + b"\n"
        return _bytes_of(_part(found, options.lines, options.pattern))
    if options.words:
        return _bytes_of(hits(archive, options.words) + "\n")
    count = archive.count()
    return _bytes_of(listing(archive.newest(0, count), 0, count) + "\n")


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _part(found: Recalled, lines: str | None, pattern: str | None) -> str:
    """All of it as it was, or the lines that were asked for."""
    if pattern:
        return "".join(f"{line.number}: {line.text}\n" for line in lines_matching(found.text, pattern))
    if not lines:
        return found.text
    try:
        first, last = lines_of(lines)
    except InvalidJson as error:
        raise UserError(str(error)) from error
    return "\n".join(found.text.split("\n")[first - 1 : last]) + "\n"


def _as_json(found: Recalled) -> JsonObject:
    return {
        "handle": found.handle,
        "message_id": found.message_id,
        "what": found.what,
        "tokens": found.tokens,
        "time": found.time,
        "content": [block_to_json(block) for block in found.content],
        "messages": [message_to_json(message) for message in found.messages],
    }
