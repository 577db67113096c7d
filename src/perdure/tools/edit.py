"""The edit tool: exact strings of a file replaced, all of them or none.

It knows how strings are found and what to say where one is not. It must never change a file whose present content the
model has not seen.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool
from perdure.kernel.value import value
from perdure.tools.actions import Harmless, Offered, WritePath
from perdure.tools.arguments import arguments, objects_in, text_in, truth_in
from perdure.tools.diff import diff_of
from perdure.tools.disk import opened, real, replace_file
from perdure.tools.encoding import SAMPLE, Encoding, encoding_of, line_end_of, shown
from perdure.tools.failed import ToolFailed
from perdure.tools.seen import Seen, digest_of
from perdure.tools.workspace import Workspace

LARGEST = 64_000_000
"""Bytes of a file that is changed; it is held in memory a few times over."""
EDITS = 200
"""Of one call."""
COMPARED = 20_000
"""Lines among which something like a string that was not found is looked for."""

EDIT = Tool(
    name="edit",
    description=(
        "Replaces exact text in a file that you have read. Each old_string must occur exactly once (give enough lines "
        "around it), unless replace_all is true. Edits apply in order, all or none. Shows the diff."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "old_string": {"type": "string"},
                        "new_string": {"type": "string"},
                        "replace_all": {"type": "boolean"},
                    },
                    "required": ["old_string", "new_string"],
                },
            },
        },
        "required": ["path", "edits"],
    },
)

_EDIT = Tool(
    name="edit",
    schema={"properties": {"old_string": {}, "new_string": {}, "replace_all": {}}, "required": ["old_string"]},
)
_ALONE = ("old_string", "new_string", "replace_all", "oldText", "newText", "oldString", "newString", "replaceAll")


@value
class Edit:
    """One replacement."""

    old: str
    new: str
    everywhere: bool = False


@value
class Present:
    """A file as it is now, known to the model."""

    text: str
    encoding: Encoding
    about: os.stat_result


def offered(workspace: Workspace, seen: Seen) -> Offered:
    """The tool for a session."""

    async def run(given: JsonObject) -> str:
        return await asyncio.to_thread(edit, workspace, seen, *_wanted(given, workspace))

    def actions(given: JsonObject) -> tuple[WritePath | Harmless, ...]:
        try:
            return (WritePath(path=_wanted(given, workspace)[0]),)
        except ToolFailed:
            return (Harmless(),)

    return Offered(tool=AgentTool(definition=EDIT, run=run), actions=actions)


def edit(workspace: Workspace, seen: Seen, path: Path, edits: tuple[Edit, ...]) -> str:
    """Change a file, and tell the diff.

    Raises:
        ToolFailed: an edit does not apply, or the file may not be changed; nothing was changed then.
    """
    name, target = shown(workspace.shown(path)), real(path)
    present = read_present(target, seen, name)
    try:
        text = applied(present.text, edits)
    except ToolFailed as error:
        raise ToolFailed(f"{name}: {error} Nothing was changed.{_notebook(path)}") from error
    content = present.encoding.encode(text)
    about = replace_file(target, content, present.about)
    seen.changed(target, digest_of(content), mtime=about.st_mtime, lines=lines_of(text))
    return diff_of(present.text, text, name)


def read_present(target: Path, seen: Seen, name: str) -> Present:
    """A file that the model has seen in its present state.

    Raises:
        ToolFailed: it has not, or the file is no text.
    """
    with opened(target) as (file, about):
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolFailed(f"{name!r} is too large to edit. Use a program in bash, such as sed.")
    sight = seen.sight(target)
    if sight is None:
        raise ToolFailed(f"You have not read {name!r}, or not since the conversation was summarized. Read it first.")
    if sight.digest != digest_of(data):
        raise ToolFailed(f"{name!r} changed on disk since you read it. Read it again, then make your change anew.")
    encoding = encoding_of(data[:SAMPLE])
    if encoding is None:
        raise ToolFailed(f"{name!r} is binary. Use a program in bash that knows its format.")
    text = encoding.decode(data)
    if encoding.encode(text) != data:
        raise ToolFailed(f"{name!r} is damaged text ({encoding.name}) that would not stay as it is. Use bash.")
    return Present(text=text, encoding=encoding, about=about)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """A text with all edits, each made to what the one before it left. Ends of lines stay as the file has them.

    Raises:
        ToolFailed: one does not apply.
    """
    line_end, whole = line_end_of(text), text
    for number, change in enumerate(edits, 1):
        where = f"Edit {number}: " if number > 1 else ""
        old, new = change.old.replace("\r\n", "\n"), change.new.replace("\r\n", "\n")
        if not old:
            raise ToolFailed(f"{where}old_string is empty. To write a whole file use write.")
        if old == new:
            raise ToolFailed(f"{where}old_string and new_string are the same.")
        # A file may mix both ends; the usual one is tried first.
        forms = (old.replace("\n", line_end), old, old.replace("\n", "\r\n"))
        found = next((form for form in forms if form in whole), None)
        if found is None:
            raise ToolFailed(f"{where}old_string was not found. {_hint(whole, old)}")
        count = whole.count(found)
        if count > 1 and not change.everywhere:
            raise ToolFailed(
                f"{where}old_string occurs {count} times (lines {_places(whole, found)}). "
                "Add lines around it, or set replace_all."
            )
        end = line_end if "\n" not in found else "\r\n" if "\r\n" in found else "\n"
        whole = whole.replace(found, new.replace("\n", end))
    return whole


def lines_of(text: str) -> int:
    """How many lines a file with this text has, as read counts them."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def _hint(text: str, old: str) -> str:
    """What in the file comes nearest to a string that it does not hold."""
    if re.match(r"\s{0,8}\d+\t", old) and (bare := re.sub(r"(?m)^\s{0,8}\d+\t", "", old)) and bare in text:
        return "Leave out the line numbers, which read puts before each line."
    lines = text.replace("\r\n", "\n").split("\n")[:COMPARED]
    wanted = old.strip("\n").split("\n")
    bare = [_bare(line) for line in wanted]
    plain = [_bare(line) for line in lines]
    for start in range(len(lines) - len(wanted) + 1):
        if plain[start : start + len(wanted)] == bare:
            actual = "\n".join(lines[start : start + len(wanted)])
            spot = f"Lines {start + 1}-{start + len(wanted)}"
            return f"{spot} differ in white space or quotes alone:\n{shown(actual[:2_000])}\n"
    rarest = max(bare, key=len)
    near = difflib.get_close_matches(rarest, set(plain), 1, 0.7) if len(plain) <= 5_000 else []
    if near:
        at = plain.index(near[0])
        return f"Nearest is line {at + 1}:\n{shown(lines[at][:500])}\n"
    return "Read the file again, and copy the text from it."


