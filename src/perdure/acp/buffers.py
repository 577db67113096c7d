"""What the editor holds and has not saved: told with what `read` finds, and saved before a file is changed.

It knows three tools and two questions to an editor. It must never ask about a file that permissions have not let
through: what is made here runs behind the gate, on the path that the gate has judged. Files are written by the tools
alone, whole or not at all, and an editor takes up what changed on disk.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from perdure.guard.plain import clip
from perdure.kernel.agent import Result
from perdure.kernel.messages import JsonObject, Text
from perdure.tools.actions import Offered, ReadPath, WritePath
from perdure.tools.disk import opened
from perdure.tools.failed import ToolFailed

LARGEST = 1_000_000
"""Bytes of a file whose buffer is asked for."""
SHOWN = 12_000
"""Characters of a difference that are told."""


class Editor(Protocol):
    """The editor's buffers."""

    @property
    def reads(self) -> bool:
        """Whether it tells what its buffers hold."""
        ...

    async def held(self, path: Path) -> str | None:
        """What the editor has for a file; None where it does not say."""
        ...

    async def save(self, path: Path, text: str) -> bool:
        """Have the editor save that; whether it did."""
        ...


def around(offered: Offered, editor: Editor) -> Offered:
    """The same tool, for which unsaved text counts."""
    if not editor.reads or offered.tool.definition.name not in ("read", "edit", "write"):
        return offered
    run = offered.tool.run

    async def plain(given: JsonObject) -> Result:
        result = run(given)
        return await result if isinstance(result, Awaitable) else result

    async def looked(given: JsonObject) -> Result:
        result = await plain(given)
        for action in offered.actions(given):
            if isinstance(action, ReadPath) and (unsaved := await _unsaved(editor, action.path)) is not None:
                result = _with(result, _told(*unsaved))
        return result

    async def changed(given: JsonObject) -> Result:
        for action in offered.actions(given):
            if isinstance(action, WritePath) and (unsaved := await _unsaved(editor, action.path)) is not None:
                await _saved(editor, action.path, unsaved[1])
        return await plain(given)

    wrapped = looked if offered.tool.definition.name == "read" else changed
    return replace(offered, tool=replace(offered.tool, run=wrapped))


async def _unsaved(editor: Editor, path: Path) -> tuple[str, str] | None:
    """What is on disk, and what the editor holds; None where that is the same, or not known."""
    saved = await asyncio.to_thread(_on_disk, path)
    if saved is None:
        return None
    held = await editor.held(path)
    if held is None or _lines(held) == _lines(saved):
        return None
    return saved, held


async def _saved(editor: Editor, path: Path, text: str) -> None:
    """Have unsaved text saved, so that it is neither lost nor changed unseen.

    Raises:
        ToolFailed: what is to be done next.
    """
    if await editor.save(path, text):
        raise ToolFailed(
            f"{path.name!r} had unsaved changes in the user's editor, which are saved now. "
            "Read it again, then make your change anew. Nothing else was done."
        )
    raise ToolFailed(
        f"{path.name!r} has unsaved changes in the user's editor. Nothing was done; ask the user to save it."
    )


def _on_disk(path: Path) -> str | None:
    try:
        with opened(path) as (file, _about):
            data = file.read(LARGEST + 1)
        return data.decode("utf-8") if len(data) <= LARGEST else None
    except (ToolFailed, UnicodeDecodeError):
        # The tool itself says what is wrong with it.
        return None


def _lines(text: str) -> list[str]:
    """Editors keep ends of lines, and the last of them, in ways of their own."""
    return text.rstrip("\r\n").splitlines()


def _told(saved: str, held: str) -> str:
    rows = difflib.unified_diff(_lines(saved), _lines(held), "on disk", "in the editor", lineterm="", n=2)
    return (
        "[The user's editor holds unsaved changes of this file. What counts is what the user sees:\n"
        f"{clip(chr(10).join(rows), SHOWN)}\n]"
    )


def _with(result: Result, note: str) -> Result:
    return f"{result}\n{note}" if isinstance(result, str) else (*result, Text(text=note))
