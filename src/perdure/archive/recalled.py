"""What a recall gives: the original, exactly, and its readable form.

It knows blocks and messages. It must never know where they were kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Image,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    encode_json,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One original: the blocks of a light edit, or the messages of a checkpoint."""

    handle: str
    """What it was asked by: a handle, or the id of a message."""
    message_id: str
    what: str
    tokens: int
    time: float | None
    """When it left a view, in seconds since 1970; None for a message that was asked for by its id."""
    content: tuple[Block, ...] = ()
    messages: tuple[Message, ...] = ()

    @property
    def text(self) -> str:
        """All of it in readable form."""
        if not self.messages:
            return readable(self.content)
        return "\n".join(f"[{message.id}, {message.role}]\n{readable(message.content)}" for message in self.messages)

    @property
    def pictures(self) -> tuple[Image | Document, ...]:
        """What has no readable form and can be shown."""
        blocks = self.content or tuple(block for message in self.messages for block in message.content)
        return tuple(_pictures(blocks))


def readable(content: tuple[Block, ...]) -> str:
    """Blocks as text. A tool result of text is that text, unchanged."""
    return "\n".join(_readable(block) for block in content)


def _readable(block: Block) -> str:
    match block:
        case Text(text=text) | Thinking(thinking=text):
            return text
        case ToolResult(content=content):
            return content if isinstance(content, str) else readable(content or ())
        case ToolUse(name=name, input=given, raw_input=raw):
            return f"{name} {raw if raw is not None else encode_json(given).decode()}"
        case ServerToolUse(name=name, input=given):
            return f"{name} {encode_json(given).decode()}"
        case ServerToolResult(content=content):
            return encode_json(content).decode()
        case Image():
            return "[a picture]"
        case Document():
            return "[a document]"
        case RedactedThinking():
            return "[thinking that only the provider can read]"
        case Compaction(content=text):
            return text or "[a provider's summary that only the provider can read]"
        case ToolReference(tool_name=name):
            return f"[loads the tool {name}]"
        case Unknown(raw=raw):
            return encode_json(raw).decode()


def _pictures(content: tuple[Block, ...]) -> Iterator[Image | Document]:
    for block in content:
        match block:
            case Image() | Document():
                yield block
            case ToolResult(content=tuple(inner)):
                yield from _pictures(inner)
            case _:
                pass
