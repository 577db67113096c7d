"""The items that are blocks of their own: reasoning, calls, results of calls, compaction, and whatever is new.

It knows one item at a time. It must never know its neighbours: `messages` groups them.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Block,
    Compaction,
    Extra,
    Json,
    JsonObject,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    extra_of,
    lay_out,
)
from perdure.kernel.wire.openai import belongs, decode_arguments, encode_arguments, mark_error, mark_first
from perdure.kernel.wire.responses.parts import (
    DIALECT,
    decode_part,
    encode_part,
    is_part_kind,
    kind_unless_told,
    untranslatable,
)


def decode_item(item: JsonObject) -> Block:
    """The block of one item that is no message.

    Raises:
        InvalidMessage: a content part where an item belongs.
    """
    kind = item.get("type")
    if not isinstance(kind, str):
        return Unknown(dialect=DIALECT, raw=item)
    decode = _DECODERS.get(kind)
    if decode is not None:
        return decode(item) or Unknown(dialect=DIALECT, raw=item)
    if is_part_kind(kind):
        raise InvalidMessage(f"{kind!r} is a content part; put it into the content of a message item")
    return Unknown(dialect=DIALECT, raw=item)


def encode_item(block: Block) -> JsonObject:
    """The item that a block is.

    A result that says it is an error begins with the word `Error`, since OpenAI has no field for it.

    Raises:
        UntranslatableBlock: this dialect has no item for it; reasoning and compaction of another provider are such.
    """
    match block:
        case ToolUse():
            return _encode_call(block)
        case ToolResult():
            return _encode_result(block)
        case Thinking(signature=hidden, extra=Extra(dialect="responses") as extra):
            known: JsonObject = {"type": "reasoning"}
            if hidden is not None:
                known["encrypted_content"] = hidden
            return lay_out(known, extra, DIALECT)
        case Compaction(encrypted_content=str(hidden), extra=extra) if extra is None or extra.dialect == DIALECT:
            return lay_out({"type": "compaction", "encrypted_content": hidden}, extra, DIALECT)
        case Unknown(dialect="responses", raw=raw):
            return raw
        case _:
            raise untranslatable(block)


def _decode_call(item: JsonObject) -> ToolUse | None:
    call, name, text = item.get("call_id"), item.get("name"), item.get("arguments")
    if not (isinstance(call, str) and isinstance(name, str) and isinstance(text, str)):
        return None
    given, raw = decode_arguments(text)
    extra = extra_of(DIALECT, item, ("type", "call_id", "name", "arguments"))
    return ToolUse(id=call, name=name, input=given, raw_input=raw, extra=extra)


def _decode_custom_call(item: JsonObject) -> ToolUse | None:
    call, name, text = item.get("call_id"), item.get("name"), item.get("input")
    if not (isinstance(call, str) and isinstance(name, str) and isinstance(text, str)):
        return None
    return ToolUse(
        id=call, name=name, input={}, raw_input=text, extra=extra_of(DIALECT, item, ("call_id", "name", "input"))
    )


def _decode_compaction(item: JsonObject) -> Compaction | None:
    """A compaction; its `Extra` is always there, and thereby says whose it is."""
    hidden = item.get("encrypted_content")
    if not isinstance(hidden, str):
        return None
    fields = _fields_beyond(item, ("type", "encrypted_content"))
    return Compaction(encrypted_content=hidden, extra=Extra(dialect=DIALECT, fields=fields, keys=tuple(item)))


def _decode_reasoning(item: JsonObject) -> Thinking:
    """Reasoning; its `Extra` is always there, and thereby says whose it is."""
    hidden = item.get("encrypted_content")
    signature = hidden if isinstance(hidden, str) else None
    typed = ("type",) if signature is None else ("type", "encrypted_content")
    return Thinking(
        thinking=_readable(item.get("summary")) or _readable(item.get("content")),
        signature=signature,
        extra=Extra(dialect=DIALECT, fields=_fields_beyond(item, typed), keys=tuple(item)),
    )


def _readable(parts: Json) -> str:
    if not isinstance(parts, list):
        return ""
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _encode_call(call: ToolUse) -> JsonObject:
    if call.extra and belongs(call.extra, DIALECT) and call.extra.get("type") == "custom_tool_call":
        return lay_out({"call_id": call.id, "name": call.name, "input": encode_arguments(call)}, call.extra, DIALECT)
    known: JsonObject = {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": encode_arguments(call),
    }
    return lay_out(known, call.extra, DIALECT)


def _decode_result(item: JsonObject) -> ToolResult | None:
    return _result(item, ("type", "call_id", "output"))


def _decode_custom_result(item: JsonObject) -> ToolResult | None:
    return _result(item, ("call_id", "output"))


def _result(item: JsonObject, known: tuple[str, ...]) -> ToolResult | None:
    call, output = item.get("call_id"), item.get("output")
    content: str | tuple[Block, ...]
    if isinstance(output, str):
        content = output
    elif isinstance(output, list):
        parts = [part for part in output if isinstance(part, dict)]
        if len(parts) != len(output):
            return None
        content = tuple(decode_part(part, "input_text") for part in parts)
    else:
        return None
    if not isinstance(call, str):
        return None
    return ToolResult(tool_use_id=call, content=content, extra=extra_of(DIALECT, item, known))


def _encode_result(result: ToolResult) -> JsonObject:
    known: JsonObject = {
        **kind_unless_told("function_call_output", result.extra),
        "call_id": result.tool_use_id,
        "output": _encode_output(result),
    }
    return lay_out(known, result.extra, DIALECT)


def _encode_output(result: ToolResult) -> Json:
    content = "" if result.content is None else result.content
    if isinstance(content, str):
        return mark_error(content) if result.is_error else content
    if result.is_error:
        content = mark_first(content)
    return [encode_part(block, "input_text") for block in content]


def _fields_beyond(item: JsonObject, typed: tuple[str, ...]) -> tuple[tuple[str, Json], ...]:
    return tuple([(key, value) for key, value in item.items() if key not in typed])


_DECODERS: dict[str, Callable[[JsonObject], Block | None]] = {
    "function_call": _decode_call,
    "function_call_output": _decode_result,
    "reasoning": _decode_reasoning,
    "custom_tool_call": _decode_custom_call,
    "custom_tool_call_output": _decode_custom_result,
    "compaction": _decode_compaction,
}
"""What decodes an item of each kind that has a block; it answers None for an item whose shape is new."""
