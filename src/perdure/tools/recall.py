"""The recall tool: its definition, and calls of the model carried out over a session's archive.

It knows parameters, pages and words for the model. It must never raise for what a model wrote: whatever is wrong comes
back as a result that says so. An answer is bounded here, page by page, since nothing may reduce it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perdure.archive import Archive, Line, Listed, Recalled, lines_matching
from perdure.kernel.errors import DiskError, HandleGone, InvalidJson
from perdure.kernel.messages import (
    Document,
    Image,
    JsonObject,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    decode_object,
    kind_of,
)
from perdure.kernel.value import value

NAME = "recall"

PAGE = 16_000
"""Characters of one answer: some 5,000 tokens."""

LISTED = 100
"""Handles of one list."""

DESCRIPTION = """\
Brings back what left this conversation to save room: old tool results, arguments, trimmed text, folded messages. \
Nothing that left is lost, and what comes back is exact.
- handle: a handle such as h0123456789, or the id of a message such as m17. Without anything else its text from the \
start; a long one comes in pages
- lines: only these lines of it, such as 120-180
- pattern: only the lines of it that contain this text (letter case ignored, * stands for any characters), with numbers
- words: instead of a handle, search everything that left for these words
Without any of them the handles that there are, the newest first. What is said to be gone will not come back: do not \
ask for it again."""

RECALL = Tool(
    name=NAME,
    description=DESCRIPTION,
    schema={
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "a handle, or the id of a message"},
            "lines": {"type": "string", "description": "first and last line, such as 120-180"},
            "pattern": {"type": "string"},
            "words": {"type": "string", "description": "words to search for"},
            "from_character": {"type": "integer", "description": "where to go on in a very long line"},
        },
    },
)
"""The definition. To be offered together with handles, or neither: see `Settings.recall_tool`."""


@value
class Wanted:
    """What a call asks for."""

    handle: str = ""
    lines: tuple[int, int] | None = None
    """First and last line, counted from 1."""
    pattern: str = ""
    words: str = ""
    from_character: int = 1
    """Of the first line, counted from 1."""


@value
class RecallTool:
    """Carries out the calls of one session."""

    archive: Archive

    def call(self, use: ToolUse) -> ToolResult:
        """The result of a call, with `is_error` where it failed. Raises nothing for what the model wrote; may block."""
        try:
            text, pictures = self._answer(wanted_of(use))
        except (DiskError, InvalidJson) as error:
            return ToolResult(tool_use_id=use.id, content=f"Error: {_told(error)}", is_error=True)
        content = (Text(text=text), *pictures) if pictures else text
        return ToolResult(tool_use_id=use.id, content=content)

    def _answer(self, wanted: Wanted) -> tuple[str, tuple[Image | Document, ...]]:
        if wanted.handle:
            found = self.archive.recall(wanted.handle)
            if wanted.pattern:
                return matches(found, wanted.pattern), ()
            return page(found, wanted.lines, wanted.from_character), () if wanted.lines else found.pictures
        if wanted.words:
            return hits(self.archive, wanted.words), ()
        first = wanted.lines[0] - 1 if wanted.lines else 0
        return listing(self.archive.newest(first, LISTED), first, self.archive.count()), ()


def wanted_of(use: ToolUse) -> Wanted:
    """What a call asks for.

    Raises:
        InvalidJson: a parameter of the wrong kind; the message is for the model.
    """
    given = decode_object(use.raw_input) if use.raw_input else use.input
    start = given.get("from_character")
    if start is not None and (not isinstance(start, int) or isinstance(start, bool) or start < 1):
        raise InvalidJson("from_character must be an integer from 1 on")
    lines = _text(given, "lines")
    return Wanted(
        handle=_text(given, "handle").strip()[:200],
        lines=lines_of(lines) if lines else None,
        pattern=_text(given, "pattern"),
        words=_text(given, "words"),
        from_character=start or 1,
    )


def lines_of(given: str) -> tuple[int, int]:
    """First and last line of a range such as `120-180` or `7`.

    Raises:
        InvalidJson: it is none.
    """
    found = re.fullmatch(r"\s*(\d{1,9})(?:\s*(?:-|:|,|to)\s*(\d{1,9}))?\s*", given)
    if found is None or int(found[1]) < 1 or int(found[2] or found[1]) < int(found[1]):
        raise InvalidJson(f"lines must be a first and a last line, such as 120-180, not {given!r}")
    return int(found[1]), int(found[2] or found[1])


def page(found: Recalled, lines: tuple[int, int] | None, start: int = 1) -> str:
    """A range of lines of an original, or its beginning, word for word, and where it goes on."""
    rows = found.text.split("\n")
    first, last = lines or (1, len(rows))
    if first > len(rows):
        return f"[{_named(found)} has {len(rows)} lines; there is no line {first}.]"
    rest = [rows[first - 1][start - 1 :], *rows[first : min(last, len(rows))]]
    shown, cut = _fitting(rest)
    end = first + len(shown) - 1
    where = f"lines {first} to {end} of {len(rows)}" if len(rows) > 1 else "one line"
    more = ""
    if cut:
        more = f" Line {end} is cut; go on with lines {end}-{last} and from_character {start + len(shown[-1])}."
    elif end < min(last, len(rows)):
        more = f" Go on with lines {end + 1}-{last}."
    return f"[{_named(found)}: {where}.{more}]\n" + "\n".join(shown)


def matches(found: Recalled, pattern: str) -> str:
    """The lines of an original that contain a pattern, with their numbers."""
    lines = lines_matching(found.text, pattern)
    shown = _numbered(lines)
    cut = f", the first {len(shown)} of them here; ask for a range of lines" if len(shown) < len(lines) else ""
    return "\n".join([f"[{_named(found)}: {len(lines)} lines contain {pattern[:80]!r}{cut}.]", *shown])


def hits(archive: Archive, words: str) -> str:
    """The originals that have the words, each with its best lines."""
    found = archive.search(words)
    if not found:
        return f"[Nothing that left this conversation has any of the words {words[:80]!r}.]"
    blocks = [
        "\n".join([f"{hit.handle}: {hit.what}", *(f"  {line}" for line in _numbered(hit.lines))]) for hit in found
    ]
    return "\n".join([f"[Recall one by its handle. The best {len(found)} for {words[:80]!r}:]", *blocks])


def listing(rows: Sequence[Listed], first: int, whole: int) -> str:
    """The handles that there are."""
    if not rows:
        return "[Nothing has left this conversation.]" if not whole else f"[There are {whole} originals.]"
    last = first + len(rows)
    more = f" Go on with lines {last + 1}-{last + LISTED}." if last < whole else ""
    told = [f"{row.handle}: {row.what} (message {row.message_id}, {row.tokens} tokens)" for row in rows]
    return "\n".join([f"[Originals {first + 1} to {last} of {whole}, the newest first.{more}]", *told])


def _fitting(rows: Sequence[str]) -> tuple[list[str], bool]:
    """As many rows as a page holds, and whether the last of them had to be cut."""
    shown: list[str] = []
    room = PAGE
    for row in rows:
        if len(row) > room:
            if not shown:
                return [row[:room]], True
            break
        shown.append(row)
        room -= len(row) + 1
    return shown, False


def _numbered(lines: Sequence[Line]) -> list[str]:
    """Lines with their numbers, as many as a page holds, each cut where it is very long."""
    shown: list[str] = []
    room = PAGE
    for line in lines:
        told = f"{line.number}: {line.text[:2_000]}"
        room -= len(told) + 1
        if room < 0:
            break
        shown.append(told)
    return shown


def _named(found: Recalled) -> str:
    return f"{found.handle}, {found.what}" if found.what else found.handle


def _told(error: DiskError | InvalidJson) -> str:
    return f"{error}. Do not ask for it again." if isinstance(error, HandleGone) else str(error)


def _text(given: JsonObject, name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InvalidJson(f"{name} must be a string, not {kind_of(value)}")
    return value
