"""How heavy a message is, in measures that hold for every tokenizer.

It knows bytes, characters and pictures. It must never know a model: `tokens` turns a weight into tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perdure.kernel.messages.blocks import (
    Block,
    Compaction,
    Document,
    Image,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
)
from perdure.kernel.messages.canonical import encode_json
from perdure.kernel.messages.media import Media, media_of
from perdure.kernel.messages.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """The measures of some text and media. Weights add up."""

    bytes: int = 0
    """UTF-8 bytes of text; base64 data never counts as text."""
    chars: int = 0
    """Characters of the same text; `bytes - chars` tells how much of it is not ASCII."""
    blocks: int = 0
    """Blocks, each of which costs a provider a few tokens of framing."""
    media: tuple[Media, ...] = ()

    def __add__(self, other: Weight) -> Weight:
        return Weight(
            bytes=self.bytes + other.bytes,
            chars=self.chars + other.chars,
            blocks=self.blocks + other.blocks,
            media=self.media + other.media,
        )


NOTHING = Weight()


def weigh(message: Message) -> Weight:
    """The weight of a message, computed once and kept with it."""
    return message.keep(weigh, _weigh)


def weigh_text(text: str) -> Weight:
    """The weight of one piece of text."""
    if text.isascii():
        return Weight(bytes=len(text), chars=len(text), blocks=1)
    return Weight(bytes=len(text.encode("utf-8", "surrogatepass")), chars=len(text), blocks=1)


def weigh_blocks(blocks: Iterable[Block]) -> Weight:
    """The weight of a content."""
    total_bytes = total_chars = count = 0
    media: tuple[Media, ...] = ()
    for block in blocks:
        weight = weigh_block(block)
        total_bytes += weight.bytes
        total_chars += weight.chars
        count += weight.blocks
        media += weight.media
    return Weight(bytes=total_bytes, chars=total_chars, blocks=count, media=media)


def weigh_block(block: Block) -> Weight:
    """The weight of one block."""
    match block:
        case Text(text=text):
            return weigh_text(text)
        case ToolUse(name=name, input=given, raw_input=raw):
            return weigh_text(name + (raw if raw is not None else encode_json(given).decode()))
        case ToolResult(content=content):
            return weigh_text(content or "") if content is None or isinstance(content, str) else _inside(content)
        case Thinking(thinking=thinking, signature=signature):
            return max(weigh_text(thinking), _opaque(signature or ""), key=lambda weight: weight.bytes)
        case RedactedThinking(data=data):
            return _opaque(data)
        case Image() | Document():
            return Weight(blocks=1, media=(media_of(block),)) if not _is_text(block) else _text_document(block)
        case Compaction(content=content, encrypted_content=hidden):
            return weigh_text(content) if content else _opaque(hidden or "")
        case ServerToolUse(name=name, input=given):
            return weigh_text(name + encode_json(given).decode())
        case ServerToolResult(content=content):
            return weigh_text(encode_json(content).decode())
        case ToolReference(tool_name=name):
            return weigh_text(name)
        case Unknown(raw=raw):
            return weigh_text(encode_json(raw).decode())


def _weigh(message: Message) -> Weight:
    return weigh_blocks(message.content)


def _inside(content: tuple[Block, ...]) -> Weight:
    return Weight(blocks=1) + weigh_blocks(content)


def _opaque(data: str) -> Weight:
    """Encrypted data: base64 holds three bytes in four characters, and stands for reasoning of about that size."""
    size = len(data) * 3 // 4
    return Weight(bytes=size, chars=size, blocks=1)


def _is_text(block: Image | Document) -> bool:
    return (
        isinstance(block, Document) and isinstance(block.source.get("data"), str) and block.source.get("type") == "text"
    )


def _text_document(block: Image | Document) -> Weight:
    data = block.source.get("data")
    return weigh_text(data) if isinstance(data, str) else Weight(blocks=1)
