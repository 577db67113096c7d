"""What a request is made of: bytes of text by kind.

It knows which kind a block is of. It must never count tokens or know why something is there. Pictures and files weigh
nothing here: their bytes say nothing of the room that they take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import add, sub
from typing import Literal, TypeAlias, get_args

from perdure.kernel.context.checkpoint import OPENING
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
    Tool,
    ToolResult,
    ToolUse,
    Unknown,
    weigh_block,
    weigh_tool,
)

Kind: TypeAlias = Literal["fixed", "checkpoint", "user", "harness", "assistant", "thinking", "calls", "results"]
"""In the order in which they are stacked: what stays longest lies lowest."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Sizes: TypeAlias = tuple[int, ...]
"""Bytes for each of `KINDS`."""

_NONE: Sizes = (0,) * len(KINDS)


class Composition:
    """The sizes of a view as it grows and changes."""

    def __init__(self, tools: Sequence[Tool], system: Sequence[Text | Unknown]) -> None:
        """Measure what stands in every request."""
        fixed = sum(weigh_tool(tool).bytes for tool in tools) + sum(weigh_block(block).bytes for block in system)
        self.sizes: Sizes = tuple(fixed if kind == "fixed" else 0 for kind in KINDS)
        """Of the view as it stands."""
        self._shown: list[Message] = []

    def follow(self, messages: Sequence[Message]) -> Sizes:
        """Take in the present view; only what differs from the last one is looked at."""
        same = unchanged(self._shown, messages)
        for message in self._shown[same:]:
            self.sizes = tuple(map(sub, self.sizes, sizes_of(message)))
        del self._shown[same:]
        for place in range(same, len(messages)):
            message = messages[place]
            self.sizes = tuple(map(add, self.sizes, sizes_of(message)))
            self._shown.append(message)
        return self.sizes


def sizes_of(message: Message) -> Sizes:
    """The sizes of one message, found once and kept with it."""
    return message.keep(Composition, _measured)


def unchanged(shown: list[Message], messages: Sequence[Message]) -> int:
    """With how many of the messages shown before a view still begins.

    An edit may change any message and leave both ends as they are, so each is compared: by identity in almost every
    case, which lists do in a hundredth of the time of a loop.
    """
    most = min(len(shown), len(messages))
    if shown[:most] == list(messages[:most]):
        return most
    return next(place for place in range(most) if shown[place] is not messages[place])


def _measured(message: Message) -> Sizes:
    sizes = list(_NONE)
    for kind, size in _parts(message):
        sizes[KINDS.index(kind)] += size
    return tuple(sizes)


def _parts(message: Message) -> Iterator[tuple[Kind, int]]:
    for block in message.content:
        yield _kind_of(message, block), weigh_block(block).bytes


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
            return "fixed"
        case _ if message.role == "assistant":
            return "assistant"
        case Text(text=text) if message.provenance != "user" or text.lstrip().startswith(REMINDER_OPENING):
            return "harness"
        case _:
            return "user"
