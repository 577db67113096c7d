"""The write tool: a whole file, new or in place of one that the model has seen.

It knows when a file may be written over. It must never write over what the model has not seen in full.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool
from perdure.tools.actions import Harmless, Offered, WritePath
from perdure.tools.arguments import arguments, text_in
from perdure.tools.diff import diff_of
from perdure.tools.disk import real, replace_file
from perdure.tools.edit import lines_of, read_present
from perdure.tools.encoding import UTF_8, line_end_of, shown
from perdure.tools.failed import ToolFailed
from perdure.tools.seen import Seen, digest_of
from perdure.tools.workspace import Workspace

WRITE = Tool(
    name="write",
    description=(
        "Writes a whole file; folders above it are made. A file that exists has to be read in full first; to change "
        "parts of one use edit."
    ),
    schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)


def offered(workspace: Workspace, seen: Seen) -> Offered:
    """The tool for a session."""

    async def run(given: JsonObject) -> str:
        return await asyncio.to_thread(write, workspace, seen, *_wanted(given, workspace))

    def actions(given: JsonObject) -> tuple[WritePath | Harmless, ...]:
        try:
            return (WritePath(path=_wanted(given, workspace)[0]),)
        except ToolFailed:
            return (Harmless(),)

    return Offered(tool=AgentTool(definition=WRITE, run=run), actions=actions)


def write(workspace: Workspace, seen: Seen, path: Path, content: str) -> str:
    """Write a file, and tell what changed.

    Raises:
        ToolFailed: it may not be written, or cannot be.
    """
    name, target = shown(workspace.shown(path)), real(path)
    if not os.path.lexists(target):
        data = UTF_8.encode(content)
        about = replace_file(target, data, None)
        seen.wrote(target, digest_of(data), mtime=about.st_mtime, lines=lines_of(content))
        return f"Wrote {name}, a new file of {lines_of(content):,} lines."
    present = read_present(target, seen, name)
    sight = seen.sight(target)
    if sight is not None and not sight.whole:
        spans = ", ".join(f"{first}-{last}" for first, last in sight.spans)
        raise ToolFailed(
            f"You have seen only lines {spans} of the {sight.lines:,} in {name!r}, and the others would be lost. "
            "Read the rest, or use edit."
        )
    text = content
    if line_end_of(present.text) == "\r\n" and "\r\n" not in content:
        text = content.replace("\n", "\r\n")
    data = present.encoding.encode(text)
    about = replace_file(target, data, present.about)
    seen.wrote(target, digest_of(data), mtime=about.st_mtime, lines=lines_of(text))
    return diff_of(present.text, text, name)


def _wanted(given: JsonObject, workspace: Workspace) -> tuple[Path, str]:
    named = arguments(given, WRITE)
    return workspace.resolve(text_in(named, "path")), text_in(named, "content")
