"""The grep tool: lines that match a regular expression, by ripgrep where it is there, else by a process of our own.

It knows both programs' one output. It must never match by itself: an expression may take for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.tools import grep_worker
from perdure.tools.actions import Action, Harmless, Offered, ReadPath
from perdure.tools.arguments import arguments, choice_in, number_in, text_in, truth_in
from perdure.tools.encoding import shown
from perdure.tools.failed import ToolFailed
from perdure.tools.glob import folder_in
from perdure.tools.ignore import pattern_of
from perdure.tools.permissions.paths import holds_credentials
from perdure.tools.walk import walk
from perdure.tools.workspace import Workspace

SECONDS = 30.0
"""That a search may take."""
BYTES = 4_000_000
"""Of output that are looked at."""
LINES = 300
"""Of one answer, unless the call says."""
LONG_LINE = 500
"""Characters of a line."""

GREP = Tool(
    name="grep",
    description=(
        "Searches files for a regular expression, line by line, without what git ignores. Modes: content (path:line:"
        "text), files (names alone), count (matching lines per file)."
    ),
    schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "file or folder"},
            "glob": {"type": "string", "description": "only such files, as *.py"},
            "mode": {"type": "string", "enum": ["content", "files", "count"]},
            "context": {"type": "integer", "description": "lines around each match"},
            "ignore_case": {"type": "boolean"},
            "limit": {"type": "integer", "description": f"lines of the answer, {LINES} unless given"},
        },
        "required": ["pattern"],
    },
)

_ROW = pattern(r"(?P<path>[^\0]*)\0(?P<line>\d+)(?P<kind>[:-])(?P<text>.*)", re.DOTALL)


@value
class Wanted:
    """What a call asks for."""

    pattern: str
    place: Path
    glob: str
    mode: str
    context: int
    ignore_case: bool
    limit: int


@value
class Hit:
    """A line that matches, or one beside it."""

    path: str
    line: int
    matches: bool
    text: str


def ripgrep_of(workspace: Workspace) -> str | None:
    """Where ripgrep is, or None."""
    return shutil.which("rg", path=workspace.environment.get("PATH"))


def offered(workspace: Workspace, ripgrep: str | None) -> Offered:
    """The tool for a session."""

    async def run(given: JsonObject) -> str:
        wanted = _wanted(given, workspace)
        if not wanted.place.exists():
            raise ToolFailed(f"There is nothing at {shown(str(wanted.place))!r}. Look with ls.")
        argv = _ripgrep(ripgrep, wanted) if ripgrep else _own(wanted)
        fed = b"" if ripgrep else await asyncio.to_thread(_paths, wanted)
        data, note = await _printed(argv, fed)
        hits, left_out = without_credentials(_hits(data), wanted.place)
        note = " ".join(filter(None, (note, _left_out(workspace, left_out))))
        return _told(workspace, wanted, hits, note)

    def actions(given: JsonObject) -> tuple[Action, ...]:
        try:
            return (ReadPath(path=_wanted(given, workspace).place),)
        except ToolFailed:
            return (Harmless(),)

    return Offered(tool=AgentTool(definition=GREP, run=run, beside=True), actions=actions)


def _ripgrep(program: str, wanted: Wanted) -> Sequence[str]:
    return (
        program, "--no-config", "--null", "--no-heading", "--with-filename", "--line-number", "--color=never",
        "--hidden", "--no-require-git", "--glob=!.git", "--sort=path", f"--context={wanted.context}",
        "--no-context-separator", *(["--ignore-case"] if wanted.ignore_case else []),
        *([f"--glob={wanted.glob}"] if wanted.glob else []), f"--regexp={wanted.pattern}", "--", str(wanted.place),
    )  # fmt: skip


def _own(wanted: Wanted) -> Sequence[str]:
    case = "i" if wanted.ignore_case else "-"
    return (sys.executable, "-I", "-S", grep_worker.__file__, wanted.pattern, case, str(wanted.context))


def _paths(wanted: Wanted) -> bytes:
    if wanted.place.is_file():
        return str(wanted.place).encode("utf-8", "surrogateescape")
    try:
        glob = pattern_of(wanted.glob or "**")
    except re.error as error:
        raise ToolFailed(f"The glob makes no sense: {error}.") from error
    names = (
        str(wanted.place / found.path)
        for found in walk(wanted.place)
        if not found.folder and not found.ignored and not found.entry.is_symlink() and glob.fullmatch(found.path)
    )
    return "\0".join(names).encode("utf-8", "surrogateescape")


async def _printed(argv: Sequence[str], fed: bytes) -> tuple[bytes, str]:
    """What a search prints, as much as is looked at, and what ended it early."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
    except (OSError, ValueError) as error:
        raise ToolFailed(f"The search could not be started: {error}.") from error
    data = bytearray()
    try:
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            said = group.create_task(_all(process.stderr))
            group.create_task(_feed(process.stdin, fed))
            while process.stdout and len(data) < BYTES and (piece := await process.stdout.read(65_536)):
                data += piece
            if len(data) >= BYTES:
                _kill(process)
        code = await process.wait()
    except TimeoutError:
        return bytes(data), f"The search took more than {SECONDS:.0f} s and was ended. Narrow it."
    finally:
        _kill(process)
        await process.wait()
    if code > 0 and not data and (wrong := said.result().decode("utf-8", "replace").strip()):
        raise ToolFailed(f"The search failed: {shown(wrong[-600:])}")
    return bytes(data), "There is more. Narrow the search." if code < 0 else ""


