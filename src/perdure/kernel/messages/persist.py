"""Messages, blocks and tools as JSON objects that a store keeps, and back: equal, whatever dialect they came from.

It knows every field of the values. It must never know a dialect nor a file. A field that has its usual value is left
out, so that a log does not grow by what says nothing; an absent field is read as that usual value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from perdure.kernel.errors import InvalidJson
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
from perdure.kernel.messages.canonical import Json, JsonObject
from perdure.kernel.messages.extra import Extra
from perdure.kernel.messages.fields import Fields
from perdure.kernel.messages.message import Message, Usage
from perdure.kernel.messages.request import Tool


def message_to_json(message: Message) -> JsonObject:
    """The message as a JSON object, which `message_from_json` turns back into an equal one."""
    stored: JsonObject = {
        "id": message.id,
        "role": message.role,
        "provenance": message.provenance,
        "content": [block_to_json(block) for block in message.content],
    }
    if message.plain:
        stored["plain"] = True
    _put(stored, "time", message.time)
    _put(stored, "model", message.model)
    _put(stored, "stop_reason", message.stop_reason)
    if message.usage is not None:
        stored["usage"] = usage_to_json(message.usage)
    return _with_extra(stored, message.extra)


def message_from_json(given: Json) -> Message:
    """The message that `message_to_json` wrote.

    Raises:
        InvalidJson: a field of another kind than it writes; the message names it.
    """
    fields = Fields(given, "the message")
    usage = fields.optional_object("usage")
    return Message(
        id=fields.text("id"),
        role=fields.one_of("role", "user", "assistant", "system", "developer"),
        provenance=fields.one_of("provenance", "user", "assistant", "tool", "harness", "web", "peer"),
        content=fields.each("content", block_from_json),
        plain=fields.truth("plain"),
        time=fields.time("time"),
        model=fields.optional_text("model"),
        stop_reason=fields.optional_text("stop_reason"),
        usage=None if usage is None else usage_from_json(usage),
        extra=_extra(fields),
    )


def block_to_json(block: Block) -> JsonObject:
    """The block as a JSON object with a `type` of its own, which `block_from_json` turns back into an equal one."""
    match block:
        case Text(text=text):
            stored: JsonObject = {"type": "text", "text": text}
        case Thinking(thinking=thinking, signature=signature):
            stored = _some("thinking", thinking=thinking, signature=signature)
        case RedactedThinking(data=data):
            stored = {"type": "redacted_thinking", "data": data}
        case ToolUse():
            stored = _some("tool_use", id=block.id, name=block.name, input=block.input, raw_input=block.raw_input)
        case ToolResult(content=content):
            inner: Json = [block_to_json(one) for one in content] if isinstance(content, tuple) else content
            stored = _some("tool_result", tool_use_id=block.tool_use_id, content=inner, is_error=block.is_error)
        case Image(source=source):
            stored = {"type": "image", "source": source}
        case Document(source=source):
            stored = {"type": "document", "source": source}
        case Compaction():
            stored = _some(
                "compaction",
                content=block.content,
                encrypted_content=block.encrypted_content,
                signature=block.signature,
                tool_changes=block.tool_changes,
            )
        case ServerToolUse():
            stored = _some("server_tool_use", kind=block.kind, id=block.id, name=block.name, input=block.input)
        case ServerToolResult():
            stored = _some("server_tool_result", kind=block.kind, tool_use_id=block.tool_use_id, content=block.content)
        case ToolReference(tool_name=name):
            stored = {"type": "tool_reference", "tool_name": name}
        case Unknown(dialect=dialect, raw=raw):
            return {"type": "unknown", "dialect": dialect, "raw": raw}
    return _with_extra(stored, block.extra)


def block_from_json(given: Json) -> Block:
    """The block that `block_to_json` wrote.

    Raises:
        InvalidJson: an unknown type, or a field of another kind than it writes.
    """
    fields = Fields(given, "the block")
    kind = fields.text("type")
    make = _MAKERS.get(kind)
    if make is None:
        raise InvalidJson(f"there is no block of the type {kind!r}; a newer version may have written it")
    return make(fields)


def usage_to_json(usage: Usage) -> JsonObject:
    """The counts as a JSON object, the provider's own object included."""
    counts: JsonObject = {
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "output_tokens": usage.output_tokens,
    }
    stored: JsonObject = {name: count for name, count in counts.items() if count}
    if usage.raw is not None:
        stored["raw"] = usage.raw
    return stored


