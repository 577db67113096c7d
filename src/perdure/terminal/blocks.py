"""Finished parts of a conversation as lines for a terminal: Markdown, tool calls, diffs, notices.

It knows colours and widths. It must never print, and never show a text of a model's that could steer the terminal.
"""

from __future__ import annotations

import re
from importlib import import_module
from io import StringIO
from typing import Protocol, cast

from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import CompactionEnd, Trouble
from perdure.kernel.messages import ToolResult, ToolUse, text_of
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.terminal.pictures import Drawing, pictures
from perdure.terminal.plain import clean

PREVIEW = 4
"""Lines of a tool's result that are shown; the rest is there with /output."""
DIFF = 40
"""Lines of a diff that are shown."""
LONG = 20_000
"""Characters of Markdown above which it is printed as it is: to set 500 kB takes seconds in which no key is taken."""

_HUNK = pattern(r"^@@ |^--- |^\+\+\+ ", re.MULTILINE)
_RESET = "\x1b[0m"


class _Console(Protocol):
    def print(self, *objects: object) -> None: ...


@value
class Look:
    """How things look."""

    columns: int
    colour: bool = True
    light: bool = False
    """Whether the ground is light."""
    drawing: Drawing = "none"

    def paint(self, text: str, code: str) -> str:
        """Text in a colour, line by line, so that a cut line carries it over to no other."""
        if not self.colour or not text:
            return text
        return "\n".join(f"\x1b[{code}m{line}{_RESET}" if line else line for line in text.split("\n"))

    def dim(self, text: str) -> str:
        """What is of less interest."""
        return self.paint(text, "2")


def said(text: str, look: Look) -> str:
    """What the user typed."""
    rows = clean(text).split("\n")
    return "\n" + "\n".join(look.paint(f"{'>' if number == 0 else ' '} {row}", "1") for number, row in enumerate(rows))


def markdown(text: str, look: Look) -> str:
    """A part of an answer."""
    source = clean(text).strip("\n")
    if not look.colour or len(source) > LONG:
        return source
    # It takes a third of a second to load, which the first prompt should not wait for: see `load`.
    console_module, markdown_module = import_module("rich.console"), import_module("rich.markdown")
    out = StringIO()
    console = cast(
        "_Console",
        console_module.Console(file=out, force_terminal=True, width=max(20, look.columns - 1), color_system="standard"),
    )
    console.print(
        markdown_module.Markdown(source, code_theme="ansi_light" if look.light else "ansi_dark", hyperlinks=False)
    )
    return out.getvalue().rstrip("\n")


def load() -> None:
    """Load what sets Markdown and code; in a thread, while the first answer is on its way."""
    markdown("```python\nx = 1\n```", Look(columns=80))


def called(call: ToolUse, look: Look) -> str:
    """A call, in a line."""
    given = [clip(one_line(value), 200) for value in call.input.values() if isinstance(value, str)]
    line = f"{one_line(call.name)} {given[0] if given else ''}".rstrip()
    return look.paint("● ", "36") + clip(line, max(10, look.columns - 3))


def result(call: ToolUse, found: ToolResult, look: Look) -> str:
    """What a call gave: a diff whole, anything else by its first lines."""
    shown = pictures(found.content, look.drawing)
    text = clean(text_of(found.content)).strip("\n")
    if shown:
        return "\n".join((*shown, *([_indented([look.dim(text)], 1, look)] if text else [])))
    rows = text.split("\n")
    if found.is_error:
        return _indented([look.paint(row, "31") for row in rows[:PREVIEW]], len(rows), look)
    if call.name in ("edit", "write") and _HUNK.search(text):
        return _indented([_coloured(row, look) for row in rows[:DIFF]], len(rows), look)
    room = max(20, look.columns - 3)
    return _indented([look.dim(clip(row, room)) for row in rows[:PREVIEW]], len(rows), look)


def folded(event: CompactionEnd, look: Look) -> str:
    """What was done about the context."""
    if not event.changed:
        return look.dim("  nothing could be folded")
    words = {"micro": "cleared", "trim": "trimmed", "memory": "folded (session memory)", "full": "folded"}
    why = event.reason.replace("_", " ")
    done = words.get(event.kind or "", "changed")
    return look.dim(
        f"  context {done}: {event.tokens_before:,} to {event.tokens_after:,} tokens, because of: {why}. /why"
    )


def trouble(event: Trouble, look: Look) -> str:
    """What went wrong at the provider."""
    again = f"; again in {event.retry_in:.0f} s" if event.retry_in is not None else ""
    return look.paint(f"  {event.failure.kind}: {clip(one_line(event.failure.message), 300)}{again}", "33")


def _coloured(row: str, look: Look) -> str:
    if row.startswith("+"):
        return look.paint(row, "32")
    if row.startswith("-"):
        return look.paint(row, "31")
    return look.dim(row)


def _indented(rows: list[str], whole: int, look: Look) -> str:
    more = [look.dim(f"… {whole - len(rows):,} more lines, /output shows them")] if whole > len(rows) else []
    return "\n".join(f"  {row}" for row in (*rows, *more))
