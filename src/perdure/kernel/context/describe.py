"""A few words for a call or a message: what a person, a placeholder or a loss report names it by.

It knows the usual argument names of tools. It must never know what a tool does.
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.kernel.messages import Message, ToolUse

LONGEST = 80
"""Characters of a description."""

_MAIN_ARGUMENTS = ("file_path", "path", "filename", "command", "cmd", "pattern", "query", "url", "name", "id")


def call_names(messages: Iterable[Message]) -> dict[str, ToolUse]:
    """Every call by its id; each message is looked through once and remembers its own."""
    calls: dict[str, ToolUse] = {}
    for message in messages:
        for use in message.keep(call_names, lambda given: given.tool_uses):
            calls[use.id] = use
    return calls


def describe_call(call: ToolUse) -> str:
    """The tool, and the argument that tells most."""
    for key in _MAIN_ARGUMENTS:
        value = call.input.get(key)
        if isinstance(value, str) and value:
            return clip(f"{call.name} {value}")
        if isinstance(value, list) and value:
            return clip(f"{call.name} {' '.join(str(item) for item in value)}")
    return clip(call.name)


def clip(text: str) -> str:
    """One line of at most `LONGEST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
