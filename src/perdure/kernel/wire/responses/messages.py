"""The flat list of items and the messages that it is: a partition of neighbours, so that encoding is concatenation.

It knows who says an item. It must never know a request. What a model does in a row (reasoning, text, calls, hosted
tools, compaction) is one assistant message; results in a row are one message of provenance `tool`; each message item
of another role is a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Literal, TypeAlias, cast

from perdure.kernel.messages import (
    Block,
    Extra,
    Json,
    JsonObject,
    Message,
    Role,
    Text,
    Unknown,
    encode_json,
    lay_out,
    received,
)
from perdure.kernel.wire.openai import belongs
from perdure.kernel.wire.responses.items import decode_item, encode_item
from perdure.kernel.wire.responses.parts import DIALECT, ITEM, TextKind, decode_part, encode_part, is_part, is_part_kind

Side: TypeAlias = Literal["assistant", "tool", "said"]

_RESULTS = frozenset({
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "mcp_approval_response",
})  # fmt: skip

_USUAL = ("type", "role", "content")

_BEGINS_USUAL = Extra(dialect=DIALECT, fields=((ITEM, {"type": "message", "role": "assistant", "content": None}),))
"""What a text carries that begins a message item of the usual shape: one for all of them."""


def decode_items(items: Iterable[JsonObject], first: int = 0) -> tuple[Message, ...]:
    """The messages of a list of items; ids count from `first`.

    Raises:
        InvalidMessage: an item of a shape that no list of items can hold.
    """
    messages: list[Message] = []
    for side, run in groupby(items, _side):
        name = f"m{first + len(messages)}"
        if side == "said":
            for item in run:
                messages.append(_decode_said(item, f"m{first + len(messages)}"))
        elif side == "tool":
            content = tuple(decode_item(item) for item in run)
            messages.append(received(id=name, role="user", content=content, provenance="tool", plain=False, extra=None))
        else:
            content = decode_output(run)
            messages.append(
                received(id=name, role="assistant", content=content, provenance="assistant", plain=False, extra=None)
            )
    return tuple(messages)


def decode_output(items: Iterable[JsonObject]) -> tuple[Block, ...]:
    """The blocks of what a model said in a row."""
    blocks: list[Block] = []
    for item in items:
        if _is_message(item):
            blocks.extend(_decode_answer(item))
        else:
            blocks.append(decode_item(item))
    return tuple(blocks)


def encode_message(message: Message) -> list[JsonObject]:
    """The items that a message is.

    Results come before what is said beside them, since OpenAI wants each call answered first.

    Raises:
        UntranslatableBlock: a block that has no form here.
    """
    return _encode_answer(message.content) if message.role == "assistant" else _encode_said(message)


def encoded(messages: Iterable[Message]) -> list[bytes]:
    """Each message as bytes, with commas between its items and no brackets; made once and kept with it."""
    return Message.encodings(messages, DIALECT, _encode)


def _encode(message: Message) -> bytes:
    items: list[Json] = [*encode_message(message)]
    return encode_json(items)[1:-1]


def _is_message(item: JsonObject) -> bool:
    return "role" in item and item.get("type", "message") == "message"


def _side(item: JsonObject) -> Side:
    kind = item.get("type", "message")
    if isinstance(kind, str) and kind in _RESULTS:
        return "tool"
    if kind == "message" and "role" in item:
        return "assistant" if item["role"] == "assistant" else "said"
    if kind == "tool_search_output" and item.get("execution") != "server":
        return "tool"
    return "said" if kind == "compaction_trigger" else "assistant"


def _decode_said(item: JsonObject, name: str) -> Message:
    role = item.get("role")
    content = _content(item, "input_text")
    if role not in ("user", "system", "developer") or content is None:
        whole = (Unknown(dialect=DIALECT, raw=item),)
        known_role = cast("Role", role) if role in ("user", "system", "developer") else "user"
        return Message(id=name, role=known_role, content=whole, provenance="user" if role == "user" else "harness")
    return Message(
        id=name,
        role=cast("Role", role),
        content=content,
        provenance="user" if role == "user" else "harness",
        plain=isinstance(item["content"], str),
        extra=None if tuple(item) == _USUAL and content else _envelope_of(item),
    )


def _envelope_of(item: JsonObject) -> Extra:
    fields = tuple((key, value) for key, value in item.items() if key not in _USUAL)
    return Extra(dialect=DIALECT, fields=fields, keys=tuple(item))


def _encode_said(message: Message) -> list[JsonObject]:
    items: list[JsonObject] = []
    parts: list[Json] = []
    for block in message.content:
        if is_part(block):
            parts.append(encode_part(block, "input_text"))
        else:
            items.append(encode_item(block))
    if parts or belongs(message.extra, DIALECT):
        items.append(_encode_envelope(message, parts))
    return items


def _encode_envelope(message: Message, parts: list[Json]) -> JsonObject:
    content = _bare(parts, "input_text") if message.plain else parts
    known: JsonObject = {"type": "message", "role": message.role, "content": content}
    extra = message.extra
    if extra is not None and extra.dialect == DIALECT and extra.keys and "type" not in extra.keys:
        del known["type"]
    return lay_out(known, extra, DIALECT)


def _decode_answer(item: JsonObject) -> tuple[Block, ...]:
    """The parts of an assistant's message item. The first text carries the item that it begins."""
    if tuple(item) == _USUAL and item["type"] == "message" and item["role"] == "assistant":
        text = _only_text(item["content"])
        if text is not None:
            return (Text(text=text, extra=_BEGINS_USUAL),)
    match _content(item, "output_text"):
        case (Text(text=text, extra=extra), *rest):
            place: Json = "" if isinstance(item["content"], str) else None
            begun = (ITEM, cast("Json", {**item, "content": place}))
            fields = (begun, *extra.fields) if extra else (begun,)
            first = Text(text=text, extra=Extra(dialect=DIALECT, fields=fields, keys=extra.keys if extra else ()))
            return (first, *rest)
        case _:
            return (Unknown(dialect=DIALECT, raw=item),)


