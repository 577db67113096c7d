"""`perdure sessions`, `show`, `export`, `fork` and `import`: sessions as files, without a model.

It knows where they are and how they are shown. It must never change a session that is there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from perdure.archive import carry_over, open_archive
from perdure.guard.plain import clip, one_line
from perdure.kernel.errors import DiskRefused, UserError
from perdure.kernel.messages import Json, encode_json
from perdure.lab.readers.read import read
from perdure.log import fork_log, read_log
from perdure.project import home_of, places_of
from perdure.session import find_session, new_id, path_of
from perdure.session.export import FORMS, export
from perdure.session.importing import import_transcript
from perdure.session.listing import Listed, list_sessions
from perdure.session.spec import wall_clock

WIDTH = 60
"""Characters of a title in a list."""


# argparse gives the type of a group of subcommands no public name.
def add_sessions(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `sessions`."""
    says = "Lists the sessions of this project, the newest first."
    parser = _made(commands, "sessions", says, "perdure sessions --json", _list)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-n", "--most", metavar="N", type=int, default=20, help="how many (default: 20; 0: all)")


# argparse gives the type of a group of subcommands no public name.
def add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `show`."""
    says = "Shows a session as text: every message with its id, also what has left the context."
    parser = _made(commands, "show", says, "perdure show 20261201-09 | less", _show)
    parser.add_argument("session", nargs="?", metavar="ID", help="the beginning of its id (default: the last one)")
    parser.add_argument("--at", metavar="MESSAGE", help="up to this message")


# argparse gives the type of a group of subcommands no public name.
def add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `export`."""
    says = "Writes a session as Markdown, JSON, or one HTML page. It holds all that was said: look before you share it."
    parser = _made(commands, "export", says, "perdure export --form html --out session.html", _export)
    parser.add_argument("session", nargs="?", metavar="ID", help="the beginning of its id (default: the last one)")
    parser.add_argument("--form", choices=FORMS, default="markdown")
    parser.add_argument("--out", metavar="FILE", type=Path, help="where to (default: standard output)")
    parser.add_argument("--at", metavar="MESSAGE", help="up to this message")


# argparse gives the type of a group of subcommands no public name.
def add_fork(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `fork`."""
    says = "Makes a session of its own from another one, up to a message. The other one stays as it is."
    parser = _made(commands, "fork", says, "perdure fork 20261201-09 --at m41", _fork)
    parser.add_argument("session", nargs="?", metavar="ID", help="the beginning of its id (default: the last one)")
    parser.add_argument("--at", metavar="MESSAGE", help="up to this message (default: all of it)")


# argparse gives the type of a group of subcommands no public name.
def add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `import`."""
    says = "Takes over a session of another agent (Claude Code, Codex, pi and others), to go on with it here."
    parser = _made(
        commands, "import", says, "perdure import ~/.claude/projects/x/1234.jsonl && perdure resume", _import
    )
    parser.add_argument("file", metavar="FILE", type=Path)


def _made(
    # argparse gives the type of a group of subcommands no public name.
    commands: argparse._SubParsersAction[argparse.ArgumentParser],  # pyright: ignore[reportPrivateUsage]
    name: str,
    says: str,
    example: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, description=says, epilog=f"example:\n  {example}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cwd", metavar="DIR", type=Path, default=Path(), help="a folder of the project")
    parser.set_defaults(run=run)
    return parser


def _folder(options: argparse.Namespace) -> Path:
    return places_of(options.cwd, home_of(os.environ)).kept / "sessions"


def _list(options: argparse.Namespace) -> int:
    rows = list_sessions(_folder(options))
    shown = rows[: options.most] if options.most > 0 else rows
    if options.json:
        values: list[Json] = [
            {
                "id": row.id,
                "title": row.title,
                "created": row.created,
                "last": row.last,
                "messages": row.messages,
                "model": row.model,
                "bytes": row.size,
                "path": str(row.path),
            }
            for row in shown
        ]
        sys.stdout.buffer.write(encode_json(values) + b"\n")
        return 0
    for row in shown:
        print(_line(row))
    if not rows:
        print("no session in this project yet; begin one with `perdure`", file=sys.stderr)
    elif len(rows) > len(shown):
        print(f"{len(rows) - len(shown):,} older ones: perdure sessions -n 0", file=sys.stderr)
    return 0


def _line(row: Listed) -> str:
    when = datetime.fromtimestamp(row.last).astimezone()
    title = clip(one_line(row.title), WIDTH)
    return f"{row.id}  {when:%Y-%m-%d %H:%M}  {row.messages:>5} messages  {title}"


def _show(options: argparse.Namespace) -> int:
    with read_log(find_session(_folder(options), options.session)) as log:
        text = export(log, "markdown", options.at)
    # What a model or a tool wrote must not steer the terminal that it is shown on.
    print("\n".join(one_line(line) for line in text.split("\n")))
    return 0


def _export(options: argparse.Namespace) -> int:
    with read_log(find_session(_folder(options), options.session)) as log:
        # Half a character, which a message may hold, has no bytes.
        data = export(log, options.form, options.at).encode(errors="replace")
    if options.out is None:
        sys.stdout.buffer.write(data + b"\n")
        return 0
    try:
        descriptor = os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise DiskRefused(f"{str(options.out)!r} cannot be written ({error.strerror})") from error
    print(options.out)
    return 0


def _fork(options: argparse.Namespace) -> int:
    folder = _folder(options)
    with read_log(find_session(folder, options.session)) as log:
        if options.at is not None:
            entry = log.entry_of(options.at)
            if entry is None:
                raise UserError(f"there is no message {options.at[:80]!r} in it; `perdure show` lists them")
            log.go_to(entry)
        name = new_id(wall_clock())
        with (
            fork_log(log, path_of(folder, name), name, wall_clock()) as made,
            open_archive(log) as before,
            open_archive(made) as after,
        ):
            carry_over(before, after)
    print(f"{name}\ngo on with: perdure resume {name}")
    return 0


def _import(options: argparse.Namespace) -> int:
    name = ""
    for recording in read(options.file):
        if not recording.transcript:
            continue
        title = f"from {recording.format}: {one_line(recording.file)}"
        path = import_transcript(
            _folder(options), recording.transcript[:], title=clip(title, 200), model=None, clock=wall_clock
        )
        name = path.name.removesuffix(".jsonl")
        print(f"{name}  {len(recording.transcript):,} messages  {title}")
    if not name:
        raise UserError(f"there is no conversation in {str(options.file)!r}")
    print(f"go on with: perdure resume {name}")
    return 0