def _bare(line: str) -> str:
    return "".join(line.split()).translate(_QUOTES)


_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")


def _places(text: str, found: str) -> str:
    places: list[str] = []
    at = text.find(found)
    while at >= 0 and len(places) < 5:
        places.append(str(text.count("\n", 0, at) + 1))
        at = text.find(found, at + len(found))
    return ", ".join(places) + (", ..." if at >= 0 else "")


def _notebook(path: Path) -> str:
    if path.suffix != ".ipynb":
        return ""
    return " A notebook is JSON, where the text of cells is escaped: change it with a Python script in bash."


def _wanted(given: JsonObject, workspace: Workspace) -> tuple[Path, tuple[Edit, ...]]:
    # Models that know a tool for one edit write that edit's arguments beside the path.
    alone = {name: value for name, value in given.items() if name in _ALONE}
    if alone and "edits" not in given:
        given = {**{name: value for name, value in given.items() if name not in alone}, "edits": [alone]}
    named = arguments(given, EDIT)
    rows = [arguments(row, _EDIT) for row in objects_in(named, "edits")]
    if not 0 < len(rows) <= EDITS:
        raise ToolFailed(f"Give between 1 and {EDITS} edits.")
    edits = tuple(
        Edit(old=text_in(row, "old_string"), new=text_in(row, "new_string"), everywhere=truth_in(row, "replace_all"))
        for row in rows
    )
    return workspace.resolve(text_in(named, "path")), edits