def _only_text(content: Json) -> str | None:
    """The text of a content that is one part of text, with no field beyond."""
    if not isinstance(content, list) or len(content) != 1:
        return None
    part = content[0]
    if not isinstance(part, dict) or tuple(part) != ("type", "text") or part["type"] != "output_text":
        return None
    return part["text"] if isinstance(part["text"], str) else None


def _encode_answer(content: tuple[Block, ...]) -> list[JsonObject]:
    items: list[JsonObject] = []
    parts: list[Json] | None = None
    plain: list[JsonObject] = []
    for block in content:
        if not is_part(block):
            parts = None
            items.append(encode_item(block))
            continue
        begun = _begun(block)
        if begun is not None or parts is None:
            parts = []
            item: JsonObject = {**(begun or {"type": "message", "role": "assistant"}), "content": parts}
            items.append(item)
            if begun is not None and begun.get("content") == "":
                plain.append(item)
        parts.append(encode_part(block, "output_text"))
    for item in plain:
        item["content"] = _bare(cast("list[Json]", item["content"]), "output_text")
    return items


def _begun(block: Block) -> JsonObject | None:
    """The message item that begins with this block, with an empty place for its content."""
    if isinstance(block, Text) and block.extra is not None and block.extra.dialect == DIALECT:
        item = block.extra.get(ITEM)
        if isinstance(item, dict):
            return item
    return None


def _content(item: JsonObject, usual: TextKind) -> tuple[Block, ...] | None:
    """The blocks of a message item's content; None where a part is of a kind that is no part's."""
    content = item.get("content")
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return None
    blocks: list[Block] = []
    for part in content:
        if not isinstance(part, dict) or not is_part_kind(part.get("type")):
            return None
        blocks.append(decode_part(part, usual))
    return tuple(blocks)


def _bare(parts: list[Json], usual: TextKind) -> Json:
    """The bare text that a list of parts can be, or else the list."""
    match parts:
        case []:
            return ""
        case [{"type": kind, "text": str(text), **rest}] if kind == usual and not rest:
            return text
        case _:
            return parts
