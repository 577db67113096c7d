"""The list of chat messages and the messages that it is.

It knows roles and the fields of a message. It must never know a request. Messages of role `tool` in a row are one
message of provenance `tool`, with one result for each; every other message is one message. What a message has beyond
its content and calls goes along in its `Extra`; a message of a shape that is new is carried whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import cast

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Block,
    Document,
    Extra,
    Image,
    Json,
    JsonObject,
    Message,
    Provenance,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    encode_json,
    extra_of,
    lay_out,
    received,
)
from perdure.kernel.wire.chat.parts import DIALECT, decode_call, decode_part, encode_call, encode_part, untranslatable
from perdure.kernel.wire.openai import mark_error, mark_first

REASONING = (
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "reasoning_text",
    "reasoning_opaque",
    "thinking_blocks",
)
"""Where servers put a model's reasoning: DeepSeek, vLLM, Moonshot; OpenRouter; Copilot; LiteLLM. OpenAI shows none."""

_ROLES: dict[str, tuple[Role, Provenance]] = {
    "user": ("user", "user"),
    "assistant": ("assistant", "assistant"),
    "system": ("system", "harness"),
    "developer": ("developer", "harness"),
    "tool": ("user", "tool"),
    "function": ("user", "tool"),
}

_USUAL = ("role", "content")
_USUAL_CALLS = ("role", "content", "tool_calls")
_USUAL_RESULT = ("role", "tool_call_id", "content")


def decode_list(items: Iterable[JsonObject], first: int = 0) -> tuple[Message, ...]:
    """The messages of a list; ids count from `first`.

    Raises:
        InvalidMessage: a message without a role.
    """
    messages: list[Message] = []
    for is_result, run in groupby(items, _is_result):
        if is_result:
            content = tuple(_decode_result(item) for item in run)
            messages.append(
                received(
                    id=f"m{first + len(messages)}",
                    role="user",
                    content=content,
                    provenance="tool",
                    plain=False,
                    extra=None,
                )
            )
        else:
            start = first + len(messages)
            messages.extend(decode_message(item, f"m{start + n}") for n, item in enumerate(run))
    return tuple(messages)


def decode_message(item: JsonObject, name: str) -> Message:
    """The value of one message that is no result.

    Raises:
        InvalidMessage: it has no role.
    """
    if "role" not in item:
        raise InvalidMessage("a chat message has a `role`; this one has none")
    role, provenance = _ROLES.get(str(item["role"]), ("user", "harness"))
    text = item.get("content")
    if item["role"] == role and isinstance(text, str) and text and tuple(item) == _USUAL:
        # Most messages of most histories: nothing else can be in them.
        return received(id=name, role=role, content=(Text(text=text),), provenance=provenance, plain=True, extra=None)
    decoded = None
    if item.get("role") == role:
        decoded = _decode_answer(item) if role == "assistant" else _decode_said(item)
    if decoded is None:
        return Message(id=name, role=role, content=(Unknown(dialect=DIALECT, raw=item),), provenance=provenance)
    content, extra = decoded
    return received(
        id=name, role=role, content=content, provenance=provenance, plain=isinstance(text, str), extra=extra
    )


def encode_message(message: Message) -> list[JsonObject]:
    """The chat messages that a message is.

    Results come before what is said beside them. A result that says it is an error begins with the word `Error`, since
    OpenAI has no field for it.

    Raises:
        UntranslatableBlock: a block that has no form here, such as reasoning or a picture in a result.
    """
    items: list[JsonObject] = []
    rest: list[Block] = []
    for block in message.content:
        match block:
            case ToolResult():
                items.append(_encode_result(block))
            case Unknown(dialect="chat", raw=raw) if "role" in raw:
                items.append(raw)
            case _:
                rest.append(block)
    if rest or (message.extra is not None and message.extra.dialect == DIALECT):
        items.append(_encode_answer(message, rest) if message.role == "assistant" else _encode_said(message, rest))
    return items


def encoded(messages: Iterable[Message]) -> list[bytes]:
    """Each message as bytes, with commas between its items and no brackets; made once and kept with it."""
    return Message.encodings(messages, DIALECT, _encode)


def _encode(message: Message) -> bytes:
    items: list[Json] = [*encode_message(message)]
    return encode_json(items)[1:-1]


def _is_result(item: JsonObject) -> bool:
    if item.get("role") != "tool" or not isinstance(item.get("tool_call_id"), str):
        return False
    return isinstance(item.get("content"), str) or _content(item) is not None


def _content(item: JsonObject) -> tuple[Block, ...] | None:
    """The blocks of a content; None where it is neither text nor a list of parts."""
    content = item.get("content")
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return None
    blocks: list[Block] = []
    for part in content:
        if not isinstance(part, dict) or "role" in part:
            return None
        blocks.append(decode_part(part))
    return tuple(blocks)


def _decode_result(item: JsonObject) -> ToolResult:
    content = item["content"]
    return ToolResult(
        tool_use_id=cast("str", item["tool_call_id"]),
        content=content if isinstance(content, str) else _content(item),
        extra=extra_of(DIALECT, item, _USUAL_RESULT),
    )


