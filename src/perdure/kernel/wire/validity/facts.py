"""What one message holds, as far as any rule asks, and what is wrong with it whatever stands around it.

It knows roles and kinds of blocks. It must never know a neighbour: that is why the answer is found once and kept with
the message, and a long history is checked in the time of its new messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

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
)
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity.faults import FaultKind

Numbered: TypeAlias = list[tuple[int, str]]


class Found(NamedTuple):
    """A fault of a message on its own, before its place in the history is known."""

    kind: FaultKind
    block: int | None
    message: str


class Facts(NamedTuple):
    """What the rules ask of a message. Numbers are positions of blocks."""

    found: tuple[Found, ...] = ()
    calls: tuple[tuple[int, str], ...] = ()
    """Calls of the client's tools, by id."""
    results: tuple[tuple[int, str], ...] = ()
    """Results, by the id of their call."""
    other: int | None = None
    """The first block that is no result."""
    server_calls: tuple[tuple[int, str], ...] = ()
    """Calls of the provider's own tools, by id."""
    server_results: tuple[tuple[int, str], ...] = ()
    signed: tuple[int, ...] = ()
    """Compaction blocks with a signature."""
    references: tuple[tuple[int, str], ...] = ()
    """Deferred tools that the message loads, by name."""
    ends_in_thought: bool = False


def facts_of(message: Message, dialect: Dialect) -> Facts:
    """The facts of a message, found once and kept with it."""
    if dialect == "anthropic":
        return message.keep("validity.anthropic", _of_anthropic)
    return message.keep("validity.openai", _of_openai)


def _of_anthropic(message: Message) -> Facts:
    content = message.content
    if not content:
        return Facts(found=(Found("empty_message", None, "all messages must have non-empty content"),))
    found = (*_block_faults(message), *_order_of_thinking(content))
    facts = _gather(message)
    return facts._replace(found=found) if found else facts


def _of_openai(message: Message) -> Facts:
    if not message.content:
        return Facts(found=(Found("empty_message", None, "the message has no content and no call"),))
    judged = (_wrong_role(index, block, message.role) for index, block in enumerate(message.content))
    found = tuple(fault for fault in judged if fault)
    facts = _gather(message)
    return facts._replace(found=found) if found else facts


def _gather(message: Message) -> Facts:
    """One walk over the blocks. Nothing is made for what most messages are: words alone."""
    content = message.content
    if len(content) == 1 and isinstance(content[0], Text):
        return _WORDS_ALONE
    calls, results, server_calls, server_results, references = _lists()
    other: int | None = None
    signed: list[int] = []
    for index, block in enumerate(content):
        if isinstance(block, ToolResult):
            results.append((index, block.tool_use_id))
            if isinstance(block.content, tuple):
                references += [(index, inner.tool_name) for inner in block.content if isinstance(inner, ToolReference)]
            continue
        if other is None:
            other = index
        if isinstance(block, ToolUse):
            calls.append((index, block.id))
        elif isinstance(block, ServerToolUse):
            server_calls.append((index, block.id))
        elif isinstance(block, ServerToolResult):
            server_results.append((index, block.tool_use_id))
            references += [(index, name) for name in _found_tools(block)]
        elif isinstance(block, Compaction):
            signed += [index] if block.signature is not None else []
        elif isinstance(block, ToolReference):
            references.append((index, block.tool_name))
    return Facts(
        calls=tuple(calls),
        results=tuple(results),
        other=other,
        server_calls=tuple(server_calls),
        server_results=tuple(server_results),
        signed=tuple(signed),
        references=tuple(references),
        ends_in_thought=isinstance(content[-1], Thinking | RedactedThinking),
    )


def _lists() -> tuple[Numbered, Numbered, Numbered, Numbered, Numbered]:
    return [], [], [], [], []


def _found_tools(block: ServerToolResult) -> Iterator[str]:
    """The tools that a search of the provider's found, and thereby loaded."""
    listed = block.content.get("tool_references") if isinstance(block.content, dict) else None
    for reference in listed if isinstance(listed, list) else ():
        name = reference.get("tool_name") if isinstance(reference, dict) else None
        if isinstance(name, str):
            yield name


def _block_faults(message: Message) -> Iterator[Found]:
    role = message.role
    for index, block in enumerate(message.content):
        if isinstance(block, Text):
            if not block.text or block.text.isspace():
                yield Found("empty_text", index, "text content blocks must contain non-whitespace text")
            continue
        misplaced = _wrong_role(index, block, role)
        if misplaced:
            yield misplaced
        elif isinstance(block, ToolResult):
            if isinstance(block.content, tuple):
                yield from _inside(index, block.content)
        elif isinstance(block, Thinking):
            if not block.signature:
                yield Found("thinking_unsigned", index, "the thinking block has no signature")
        elif isinstance(block, Compaction) and block.content == "":
            yield Found("compaction_empty", index, "the content of a compaction block is null or not empty")


def _wrong_role(index: int, block: Block, role: str) -> Found | None:
    if isinstance(block, _ONLY_ASSISTANT):
        wrong = role != "assistant"
    elif isinstance(block, _ONLY_USER):
        wrong = role != "user"
    else:
        return None
    if not wrong:
        return None
    return Found("block_in_wrong_role", index, f"a {type(block).__name__} block cannot stand in a message of {role!r}")


def _inside(index: int, content: tuple[Block, ...]) -> Iterator[Found]:
    """Faults inside a tool result. An image or a document has its own rules, which only the provider can check."""
    for block in content:
        if isinstance(block, Text) and not block.text:
            yield Found("empty_text", index, "text blocks inside a tool result must be non-empty")
        elif isinstance(block, ToolResult | ToolUse | Thinking | RedactedThinking | Compaction):
            yield Found(
                "block_in_wrong_role", index, f"a {type(block).__name__} block cannot stand inside a tool result"
            )


def _order_of_thinking(content: tuple[Block, ...]) -> Iterator[Found]:
    """Thinking leads to what follows it: within one response it never comes behind a call of the client's tools."""
    called = False
    for index, block in enumerate(content):
        if isinstance(block, ToolUse):
            called = True
        elif called and isinstance(block, Thinking | RedactedThinking):
            yield Found("thinking_after_call", index, "thinking stands behind a call in the same message")


_WORDS_ALONE = Facts(other=0)
_ONLY_ASSISTANT = (ToolUse, Thinking, RedactedThinking, ServerToolUse, ServerToolResult)
_ONLY_USER = (ToolResult, Image, Document)
