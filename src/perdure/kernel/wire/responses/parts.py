"""The parts of an item's content and the blocks that they are: text, pictures, files.

It knows one part at a time. It must never know which item it stands in, except for the kind of
text that is usual there.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import Block, Document, Extra, Image, Json, JsonObject, Text, Unknown, extra_of, lay_out
from perdure.kernel.wire.openai import address_of, belongs, source_of, title_of

DIALECT: Literal["responses"] = "responses"

ITEM = "(item)"
"""In the `Extra` of an assistant's text: the message item that begins with it, with an empty place for its content.

A part with a field of this name would clash, and is therefore never taken for a text."""

TextKind: TypeAlias = Literal["input_text", "output_text"]

_TEXT_KINDS = ("input_text", "output_text", "text")
_OTHER_KINDS = ("refusal", "summary_text", "reasoning_text", "computer_screenshot")


def is_part(block: Block) -> bool:
    """Whether a block stands inside a message item, and is not an item of its own."""
    if isinstance(block, Unknown):
        return block.dialect == DIALECT and is_part_kind(block.raw.get("type"))
    return isinstance(block, Text | Image | Document)


def is_part_kind(kind: Json) -> bool:
    """Whether a `type` is one of content parts: no item has such a name."""
    return isinstance(kind, str) and (
        kind in _TEXT_KINDS or kind in _OTHER_KINDS or kind.startswith(("input_", "output_"))
    )


def decode_part(part: JsonObject, usual: TextKind) -> Block:
    """The block of one part; `usual` is the kind of text that needs no mention where this part stands."""
    kind = part.get("type")
    block: Block | None = None
    if kind in _TEXT_KINDS:
        text = part.get("text")
        if isinstance(text, str) and ITEM not in part:
            known = ("type", "text") if kind == usual else ("text",)
            return Text(text=text, extra=extra_of(DIALECT, part, known))
    elif kind == "input_image":
        block = _decode_image(part)
    elif kind == "input_file":
        block = _decode_file(part)
    return block or Unknown(dialect=DIALECT, raw=part)


def encode_part(block: Block, usual: TextKind) -> JsonObject:
    """The part that a block is.

    Raises:
        UntranslatableBlock: this dialect has no part for it.
    """
    match block:
        case Text(text=text, extra=extra):
            part = lay_out(kind_unless_told(usual, extra) | {"text": text}, extra, DIALECT)
            part.pop(ITEM, None)
            return part
        case Image():
            return _encode_image(block)
        case Document():
            return _encode_document(block, usual)
        case Unknown(dialect=dialect, raw=raw) if dialect == DIALECT:
            return raw
        case _:
            raise untranslatable(block)


def kind_unless_told(usual: str, extra: Extra | None) -> JsonObject:
    """The `type` of a value whose `Extra` tells no other, which then has its own place."""
    told = extra is not None and extra.dialect == DIALECT and extra.get("type") is not None
    return {} if told else {"type": usual}


def untranslatable(block: Block) -> UntranslatableBlock:
    """The error for a block that has no form here."""
    kind = block.dialect if isinstance(block, Unknown) else type(block).__name__
    return UntranslatableBlock(
        f"OpenAI's Responses API has no form for a block of kind {kind!r}; remove it before encoding"
    )


def _decode_image(part: JsonObject) -> Image | None:
    address, file = part.get("image_url"), part.get("file_id")
    if isinstance(address, str):
        return Image(source=source_of(address), extra=extra_of(DIALECT, part, ("type", "image_url")))
    if isinstance(file, str):
        return Image(source={"type": "file", "file_id": file}, extra=extra_of(DIALECT, part, ("type", "file_id")))
    return None


def _encode_image(image: Image) -> JsonObject:
    address = address_of(image.source)
    if address is not None:
        return lay_out({"type": "input_image", "image_url": address}, image.extra, DIALECT)
    match image.source:
        case {"type": "file", "file_id": str(file)}:
            return lay_out({"type": "input_image", "file_id": file}, image.extra, DIALECT)
        case _:
            raise untranslatable(image)


def _decode_file(part: JsonObject) -> Document | None:
    data, address, file = part.get("file_data"), part.get("file_url"), part.get("file_id")
    source: JsonObject
    if isinstance(data, str):
        key, source = "file_data", source_of(data)
        if source["type"] != "base64":
            return None
    elif isinstance(address, str):
        source = {"type": "url", "url": address}
        key = "file_url"
    elif isinstance(file, str):
        source = {"type": "file", "file_id": file}
        key = "file_id"
    else:
        return None
    fields = tuple((name, value) for name, value in part.items() if name not in ("type", key))
    return Document(source=source, extra=Extra(dialect=DIALECT, fields=fields, keys=tuple(part)))


def _encode_document(document: Document, usual: TextKind) -> JsonObject:
    match document.source:
        case {"type": "base64"}:
            part: JsonObject = {"type": "input_file", "file_data": address_of(document.source)}
            if not belongs(document.extra, DIALECT):
                # OpenAI, file inputs guide: data without a file name is refused.
                part["filename"] = title_of(document) or "document.pdf"
        case {"type": "url", "url": str(address)}:
            part = {"type": "input_file", "file_url": address}
        case {"type": "file", "file_id": str(file)}:
            part = {"type": "input_file", "file_id": file}
        case {"type": "text", "data": str(text)}:
            return {"type": usual, "text": text}
        case _:
            raise untranslatable(document)
    return lay_out(part, document.extra, DIALECT)
