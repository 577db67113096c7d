"""From a value to a content block of the Messages API.

It knows the fields of each kind of block and which blocks of other dialects have no form here. It must never drop or
bend what it cannot carry: that is refused by name.
"""

from __future__ import annotations

from typing import NoReturn

from perdure.kernel.errors import InvalidJson, UntranslatableBlock
from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Extra,
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
    decode_json,
    lay_out,
)
from perdure.kernel.wire.anthropic.names import DIALECT, SERVER_RESULT_ENDING, SERVER_TOOL_USES


def block_object(block: Block) -> JsonObject:
    """The wire object of one block. It shares the mutable parts of the value.

    Raises:
        UntranslatableBlock: the block has no form in this dialect.
    """
    match block:
        case Text(text=text, extra=extra):
            return lay_out({"type": "text", "text": text}, extra, DIALECT)
        case ToolUse(id=call, name=name, extra=extra):
            return lay_out({"type": "tool_use", "id": call, "name": name, "input": _arguments(block)}, extra, DIALECT)
        case ToolResult():
            return _tool_result(block)
        case Thinking() | RedactedThinking():
            return _reasoning(block)
        case Image(source=source, extra=extra):
            return lay_out({"type": "image", "source": source}, extra, DIALECT)
        case Document(source=source, extra=extra):
            return lay_out({"type": "document", "source": source}, extra, DIALECT)
        case Compaction():
            return _compaction(block)
        case ServerToolUse() | ServerToolResult():
            return _server_block(block)
        case ToolReference(tool_name=name, extra=extra):
            return lay_out({"type": "tool_reference", "tool_name": name}, extra, DIALECT)
        case Unknown(dialect=dialect, raw=raw):
            if dialect != DIALECT:
                _refuse(f"a block of the kind {raw.get('type')!r} that only the dialect {dialect!r} knows")
            return raw


def _arguments(block: ToolUse) -> JsonObject:
    if block.raw_input is None:
        return block.input
    try:
        arguments = decode_json(block.raw_input)
    except InvalidJson as error:
        raise UntranslatableBlock(
            f"the arguments of the call {block.id!r} are no JSON, as where an answer was cut off; take the call out"
        ) from error
    if not isinstance(arguments, dict):
        _refuse(f"the call {block.id!r}, whose arguments are no JSON object,")
    return arguments


def _tool_result(block: ToolResult) -> JsonObject:
    known: JsonObject = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if isinstance(block.content, str):
        known["content"] = block.content
    elif block.content is not None:
        known["content"] = [block_object(inner) for inner in block.content]
    if block.is_error is not None:
        known["is_error"] = block.is_error
    return lay_out(known, block.extra, DIALECT)


def _reasoning(block: Thinking | RedactedThinking) -> JsonObject:
    if _is_foreign(block.extra):
        _refuse("thinking of another provider's model")
    if isinstance(block, RedactedThinking):
        return lay_out({"type": "redacted_thinking", "data": block.data}, block.extra, DIALECT)
    if block.signature is None:
        _refuse("thinking without a signature")
    known: JsonObject = {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
    return lay_out(known, block.extra, DIALECT)


def _compaction(block: Compaction) -> JsonObject:
    """A failed compaction has a `content` of null, which stands in its `extra`; OpenAI's form has no content at all."""
    if _is_foreign(block.extra) or (block.content is None and not _has_null_content(block.extra)):
        _refuse("a compaction of another provider")
    fields: dict[str, Json] = {
        "content": block.content,
        "encrypted_content": block.encrypted_content,
        "signature": block.signature,
        "tool_changes": block.tool_changes,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return lay_out({"type": "compaction", **given}, block.extra, DIALECT)


def _has_null_content(extra: Extra | None) -> bool:
    return extra is not None and ("content", None) in extra.fields


def _server_block(block: ServerToolUse | ServerToolResult) -> JsonObject:
    if isinstance(block, ServerToolUse):
        fits = block.kind in SERVER_TOOL_USES
        known: JsonObject = {"type": block.kind, "id": block.id, "name": block.name, "input": block.input}
    else:
        fits = block.kind.endswith(SERVER_RESULT_ENDING)
        known = {"type": block.kind, "tool_use_id": block.tool_use_id, "content": block.content}
    if not fits or _is_foreign(block.extra):
        _refuse(f"a block of the kind {block.kind!r}, which another provider made,")
    return lay_out(known, block.extra, DIALECT)


def _is_foreign(extra: Extra | None) -> bool:
    return extra is not None and extra.dialect != DIALECT


def _refuse(what: str) -> NoReturn:
    raise UntranslatableBlock(f"{what} has no form in the dialect {DIALECT!r}; replace it by text, or take it out")