async def _all(stream: asyncio.StreamReader | None) -> bytes:
    return await stream.read() if stream is not None else b""


async def _feed(stream: asyncio.StreamWriter | None, fed: bytes) -> None:
    if stream is not None:
        with contextlib.suppress(ConnectionError):
            stream.write(fed)
            await stream.drain()
        stream.close()


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()


def _hits(data: bytes) -> list[Hit]:
    rows = (_ROW.fullmatch(row) for row in data.decode("utf-8", "surrogateescape").split("\n"))
    return [
        Hit(path=row["path"], line=int(row["line"]), matches=row["kind"] == ":", text=row["text"].rstrip("\r"))
        for row in rows
        if row
    ]


def without_credentials(hits: Sequence[Hit], place: Path) -> tuple[list[Hit], list[str]]:
    """The hits outside files that hold credentials, and which files have others. Who names such a place is asked for it
    and then sees it."""
    if holds_credentials(str(place)):
        return list(hits), []
    hidden = {hit.path for hit in hits if holds_credentials(os.path.relpath(hit.path, place))}
    return [hit for hit in hits if hit.path not in hidden], sorted(hidden)


def _left_out(workspace: Workspace, paths: Sequence[str]) -> str:
    if not paths:
        return ""
    names = ", ".join(shown(workspace.shown(Path(path))) for path in paths[:5])
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return f"Left out, since they may hold credentials: {names}{more}. Name such a file to search it."


def _told(workspace: Workspace, wanted: Wanted, hits: list[Hit], note: str) -> str:
    counts: dict[str, int] = {}
    for hit in hits:
        counts[hit.path] = counts.get(hit.path, 0) + hit.matches
    names = {path: shown(workspace.shown(Path(path))) for path in counts}
    if wanted.mode == "files":
        rows = list(names.values())
    elif wanted.mode == "count":
        rows = [f"{names[path]}:{number}" for path, number in counts.items()]
    else:
        rows = [
            f"{names[hit.path]}:{hit.line}{':' if hit.matches else '-'}{shown(hit.text[:LONG_LINE])}"
            + ("..." if len(hit.text) > LONG_LINE else "")
            for hit in hits
        ]
    if len(rows) > wanted.limit:
        note = f"{wanted.limit:,} of {len(rows):,} lines. Narrow the search, or use mode files or count. {note}"
    return "\n".join([*rows[: wanted.limit], *([f"[{note.strip()}]"] if note else [])]) or "[Nothing matches.]"


def _wanted(given: JsonObject, workspace: Workspace) -> Wanted:
    named = arguments(given, GREP)
    pattern, glob = text_in(named, "pattern"), text_in(named, "glob")
    if not pattern or "\0" in pattern + glob or "\n" in pattern:
        raise ToolFailed("Give a pattern, without NUL and line feeds: the search goes line by line.")
    return Wanted(
        pattern=pattern,
        place=folder_in(workspace, named),
        glob=glob,
        mode=choice_in(named, "mode", ("content", "files", "count")),
        context=number_in(named, "context", 0, least=0, most=20),
        ignore_case=truth_in(named, "ignore_case"),
        limit=number_in(named, "limit", LINES, least=1, most=2_000),
    )