def usage_from_json(given: Json) -> Usage:
    """The counts that `usage_to_json` wrote.

    Raises:
        InvalidJson: a field of another kind than it writes.
    """
    fields = Fields(given, "the usage")
    return Usage(
        input_tokens=fields.tokens("input_tokens"),
        cache_read_tokens=fields.tokens("cache_read_tokens"),
        cache_write_tokens=fields.tokens("cache_write_tokens"),
        cache_write_1h_tokens=fields.tokens("cache_write_1h_tokens"),
        output_tokens=fields.tokens("output_tokens"),
        raw=fields.optional_object("raw"),
    )


def tool_to_json(tool: Tool) -> JsonObject:
    """The tool as a JSON object, which `tool_from_json` turns back into an equal one."""
    stored: JsonObject = {"name": tool.name}
    _put(stored, "description", tool.description)
    _put(stored, "schema", tool.schema)
    return _with_extra(stored, tool.extra)


def tool_from_json(given: Json) -> Tool:
    """The tool that `tool_to_json` wrote.

    Raises:
        InvalidJson: a field of another kind than it writes.
    """
    fields = Fields(given, "the tool")
    return Tool(
        name=fields.text("name"),
        description=fields.optional_text("description"),
        schema=fields.optional_object("schema"),
        extra=_extra(fields),
    )


def _put(stored: JsonObject, name: str, value: Json) -> None:
    if value is not None:
        stored[name] = value


def _some(type: str, /, **given: Json) -> JsonObject:
    """An object of this type with the fields that are not None."""
    stored: JsonObject = {"type": type}
    stored.update((name, value) for name, value in given.items() if value is not None)
    return stored


def _with_extra(stored: JsonObject, extra: Extra | None) -> JsonObject:
    if extra is not None:
        kept: JsonObject = {"dialect": extra.dialect}
        if extra.fields:
            kept["fields"] = [[name, value] for name, value in extra.fields]
        if extra.keys:
            kept["keys"] = [*extra.keys]
        stored["extra"] = kept
    return stored


def _extra(fields: Fields) -> Extra | None:
    given = fields.optional_object("extra")
    if given is None:
        return None
    inner = Fields(given, "'extra'")
    return Extra(dialect=inner.text("dialect"), fields=inner.each("fields", _pair), keys=inner.texts("keys"))


def _pair(given: Json) -> tuple[str, Json]:
    match given:
        case [str(name), value]:
            return name, value
        case _:
            raise InvalidJson("each of the 'fields' of 'extra' must be an array of a name and a value")


def _tool_result(fields: Fields) -> ToolResult:
    content = fields.value("content")
    return ToolResult(
        tool_use_id=fields.text("tool_use_id"),
        content=fields.each("content", block_from_json)
        if isinstance(content, list)
        else fields.optional_text("content"),
        is_error=fields.optional_truth("is_error"),
        extra=_extra(fields),
    )


def _tool_use(fields: Fields) -> ToolUse:
    return ToolUse(
        id=fields.text("id"),
        name=fields.text("name"),
        input=fields.object("input"),
        raw_input=fields.optional_text("raw_input"),
        extra=_extra(fields),
    )


def _compaction(fields: Fields) -> Compaction:
    return Compaction(
        content=fields.optional_text("content"),
        encrypted_content=fields.optional_text("encrypted_content"),
        signature=fields.optional_text("signature"),
        tool_changes=None if fields.value("tool_changes") is None else fields.items("tool_changes"),
        extra=_extra(fields),
    )


def _server_tool_use(fields: Fields) -> ServerToolUse:
    return ServerToolUse(
        kind=fields.text("kind"),
        id=fields.text("id"),
        name=fields.text("name"),
        input=fields.object("input"),
        extra=_extra(fields),
    )


def _server_tool_result(fields: Fields) -> ServerToolResult:
    return ServerToolResult(
        kind=fields.text("kind"),
        tool_use_id=fields.text("tool_use_id"),
        content=fields.value("content"),
        extra=_extra(fields),
    )


_Maker: TypeAlias = Callable[[Fields], Block]

_MAKERS: dict[str, _Maker] = {
    "text": lambda fields: Text(text=fields.text("text"), extra=_extra(fields)),
    "thinking": lambda fields: Thinking(
        thinking=fields.text("thinking"), signature=fields.optional_text("signature"), extra=_extra(fields)
    ),
    "redacted_thinking": lambda fields: RedactedThinking(data=fields.text("data"), extra=_extra(fields)),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": lambda fields: Image(source=fields.object("source"), extra=_extra(fields)),
    "document": lambda fields: Document(source=fields.object("source"), extra=_extra(fields)),
    "compaction": _compaction,
    "server_tool_use": _server_tool_use,
    "server_tool_result": _server_tool_result,
    "tool_reference": lambda fields: ToolReference(tool_name=fields.text("tool_name"), extra=_extra(fields)),
    "unknown": lambda fields: Unknown(dialect=fields.text("dialect"), raw=fields.object("raw")),
}
