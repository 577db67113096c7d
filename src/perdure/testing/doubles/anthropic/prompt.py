"""The prompt as the model sees it: which pieces there are, what each counts, where marks stand.

It knows how a request becomes a prompt. It must never know what is cached or what the answer is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import Asked
from perdure.testing.doubles.anthropic.compaction import last_threshold_block
from perdure.testing.doubles.anthropic.editing import clear_thinking, clear_tool_uses
from perdure.testing.doubles.anthropic.marks import automatic_mark, mark_of, may_hold_mark
from perdure.testing.doubles.anthropic.thinking import Screened, unmarked
from perdure.testing.doubles.anthropic.tools import is_deferred, references
from perdure.testing.doubles.counting import count_text, count_value
from perdure.testing.doubles.shape import Body, as_text, bodies, body_of, content_blocks, without

IMAGE_TOKENS = 1_600
"""For any image. The real formula needs its size: width x height / 750, at most about this."""

MESSAGE_OVERHEAD = 4
TOOLS_OVERHEAD = 346
"""Tokens of the system prompt that comes with tools (Anthropic, tool use guide)."""


@value
class Piece:
    """One block of the prompt: one position for the cache's lookback."""

    text: str
    """What must be equal for a cached prefix to match."""
    tokens: int
    mark: str | None = None
    """`5m` or `1h`."""


@value
class Prompt:
    """What the model sees."""

    pieces: tuple[Piece, ...]
    messages: list[Body]
    """The messages behind all server-side edits."""
    original_tokens: int
    """Before context editing; 0 where none is asked for."""
    applied: tuple[Body, ...]
    """Context edits that were applied."""
    transformations: tuple[Body, ...]

    @property
    def tokens(self) -> int:
        """All input tokens, cached or not."""
        return sum(piece.tokens for piece in self.pieces)


def make_prompt(asked: Asked, screened: Screened) -> Prompt:
    """Apply everything that the server does to a request before sampling, but for a new compaction."""
    messages = _visible(asked, screened)
    original = _tokens(asked, messages) if asked.body.get("context_management") is not None else 0
    cleared, turns = clear_thinking(asked, messages)
    applied: tuple[Body, ...] = ()
    if turns:
        saved = original - _tokens(asked, cleared)
        applied = ({"type": "clear_thinking_20251015", "cleared_thinking_turns": turns, "cleared_input_tokens": saved},)
    for edit in asked.edits:
        if edit.get("type") == "clear_tool_uses_20250919":
            edited = clear_tool_uses(edit, cleared, lambda given: _tokens(asked, given))
            cleared, applied = edited.messages, (*applied, *edited.applied)
    return Prompt(
        pieces=tuple(_pieces(asked, cleared)),
        messages=cleared,
        original_tokens=original,
        applied=applied,
        transformations=screened.transformations,
    )


def recompacted(asked: Asked, prompt: Prompt, block: Body) -> Prompt:
    """The same prompt with everything said so far replaced by a new compaction block."""
    messages: list[Body] = [{"role": "assistant", "content": [block]}]
    return replace(prompt, messages=messages, pieces=tuple(_pieces(asked, messages)))


def count_block(block: Body) -> int:
    """Tokens of one block by the bare tokenizer."""
    match block.get("type"):
        case "text":
            return count_text(str(block.get("text")))
        case "thinking":
            return count_text(str(block.get("thinking")))
        case "redacted_thinking":
            return len(str(block.get("data"))) // 8
        case "compaction":
            return count_text(str(block.get("content") or ""))
        case "image":
            return IMAGE_TOKENS
        case "document":
            source = body_of(block.get("source"))
            text = source.get("data") if source.get("type") == "text" else None
            return count_text(text) if isinstance(text, str) else IMAGE_TOKENS
        case "tool_use" | "server_tool_use":
            return count_text(str(block.get("name"))) + count_value(block.get("input")) + 12
        case "tool_result":
            return sum(count_block(nested) for nested in content_blocks(block.get("content"))) + 8
        case _:
            return count_value(without(block, "cache_control"))


