"""What a recall gives: the original, exactly, and its readable form.

It knows blocks and messages. It must never know where they were kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.messages import Block, Document, Image, Message, ToolResult, readable
from perdure.kernel.value import value


@value
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


def _pictures(content: tuple[Block, ...]) -> Iterator[Image | Document]:
    for block in content:
        match block:
            case Image() | Document():
                yield block
            case ToolResult(content=tuple(inner)):
                yield from _pictures(inner)
            case _:
                pass
