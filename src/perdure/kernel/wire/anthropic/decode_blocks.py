"""From a content block of the Messages API to a value.

It knows the fields of each kind of block (SDK `anthropic` 2.14.0, `types/beta`). It must never know a message: whatever
a block of the named kind lacks or has in another type than the documented one, the block goes round as `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Image,
    Json,
    JsonObject,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    extra_of,
)
from perdure.kernel.wire.anthropic.names import DIALECT, SERVER_RESULT_ENDING


def decode_block(given: JsonObject) -> Block:
    """The value of one wire object, which is taken over and not copied."""
    kind = given.get("type")
    if isinstance(kind, str):
        read = _READERS.get(kind)
        if read is None and kind.endswith(SERVER_RESULT_ENDING):
            read = _server_tool_result
        block = read(given) if read is not None else None
        if block is not None:
            return block
    return Unknown(dialect=DIALECT, raw=given)


def _text(given: JsonObject) -> Text | None:
    text = given.get("text")
    if not isinstance(text, str):
        return None
    return Text(text=text, extra=extra_of(DIALECT, given, _TEXT))


def _thinking(given: JsonObject) -> Thinking | None:
    thinking, signature = given.get("thinking"), given.get("signature")
    if not isinstance(thinking, str) or not isinstance(signature, str):
        return None
    return Thinking(thinking=thinking, signature=signature, extra=extra_of(DIALECT, given, _THINKING))


def _redacted_thinking(given: JsonObject) -> RedactedThinking | None:
    data = given.get("data")
    if not isinstance(data, str):
        return None
    return RedactedThinking(data=data, extra=extra_of(DIALECT, given, _REDACTED))


def _tool_use(given: JsonObject) -> ToolUse | None:
    call, name, arguments = given.get("id"), given.get("name"), given.get("input")
    if not isinstance(call, str) or not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return ToolUse(id=call, name=name, input=arguments, extra=extra_of(DIALECT, given, _TOOL_USE))


def _tool_result(given: JsonObject) -> ToolResult | None:
    call = given.get("tool_use_id")
    if not isinstance(call, str):
        return None
    content = _result_content(given.get("content"))
    is_error = given.get("is_error")
    error = is_error if isinstance(is_error, bool) else None
    known = _TOOL_RESULT[content is not None, error is not None]
    return ToolResult(tool_use_id=call, content=content, is_error=error, extra=extra_of(DIALECT, given, known))


def _result_content(content: Json) -> str | tuple[Block, ...] | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    blocks = _objects(content)
    return tuple(decode_block(block) for block in blocks) if len(blocks) == len(content) else None


def _image(given: JsonObject) -> Image | None:
    source = given.get("source")
    if not isinstance(source, dict):
        return None
    return Image(source=source, extra=extra_of(DIALECT, given, _MEDIA))


def _document(given: JsonObject) -> Document | None:
    source = given.get("source")
    if not isinstance(source, dict):
        return None
    return Document(source=source, extra=extra_of(DIALECT, given, _MEDIA))


def _compaction(given: JsonObject) -> Compaction | None:
    """A `content` of null says that the compaction failed; one that is absent is no shape of the API."""
    content, hidden = given.get("content", False), given.get("encrypted_content")
    signature, changes = given.get("signature"), given.get("tool_changes")
    if content is not None and not isinstance(content, str):
        return None
    known = (
        "type",
        *(("content",) if content is not None else ()),
        *(("encrypted_content",) if isinstance(hidden, str) else ()),
        *(("signature",) if isinstance(signature, str) else ()),
        *(("tool_changes",) if isinstance(changes, list) else ()),
    )
    return Compaction(
        content=content,
        encrypted_content=hidden if isinstance(hidden, str) else None,
        signature=signature if isinstance(signature, str) else None,
        tool_changes=changes if isinstance(changes, list) else None,
        extra=extra_of(DIALECT, given, known),
    )


def _server_tool_use(given: JsonObject) -> ServerToolUse | None:
    call, name, arguments = given.get("id"), given.get("name"), given.get("input")
    if not isinstance(call, str) or not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    extra = extra_of(DIALECT, given, _TOOL_USE)
    return ServerToolUse(kind=str(given["type"]), id=call, name=name, input=arguments, extra=extra)


def _server_tool_result(given: JsonObject) -> ServerToolResult | None:
    call = given.get("tool_use_id")
    if not isinstance(call, str) or "content" not in given:
        return None
    extra = extra_of(DIALECT, given, _SERVER_RESULT)
    return ServerToolResult(kind=str(given["type"]), tool_use_id=call, content=given["content"], extra=extra)


def _tool_reference(given: JsonObject) -> ToolReference | None:
    name = given.get("tool_name")
    if not isinstance(name, str):
        return None
    return ToolReference(tool_name=name, extra=extra_of(DIALECT, given, _REFERENCE))


def _objects(values: Iterable[Json]) -> list[JsonObject]:
    return [value for value in values if isinstance(value, dict)]


# The usual order of the fields of each kind: as the SDK's examples and the provider's documentation write them.
_TEXT = ("type", "text")
_THINKING = ("type", "thinking", "signature")
_REDACTED = ("type", "data")
_TOOL_USE = ("type", "id", "name", "input")
_TOOL_RESULT = {
    (True, True): ("type", "tool_use_id", "content", "is_error"),
    (True, False): ("type", "tool_use_id", "content"),
    (False, True): ("type", "tool_use_id", "is_error"),
    (False, False): ("type", "tool_use_id"),
}
_MEDIA = ("type", "source")
_SERVER_RESULT = ("type", "tool_use_id", "content")
_REFERENCE = ("type", "tool_name")

_READERS: dict[str, Callable[[JsonObject], Block | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted_thinking,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _document,
    "compaction": _compaction,
    "server_tool_use": _server_tool_use,
    "mcp_tool_use": _server_tool_use,
    "tool_reference": _tool_reference,
}
