"""Calls of tools as an editor shows them: title, kind, places, diffs.

It knows the tools' arguments. It must never touch a file: what is shown comes from the call and its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from acp.helpers import image_block, text_block, tool_content, tool_diff_content
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolKind,
)

from perdure.guard.plain import clip, one_line
from perdure.kernel.messages import Image, Json, JsonObject, ToolResult, ToolUse, readable

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

TITLE = 120
"""Characters of a title."""
SHOWN = 16_000
"""Characters of a result that are shown; all of it is in the session."""

KINDS: Mapping[str, ToolKind] = {
    "read": "read",
    "write": "edit",
    "edit": "edit",
    "bash": "execute",
    "job": "execute",
    "glob": "search",
    "grep": "search",
    "ls": "search",
    "todo": "think",
    "recall": "read",
    "skill": "read",
    "enter_plan_mode": "switch_mode",
    "exit_plan_mode": "switch_mode",
    "subagent": "think",
    "web_fetch": "fetch",
    "memory": "other",
}

_HUNK = re.compile(r"^@@ ", re.MULTILINE)
_TICKS = re.compile(r"`{3,}")


def started(call: ToolUse, cwd: Path, name: str | None = None) -> ToolCallStart:
    """A call that begins. `name` is its id for the editor, where that is not the call's own."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=name or call.id,
        title=title_of(call),
        kind=kind_of(call.name),
        status="in_progress",
        content=list(planned(call, cwd)) or None,
        locations=list(_places(call, cwd)) or None,
        raw_input=call.input,
    )


def ended(call: ToolUse, result: ToolResult, cwd: Path, name: str | None = None) -> ToolCallProgress:
    """A call that ended."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=name or call.id,
        status="failed" if result.is_error else "completed",
        content=list(_found(call, result, cwd)),
    )


def cut_off(name: str) -> ToolCallProgress:
    """A call that was interrupted. What was shown of it stays."""
    return ToolCallProgress(session_update="tool_call_update", tool_call_id=name, status="failed")


def printing(name: str, text: str) -> ToolCallProgress:
    """What a command has printed so far."""
    content = [tool_content(text_block(fenced(text, "")))]
    return ToolCallProgress(session_update="tool_call_update", tool_call_id=name, content=list(content))


def planned(call: ToolUse, cwd: Path) -> Iterator[Content]:
    """What a call says that it will do to a file."""
    path = _path(call.input.get("path"), cwd)
    if call.name == "write" and path is not None:
        content = call.input.get("content")
        if isinstance(content, str):
            yield tool_diff_content(str(path), content)
    elif call.name == "edit" and path is not None:
        for old, new in _edits(call.input):
            yield tool_diff_content(str(path), new, old)


def kind_of(tool: str) -> ToolKind:
    """What sort of work a tool does."""
    return KINDS.get(tool, "other")


def title_of(call: ToolUse) -> str:
    """A call, in a line: its name and what it is about."""
    given = next((value for value in call.input.values() if isinstance(value, str) and value.strip()), "")
    if call.name == "bash":
        return clip(one_line(given), TITLE) or "bash"
    return clip(f"{one_line(call.name)} {one_line(given)}".rstrip(), TITLE)


def fenced(text: str, language: str) -> str:
    """Text as it is, inside of Markdown: the fence is longer than any in it."""
    fence = "`" * max((len(found) + 1 for found in _TICKS.findall(text)), default=3)
    return f"{fence}{language}\n{text}\n{fence}"


def _found(call: ToolUse, result: ToolResult, cwd: Path) -> Iterator[Content]:
    """What came of a call. Content takes the place of what was shown before."""
    text = result.content if isinstance(result.content, str) else readable(result.content or ())
    if call.name in ("write", "edit") and not result.is_error:
        if call.name == "write" and _HUNK.search(text):
            # It took the place of an older file, and only the result says what that was.
            yield tool_content(text_block(fenced(clip(text, SHOWN), "diff")))
        else:
            yield from planned(call, cwd)
        return
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}\n[...]\n{text[-SHOWN // 2 :]}"
    if shown.strip():
        yield tool_content(text_block(fenced(shown, "")))
    for block in result.content if isinstance(result.content, tuple) else ():
        if isinstance(block, Image) and block.source.get("type") == "base64":
            yield tool_content(image_block(str(block.source.get("data")), str(block.source.get("media_type"))))


def _edits(given: JsonObject) -> Iterator[tuple[str, str]]:
    edits = given.get("edits")
    for edit in edits if isinstance(edits, list) else [given]:
        if isinstance(edit, dict):
            old, new = edit.get("old_string"), edit.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                yield old, new


def _places(call: ToolUse, cwd: Path) -> Iterator[ToolCallLocation]:
    path = _path(call.input.get("path"), cwd)
    if path is not None:
        line = call.input.get("offset") if call.name == "read" else None
        yield ToolCallLocation(path=str(path), line=line if isinstance(line, int) and line > 0 else None)


def _path(given: Json, cwd: Path) -> Path | None:
    """An absolute path, as the protocol wants it; None where the model gave none."""
    return cwd / given if isinstance(given, str) and given.strip() and "\0" not in given else None
