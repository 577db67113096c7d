"""What is exported: one branch of a session, whole, as it was said.

It knows values. It must never know a format.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from perdure.kernel.messages import (
    REMINDER_OPENING,
    Block,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    encode_json,
    readable,
)
from perdure.kernel.value import value


@value
class Exported:
    """A branch of a session."""

    session: str
    title: str
    created: float
    """Unix seconds."""
    model: str
    messages: tuple[Message, ...]


@value
class Passage:
    """A part of a message as a reader sees it."""

    heading: str
    text: str
    code: bool
    """Whether the text is shown as it is."""
    quiet: bool
    """Whether it is of little interest to a reader: thinking, results, what the harness told."""


def passages(message: Message) -> Iterator[Passage]:
    """A message by its parts; what holds nothing readable gives none."""
    for block in message.content:
        passage = _passage(message, block)
        if passage.text.strip():
            yield passage


def dated(time: float | None) -> str:
    """A time for people, in UTC; empty for none, and for one that no calendar has."""
    if time is None:
        return ""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


def _passage(message: Message, block: Block) -> Passage:
    match block:
        case Text(text=text):
            told = message.role == "user" and (
                message.provenance != "user" or text.lstrip().startswith(REMINDER_OPENING)
            )
            heading = "Told by the harness" if told else "User" if message.role == "user" else "Assistant"
            return Passage(heading=heading, text=text, code=told, quiet=told)
        case Thinking(thinking=text):
            return Passage(heading="Thinking", text=text, code=False, quiet=True)
        case RedactedThinking():
            return Passage(heading="Thinking", text="(not readable)", code=False, quiet=True)
        case ToolUse(name=name, input=given, raw_input=raw):
            text = raw if raw is not None else encode_json(given).decode()
            return Passage(heading=f"Call of {name}", text=text, code=True, quiet=False)
        case ToolResult(content=content, is_error=failed):
            text = content if isinstance(content, str) else readable(content or ())
            return Passage(heading="Result (failed)" if failed else "Result", text=text, code=True, quiet=True)
        case _:
            return Passage(heading=type(block).__name__, text=readable((block,)), code=True, quiet=True)
