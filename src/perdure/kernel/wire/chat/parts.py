"""The parts of a chat message's content, its tool calls, and the blocks that they are.

It knows one part or call at a time. It must never know the message that holds it.
"""

from __future__ import annotations

from typing import Literal

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import Block, Document, Extra, Image, Json, JsonObject, Text, ToolUse, Unknown, lay_out
from perdure.kernel.wire.openai import (
    address_of,
    belongs,
    decode_arguments,
    encode_arguments,
    source_of,
    template,
    title_of,
    type_of,
)

DIALECT: Literal["chat"] = "chat"

_CALL = ("id", "type", "function")
_FUNCTION = ("name", "arguments")


def decode_part(part: JsonObject) -> Block:
    """The block of one part; a part of a kind or shape that is new is carried whole."""
    match part:
        case {"type": "text", "text": str(text)}:
            fields = _beyond(part, ("type", "text"))
            extra = None if tuple(part) == ("type", "text") else _extra(part, fields)
            return Text(text=text, extra=extra)
        case {"type": "image_url", "image_url": {"url": str(address)} as image}:
            # The inner object goes along with an empty place for its address, since `detail` and more may stand there.
            fields = (*_beyond(part, ("type", "image_url")), ("image_url", template(image, ("url",))))
            return Image(source=source_of(address), extra=_extra(part, fields))
        case {"type": "file", "file": dict(file)}:
            return _decode_file(part, file)
        case _:
            return Unknown(dialect=DIALECT, raw=part)


def encode_part(block: Block) -> JsonObject:
    """The part that a block is.

    Raises:
        UntranslatableBlock: this dialect has no part for it.
    """
    match block:
        case Text(text=text, extra=extra):
            return lay_out({"type": "text", "text": text}, extra, DIALECT)
        case Image(source=source, extra=extra) if (address := address_of(source)) is not None:
            image: JsonObject = {**inner(extra, "image_url"), "url": address}
            return lay_out({"type": "image_url", "image_url": image}, extra, DIALECT)
        case Document():
            return _encode_document(block)
        case Unknown(dialect=dialect, raw=raw) if dialect == DIALECT:
            return raw
        case _:
            raise untranslatable(block)


def decode_call(call: Json) -> ToolUse | None:
    """The block of one entry of `tool_calls`; None where its shape is new."""
    if isinstance(call, dict) and tuple(call) == _CALL and call["type"] == "function":
        usual = _usual_call(call["id"], call["function"])
        if usual is not None:
            return usual
    match call:
        case {"id": str(name), "function": {"name": str(tool), "arguments": str(text)} as function} if (
            call.get("type", "function") == "function"
        ):
            given, raw = decode_arguments(text)
            fields = (*_beyond(call, ("id", "function")), ("function", template(function, _FUNCTION)))
            return ToolUse(id=name, name=tool, input=given, raw_input=raw, extra=_extra(call, fields))
        case {"id": str(name), "type": "custom", "custom": {"name": str(tool), "input": str(text)} as custom}:
            fields = (*_beyond(call, ("id", "custom")), ("custom", template(custom, ("name", "input"))))
            return ToolUse(id=name, name=tool, input={}, raw_input=text, extra=_extra(call, fields))
        case _:
            return None


def _usual_call(name: Json, function: Json) -> ToolUse | None:
    """The block of a call that has no field beyond the usual ones, which is nearly every call."""
    if not isinstance(name, str) or not isinstance(function, dict) or tuple(function) != _FUNCTION:
        return None
    tool, text = function["name"], function["arguments"]
    if not isinstance(tool, str) or not isinstance(text, str):
        return None
    given, raw = decode_arguments(text)
    return ToolUse(id=name, name=tool, input=given, raw_input=raw)


def encode_call(call: ToolUse) -> JsonObject:
    """The entry of `tool_calls` that a block is."""
    text, extra = encode_arguments(call), call.extra
    kind = type_of(extra, DIALECT, "function")
    known: JsonObject = {"id": call.id, "type": kind}
    if kind == "custom":
        known["custom"] = {**inner(extra, "custom"), "name": call.name, "input": text}
    else:
        known["function"] = {**inner(extra, "function"), "name": call.name, "arguments": text}
    if extra is not None and belongs(extra, DIALECT) and extra.keys and "type" not in extra.keys:
        del known["type"]
    return lay_out(known, extra, DIALECT)


def inner(extra: Extra | None, field: str) -> JsonObject:
    """The object that an `Extra` of this dialect carries under a name, with empty places for typed values."""
    value = extra.get(field) if extra is not None and extra.dialect == DIALECT else None
    return value if isinstance(value, dict) else {}


def untranslatable(block: Block) -> UntranslatableBlock:
    """The error for a block that has no form here."""
    kind = block.dialect if isinstance(block, Unknown) else type(block).__name__
    return UntranslatableBlock(
        f"Chat Completions has no form for a block of kind {kind!r} in this place; remove it before encoding"
    )


def _decode_file(part: JsonObject, file: JsonObject) -> Block:
    data, name = file.get("file_data"), file.get("file_id")
    source: JsonObject
    if isinstance(data, str) and source_of(data)["type"] == "base64":
        key, source = "file_data", source_of(data)
    elif isinstance(name, str):
        source = {"type": "file", "file_id": name}
        key = "file_id"
    else:
        return Unknown(dialect=DIALECT, raw=part)
    fields = (*_beyond(part, ("type", "file")), ("file", template(file, (key,))))
    return Document(source=source, extra=_extra(part, fields))


def _encode_document(document: Document) -> JsonObject:
    file = inner(document.extra, "file")
    match document.source:
        case {"type": "base64"}:
            if not file:
                # OpenAI, file inputs guide: data without a file name is refused.
                file = JsonObject(filename=title_of(document) or "document.pdf")
            file = {**file, "file_data": address_of(document.source)}
        case {"type": "file", "file_id": str(name)}:
            file = {**file, "file_id": name}
        case {"type": "text", "data": str(text)}:
            return {"type": "text", "text": text}
        case _:
            raise untranslatable(document)
    return lay_out({"type": "file", "file": file}, document.extra, DIALECT)


def _beyond(given: JsonObject, typed: tuple[str, ...]) -> tuple[tuple[str, Json], ...]:
    return tuple((key, value) for key, value in given.items() if key not in typed)


def _extra(given: JsonObject, fields: tuple[tuple[str, Json], ...]) -> Extra:
    return Extra(dialect=DIALECT, fields=fields, keys=tuple(given))
