"""What the next request is made of: tokens by kind and by message, the largest first.

It knows which kind a block is of. It must never count by itself: each part's share is that of its weight, and all
together are what the engine estimates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, TypeAlias

from perdure.kernel.context.checkpoint import OPENING
from perdure.kernel.context.describe import clip, describe_call
from perdure.kernel.messages import (
    REMINDER_OPENING,
    Block,
    Compaction,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    text_of,
    weigh_block,
    weigh_blocks,
    weigh_tool,
)
from perdure.kernel.tokens import tokens_of
from perdure.kernel.value import value
from perdure.session.session import Session

Kind: TypeAlias = Literal[
    "tools", "system", "checkpoint", "user", "harness", "assistant", "thinking", "calls", "results"
]


@value
class Share:
    """One kind, or one message."""

    name: str
    """The kind, or a few words of the message."""
    tokens: int
    message_id: str = ""
    """Empty for a kind."""


@value
class Composed:
    """A request by its parts."""

    tokens: int
    """All of it."""
    kinds: tuple[Share, ...]
    """The largest first; they add up to `tokens`, but for rounding."""
    messages: tuple[Share, ...]
    """The same for each message that is shown."""
    pins: tuple[str, ...]
    """What every checkpoint carries."""


def composition_of(session: Session) -> Composed:
    """What the next request is made of, as the view stands."""
    engine, profile = session.agent.engine, session.model.profile
    projection = engine.usage(session.transcript)
    fixed = {
        "tools": sum(tokens_of(weigh_tool(tool.definition), profile) for tool in session.tools),
        "system": tokens_of(weigh_blocks(session.system), profile),
    }
    kinds: dict[str, float] = defaultdict(float)
    messages: list[tuple[Message, float]] = []
    for message in projection.view.messages:
        size = 0.0
        for kind, tokens in _parts(message, session):
            kinds[kind] += tokens
            size += tokens
        messages.append((message, size))
    whole, total = sum(kinds.values()), projection.usage.tokens
    fixed_part = session.fixed
    if total - fixed_part < whole / 2:
        # Counts of the provider set the whole right. Where they leave the history less than half of its estimate, that
        # of tools and system was too high as well: then all parts shrink alike.
        fixed_part = round(total * session.fixed / ((session.fixed + whole) or 1))
    scale = (total - fixed_part) / whole if whole else 0.0
    head = fixed_part / (sum(fixed.values()) or 1)
    shares = [Share(name=kind, tokens=round(tokens * scale)) for kind, tokens in kinds.items()]
    shares += [Share(name=kind, tokens=round(tokens * head)) for kind, tokens in fixed.items() if tokens]
    rows = [Share(name=_words(each), tokens=round(size * scale), message_id=each.id) for each, size in messages]
    return Composed(
        tokens=total,
        kinds=tuple(sorted(shares, key=lambda share: -share.tokens)),
        messages=tuple(sorted(rows, key=lambda share: -share.tokens)),
        pins=session.pins,
    )


def _parts(message: Message, session: Session) -> Iterator[tuple[Kind, int]]:
    profile = session.model.profile

    def measured(given: Message) -> tuple[tuple[Kind, int], ...]:
        return tuple((_kind_of(given, block), tokens_of(weigh_block(block), profile)) for block in given.content)

    yield from message.keep(("composition", profile.id), measured)


def _kind_of(message: Message, block: Block) -> Kind:
    match block:
        case ToolResult() | ServerToolResult():
            return "results"
        case ToolUse() | ServerToolUse():
            return "calls"
        case Thinking() | RedactedThinking():
            return "thinking"
        case Compaction():
            return "checkpoint"
        case Text(text=text) if text.startswith(OPENING):
            return "checkpoint"
        case _ if message.role in {"system", "developer"}:
            return "system"
        case _ if message.role == "assistant":
            return "assistant"
        case Text(text=text) if message.provenance != "user" or text.lstrip().startswith(REMINDER_OPENING):
            return "harness"
        case _:
            return "user"


def _words(message: Message) -> str:
    """What a person knows a message by."""
    if message.tool_uses:
        return describe_call(message.tool_uses[0])
    words = text_of(message.content) or type(message.content[0]).__name__ if message.content else ""
    kind = "result" if message.tool_results else message.provenance
    return clip(f"{kind}: {words[:200]}")
