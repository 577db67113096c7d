"""What one message may hold, whatever stands around it.

It knows roles and kinds of blocks. It must never know a neighbour: that is why the answer is found once and kept with
the message, and a long history is checked in the time of its new messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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
    ToolResult,
    ToolUse,
)
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity.faults import Fault, FaultKind, at


class _Found(NamedTuple):
    kind: FaultKind
    block: int | None
    message: str


_ONLY_ASSISTANT = (ToolUse, Thinking, RedactedThinking, ServerToolUse, ServerToolResult)
_ONLY_USER = (ToolResult, Image, Document)


def content_faults(index: int, message: Message, dialect: Dialect) -> tuple[Fault, ...]:
    """The faults that a message has on its own; `index` is its place in the request."""
    match dialect:
        case "anthropic":
            found = message.keep("validity.anthropic", _of_anthropic)
        case "responses" | "chat":
            found = message.keep("validity.openai", _of_openai)
    if not found:
        return ()
    return tuple(Fault(kind=kind, where=at(index, block), message=text) for kind, block, text in found)


def _of_anthropic(message: Message) -> tuple[_Found, ...]:
    content = message.content
    if not content:
        return (_Found("empty_message", None, "all messages must have non-empty content"),)
    return (*_blocks(message), *_order_of_thinking(content))


def _of_openai(message: Message) -> tuple[_Found, ...]:
    if not message.content:
        return (_Found("empty_message", None, "the message has no content and no call"),)
    return tuple(
        found for index, block in enumerate(message.content) if (found := _wrong_role(index, block, message.role))
    )


def _blocks(message: Message) -> Iterator[_Found]:
    role = message.role
    for index, block in enumerate(message.content):
        if isinstance(block, Text):
            if not block.text or block.text.isspace():
                yield _Found("empty_text", index, "text content blocks must contain non-whitespace text")
            continue
        misplaced = _wrong_role(index, block, role)
        if misplaced:
            yield misplaced
        elif isinstance(block, ToolResult):
            if isinstance(block.content, tuple):
                yield from _inside(index, block.content)
        elif isinstance(block, Thinking):
            if not block.signature:
                yield _Found("thinking_unsigned", index, "the thinking block has no signature")
        elif isinstance(block, Compaction) and block.content == "":
            yield _Found("compaction_empty", index, "the content of a compaction block is null or not empty")


def _wrong_role(index: int, block: Block, role: str) -> _Found | None:
    if isinstance(block, _ONLY_ASSISTANT):
        wrong = role != "assistant"
    elif isinstance(block, _ONLY_USER):
        wrong = role != "user"
    else:
        return None
    if not wrong:
        return None
    return _Found("block_in_wrong_role", index, f"a {type(block).__name__} block cannot stand in a message of {role!r}")


def _inside(index: int, content: tuple[Block, ...]) -> Iterator[_Found]:
    """Faults inside a tool result. An image or a document has its own rules, which only the provider can check."""
    for block in content:
        if isinstance(block, Text) and not block.text:
            yield _Found("empty_text", index, "text blocks inside a tool result must be non-empty")
        elif isinstance(block, ToolResult | ToolUse | Thinking | RedactedThinking | Compaction):
            yield _Found(
                "block_in_wrong_role", index, f"a {type(block).__name__} block cannot stand inside a tool result"
            )


def _order_of_thinking(content: tuple[Block, ...]) -> Iterator[_Found]:
    """Thinking leads to what follows it: within one response it never comes behind a call of the client's tools."""
    called = False
    for index, block in enumerate(content):
        if isinstance(block, ToolUse):
            called = True
        elif called and isinstance(block, Thinking | RedactedThinking):
            yield _Found("thinking_after_call", index, "thinking stands behind a call in the same message")
