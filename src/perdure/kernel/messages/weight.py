"""How heavy a message is, in measures that hold for every tokenizer.

It knows bytes, characters and pictures. It must never know a model: `tokens` turns a weight into tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from perdure.kernel.messages.canonical import Json, encode_json
from perdure.kernel.messages.media import Media, media_of
from perdure.kernel.messages.message import Message
from perdure.kernel.messages.request import Tool
from perdure.kernel.value import value


@value
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

PIECE = 16_384
"""Characters that are measured at a time."""

OPAQUE_KEYS = frozenset({"data", "encrypted_content", "file_data", "signature"})
"""Fields of blocks that we do not know, or carry as they are, whose long values are no text that a model reads."""

OPAQUE_LENGTH = 256
"""Shorter values of such fields are weighed as the text that they may be."""

OPAQUE_DEPTH = 50
"""Levels of nesting that are searched for them."""


def weigh(message: Message) -> Weight:
    """The weight of a message, computed once and kept with it."""
    return message.keep(weigh, _weigh)


def weigh_text(text: str) -> Weight:
    """The weight of one piece of text."""
    return Weight(bytes=_utf8_length(text), chars=len(text), blocks=1)


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
        case Image():
            return Weight(blocks=1, media=(media_of(block),))
        case Document():
            return _document(block)
        case Compaction(content=content, encrypted_content=hidden):
            return weigh_text(content) if content else _opaque(hidden or "")
        case ServerToolUse(name=name, input=given):
            return weigh_text(name + encode_json(given).decode())
        case ServerToolResult(content=content):
            return _json(content)
        case ToolReference(tool_name=name):
            return weigh_text(name)
        case Unknown(raw=raw):
            return _json(raw)


def weigh_tool(tool: Tool) -> Weight:
    """The weight of a tool's definition; nothing for a deferred one, which is not in the prompt until loaded."""
    return NOTHING if tool.deferred else weigh_definition(tool)


def weigh_definition(tool: Tool) -> Weight:
    """The weight of a tool's definition where it is in the prompt, deferred or not."""
    schema = "" if tool.schema is None else encode_json(tool.schema).decode()
    return weigh_text(tool.name + (tool.description or "") + schema)


def _utf8_length(text: str) -> int:
    if text.isascii():
        return len(text)
    # In pieces that stay in the processor's cache: twice as fast as one encoding of a megabyte.
    pieces = range(0, len(text), PIECE)
    return sum([len(text[start : start + PIECE].encode("utf-8", "surrogatepass")) for start in pieces])


def _weigh(message: Message) -> Weight:
    return weigh_blocks(message.content)


def _inside(content: tuple[Block, ...]) -> Weight:
    return Weight(blocks=1) + weigh_blocks(content)


def _opaque(data: str) -> Weight:
    """Encrypted data: base64 holds three bytes in four characters, and stands for reasoning of about that size."""
    size = len(data) * 3 // 4
    return Weight(bytes=size, chars=size, blocks=1)


def _document(block: Document) -> Weight:
    """A document of text weighs its text, one of blocks the blocks' text, any other what its pages do."""
    match block.source:
        case {"type": "text", "data": str(text)}:
            return weigh_text(text)
        case {"type": "content", "content": str(text)}:
            return weigh_text(text)
        case {"type": "content", "content": list(parts)}:
            return _json(parts)
        case _:
            return Weight(blocks=1, media=(media_of(block),))


def _json(value: Json) -> Weight:
    """A carried value: its text, with what is opaque taken out, and pictures and files weighed as such."""
    media: list[Media] = []
    text = weigh_text(encode_json(_readable(value, media, 0)).decode())
    return Weight(bytes=text.bytes, chars=text.chars, blocks=1, media=tuple(media))


def _readable(value: Json, media: list[Media], depth: int) -> Json:
    if depth > OPAQUE_DEPTH:
        return value
    if isinstance(value, list):
        return [_readable(item, media, depth + 1) for item in value]
    if not isinstance(value, dict):
        return _without_data_url(value, media)
    kept: dict[str, Json] = {}
    for key, item in value.items():
        if key in OPAQUE_KEYS and isinstance(item, str) and len(item) > OPAQUE_LENGTH:
            if key in {"data", "file_data"}:
                media.append(_media_in(value))
            continue
        kept[key] = _readable(item, media, depth + 1)
    return kept


def _without_data_url(value: Json, media: list[Media]) -> Json:
    if isinstance(value, str) and len(value) > OPAQUE_LENGTH and value.startswith("data:"):
        media.append(media_of(_source_block({"type": "url", "url": value}, value[5:11] == "image/")))
        return None
    return value


def _media_in(source: dict[str, Json]) -> Media:
    kind = source.get("media_type")
    return media_of(_source_block(source, isinstance(kind, str) and kind.startswith("image/")))


def _source_block(source: dict[str, Json], pictured: bool) -> Image | Document:
    return Image(source=source) if pictured else Document(source=source)