def _encode_result(result: ToolResult) -> JsonObject:
    content = "" if result.content is None else result.content
    encoded_content: Json
    if isinstance(content, str):
        encoded_content = mark_error(content) if result.is_error else content
    else:
        foreign = next((block for block in content if not _fits_a_result(block)), None)
        if foreign is not None:
            raise untranslatable(foreign)
        encoded_content = [encode_part(block) for block in (mark_first(content) if result.is_error else content)]
    known: JsonObject = {"role": "tool", "tool_call_id": result.tool_use_id, "content": encoded_content}
    return lay_out(known, result.extra, DIALECT)


def _fits_a_result(block: Block) -> bool:
    """OpenAI takes text alone in a result; what another server sent of other kinds goes back to it."""
    if isinstance(block, Image | Document):
        return block.extra is not None and block.extra.dialect == DIALECT
    return True


def _decode_said(item: JsonObject) -> tuple[tuple[Block, ...], Extra | None] | None:
    content = _content(item)
    if content is None:
        return None
    # Without content, the `Extra` alone tells that there is a message at all.
    extra = extra_of(DIALECT, item, _USUAL) or (None if content else Extra(dialect=DIALECT, keys=tuple(item)))
    return content, extra


def _encode_said(message: Message, blocks: list[Block]) -> JsonObject:
    known: JsonObject = {"role": message.role, "content": _said(blocks, message.plain)}
    return lay_out(known, message.extra, DIALECT)


def _said(blocks: list[Block], plain: bool) -> Json:
    parts: list[Json] = [encode_part(block) for block in blocks]
    match parts:
        case [] if plain:
            return ""
        case [{"type": "text", "text": str(text), **rest}] if plain and not rest:
            return text
        case _:
            return parts


def _decode_answer(item: JsonObject) -> tuple[tuple[Block, ...], Extra | None] | None:
    """The blocks of an assistant's message: reasoning, content, calls.

    Without text, the `Extra` says what stood in the place of the content: null, empty text, or nothing.
    """
    content = _content(item) if item.get("content") is not None else ()
    calls = _calls(item)
    if content is None or calls is None:
        return None
    keys = tuple(item)
    if keys == _USUAL_CALLS and calls and (item["content"] is None or (content and isinstance(item["content"], str))):
        return (*content, *calls), None
    known = ["role"]
    if content:
        known.append("content")
    if calls:
        known.append("tool_calls")
    reasoning = tuple((key, item[key]) for key in REASONING if item.get(key))
    thinking: tuple[Block, ...] = ()
    if reasoning:
        thinking = (Thinking(thinking=_readable(reasoning), extra=Extra(dialect=DIALECT, fields=reasoning)),)
    typed = {*known, *(key for key, _ in reasoning)}
    fields = tuple((key, value) for key, value in item.items() if key not in typed)
    return (*thinking, *content, *calls), Extra(dialect=DIALECT, fields=fields, keys=keys)


def _calls(item: JsonObject) -> tuple[ToolUse, ...] | None:
    """The calls of an answer; empty where `tool_calls` is absent, null or empty, None where a call has a new shape."""
    listed = item.get("tool_calls") or []
    if not isinstance(listed, list):
        return None
    calls: list[ToolUse] = []
    for given in listed:
        call = decode_call(given)
        if call is None:
            return None
        calls.append(call)
    return tuple(calls)


def _readable(reasoning: tuple[tuple[str, Json], ...]) -> str:
    """What may be read of the reasoning, which some servers tell twice."""
    for _, value in reasoning:
        if isinstance(value, str):
            return value
    for _, value in reasoning:
        if isinstance(value, list):
            parts = [part for part in value if isinstance(part, dict)]
            texts = [part.get("text") or part.get("summary") or part.get("thinking") for part in parts]
            return "\n\n".join(text for text in texts if isinstance(text, str))
    return ""


def _encode_answer(message: Message, blocks: list[Block]) -> JsonObject:
    extra = message.extra if message.extra is not None and message.extra.dialect == DIALECT else None
    known: JsonObject = {"role": "assistant"}
    content: list[Block] = []
    calls: list[Json] = []
    reasoning: JsonObject = {}
    for block in blocks:
        match block:
            case ToolUse():
                calls.append(encode_call(block))
            case Thinking(extra=Extra(dialect="chat", fields=fields)):
                reasoning.update(fields)
            case _:
                content.append(block)
    if content:
        known["content"] = _answer(content, message.plain, extra)
    elif extra is None or ("content" in extra.keys and extra.get("content") is None):
        known["content"] = None
    if calls:
        known["tool_calls"] = calls
    return lay_out(known | reasoning, extra, DIALECT)


def _answer(content: list[Block], plain: bool, extra: Extra | None) -> Json:
    """Text as text: of the servers that speak this dialect, not all take parts from an assistant."""
    if extra is None and all(isinstance(block, Text) for block in content):
        return "\n\n".join(block.text for block in content if isinstance(block, Text))
    return _said(content, plain)