def _visible(asked: Asked, screened: Screened) -> list[Body]:
    """Without dropped thinking, failed compactions, ended system messages, and all before the last threshold block."""
    messages = asked.messages
    last_user = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    start = last_threshold_block(messages) or (0, 0)
    seen: list[Body] = []
    for i, message in enumerate(messages):
        if message.get("clear_at") == "next_user_message" and i < last_user:
            continue
        blocks = [
            block
            for j, block in enumerate(content_blocks(message.get("content")))
            if (i, j) >= start and (i, j) not in screened.dropped and not _failed(block)
        ]
        if blocks or i >= start[0]:
            seen.append({**message, "content": blocks})
    return seen


def _failed(block: Body) -> bool:
    return block.get("type") == "compaction" and block.get("content") is None


def _tokens(asked: Asked, messages: list[Body]) -> int:
    return sum(piece.tokens for piece in _pieces(asked, messages))


def _pieces(asked: Asked, messages: list[Body]) -> Iterator[Piece]:
    factor = asked.model.token_factor
    tools = [tool for tool in asked.tools if not is_deferred(tool)]
    for i, tool in enumerate(tools):
        tokens = count_value(without(tool, "cache_control")) + (0 if i else TOOLS_OVERHEAD)
        yield Piece(text=f"tool {as_text(unmarked(tool))}", tokens=ceil(tokens * factor), mark=mark_of(tool))
    salt = _system_salt(asked)
    for block in asked.system:
        yield Piece(
            text=f"system {salt} {as_text(unmarked(block))}",
            tokens=ceil(count_block(block) * factor),
            mark=mark_of(block),
        )
    yield from _message_pieces(asked, messages)


def _message_pieces(asked: Asked, messages: list[Body]) -> Iterator[Piece]:
    deferred = {str(tool.get("name")): without(tool, "cache_control") for tool in asked.tools if is_deferred(tool)}
    factor = asked.model.token_factor
    salt = _message_salt(asked, messages)
    automatic = _automatic_place(asked, messages)
    for i, message in enumerate(messages):
        for j, block in enumerate(content_blocks(message.get("content"))):
            # A referenced tool's definition appears where it was found, so it never moves the prefix.
            loaded = [deferred[name] for name in references(block) if name in deferred]
            tokens = count_block(block) + sum(count_value(tool) for tool in loaded) + (0 if j else MESSAGE_OVERHEAD)
            mark = mark_of(block)
            if mark is None and automatic is not None and (i, j) == automatic[:2]:
                mark = automatic[2]
            yield Piece(
                text=f"{salt} {message.get('role')} {as_text([unmarked(block), loaded])}",
                tokens=ceil(tokens * factor),
                mark=mark,
            )


def _automatic_place(asked: Asked, messages: list[Body]) -> tuple[int, int, str] | None:
    automatic = automatic_mark(asked)
    if automatic is None:
        return None
    for i in range(len(messages) - 1, -1, -1):
        blocks = content_blocks(messages[i].get("content"))
        for j in range(len(blocks) - 1, -1, -1):
            if may_hold_mark(blocks[j]):
                return i, j, automatic.ttl
    return None


def _system_salt(asked: Asked) -> str:
    """What invalidates system and messages, but not tools (prompt caching guide, invalidation table)."""
    documents = [block for *_, block in asked.blocks() if block.get("type") == "document"]
    citations = any(body_of(document.get("citations")).get("enabled") for document in documents)
    return as_text([asked.model.name, asked.body.get("speed"), citations])


def _message_salt(asked: Asked, messages: list[Body]) -> str:
    """What invalidates messages alone. Where thinking invalidates more is not published (unverified)."""
    config = body_of(asked.body.get("output_config"))
    thinking = without(body_of(asked.body.get("thinking")), "block_binding", "display")
    image = any(
        block.get("type") == "image" or any(nested.get("type") == "image" for nested in bodies(block.get("content")))
        for message in messages
        for block in content_blocks(message.get("content"))
    )
    budget = body_of(config.get("task_budget")).get("remaining")
    return as_text([_system_salt(asked), asked.body.get("tool_choice"), thinking, config.get("effort"), image, budget])
