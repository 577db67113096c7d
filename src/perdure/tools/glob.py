"""The glob tool (files by the form of their names) and the ls tool (a tree of a folder).

It knows how both are told. It must never read a file.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool
from perdure.tools.actions import Action, Harmless, Offered, ReadPath
from perdure.tools.arguments import arguments, number_in, text_in
from perdure.tools.disk import existing_folder
from perdure.tools.encoding import shown
from perdure.tools.failed import ToolFailed
from perdure.tools.ignore import pattern_of
from perdure.tools.walk import walk
from perdure.tools.workspace import Workspace

FILES = 200
"""Files of one answer of glob."""
ENTRIES = 500
"""Entries of one answer of ls."""

GLOB = Tool(
    name="glob",
    description=(
        "Finds files by name, the latest changed first, without what git ignores. *.py finds in any folder, "
        "src/**/*.{js,ts} only there."
    ),
    schema={
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string", "description": "folder to search"}},
        "required": ["pattern"],
    },
)

LS = Tool(
    name="ls",
    description="Shows the tree of a folder.",
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "depth": {"type": "integer", "description": "levels, 2 unless given"},
        },
    },
)


def offered(workspace: Workspace) -> Offered:
    """The glob tool for a session."""

    def answer(given: JsonObject) -> str:
        named = arguments(given, GLOB)
        return find(workspace, folder_in(workspace, named), text_in(named, "pattern"))

    return _offered(workspace, GLOB, answer)


def offered_ls(workspace: Workspace) -> Offered:
    """The ls tool for a session."""

    def answer(given: JsonObject) -> str:
        named = arguments(given, LS)
        return tree(workspace, folder_in(workspace, named), number_in(named, "depth", 2, least=1, most=10))

    return _offered(workspace, LS, answer)


def find(workspace: Workspace, folder: Path, glob: str) -> str:
    """The files whose names have this form.

    Raises:
        ToolFailed: there is no such folder, or the pattern makes no sense.
    """
    existing_folder(folder)
    try:
        pattern = pattern_of(glob.removeprefix(f"{folder}/"))
    except re.error as error:
        raise ToolFailed(f"The pattern makes no sense: {error}.") from error
    rows = [found for found in walk(folder) if not found.folder and not found.ignored and pattern.fullmatch(found.path)]
    rows.sort(key=lambda found: (-found.mtime, found.path))
    told = [shown(workspace.shown(folder / found.path)) for found in rows[:FILES]]
    more = [f"[The latest {FILES} of {len(rows):,}. Narrow the pattern.]"] if len(rows) > FILES else []
    return "\n".join([*told, *more]) or "[No file has such a name.]"


def tree(workspace: Workspace, folder: Path, depth: int) -> str:
    """The tree of a folder.

    Raises:
        ToolFailed: there is none.
    """
    existing_folder(folder)
    rows: list[str] = []
    for found in walk(folder, depth):
        if len(rows) == ENTRIES:
            rows.append(f"[The first {ENTRIES} entries. List a folder below.]")
            break
        name, level = found.entry.name, found.path.count("/")
        mark = "/" if found.folder else f" -> {Path(found.entry.path).readlink()}" if found.entry.is_symlink() else ""
        rows.append(shown(f"{'  ' * level}{name}{mark}{' (ignored)' if found.ignored else ''}"))
    return "\n".join([f"{shown(workspace.shown(folder))}/", *(f"  {row}" for row in rows)]) if rows else "[Empty.]"


def folder_in(workspace: Workspace, named: JsonObject) -> Path:
    """The folder that a call names; the working directory where it names none."""
    return workspace.resolve(text_in(named, "path")) if named.get("path") else workspace.cwd


def _offered(workspace: Workspace, tool: Tool, answer: Callable[[JsonObject], str]) -> Offered:
    async def run(given: JsonObject) -> str:
        return await asyncio.to_thread(answer, given)

    def actions(given: JsonObject) -> tuple[Action, ...]:
        try:
            return (ReadPath(path=folder_in(workspace, arguments(given, tool))),)
        except ToolFailed:
            return (Harmless(),)

    return Offered(tool=AgentTool(definition=tool, run=run, beside=True), actions=actions)
