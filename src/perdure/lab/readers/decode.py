"""Provider-shaped messages in recordings, through the codecs, with what cannot be decoded reported.

It knows which dialect a list of messages is in. It must never know where they came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import Json, JsonObject, Message, ToolUse, freeze, freeze_object
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES, Codec, Dialect
from perdure.lab.readers.fields import text
from perdure.lab.readers.format import Troubles

_CODECS: dict[Dialect, Codec] = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT}

_SAYS: dict[str, Literal["anthropic", "chat"]] = {
    "tool_result": "anthropic",
    "tool_use": "anthropic",
    "thinking": "anthropic",
    "image": "anthropic",
    "document": "anthropic",
    "image_url": "chat",
    "input_audio": "chat",
    "file": "chat",
}
"""Kinds of content parts that only one of the two dialects has."""


def codec_of(dialect: Dialect) -> Codec:
    """The codec of a dialect."""
    return _CODECS[dialect]


def dialect_of(items: Sequence[Json]) -> Dialect:
    """The dialect of a list of messages: chat where a role, a call or a part says so, else Anthropic's."""
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        role = item.get("role")
        if role is None and isinstance(item.get("type"), str):
            return "responses"
        if role in ("tool", "function", "developer") or "tool_calls" in item or (role == "system" and place == 0):
            return "chat"
        content = item.get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in ("input_text", "output_text"):
                return "responses"
            if isinstance(kind, str) and kind in _SAYS:
                return _SAYS[kind]
    return "anthropic"


def decoded(dialect: Dialect, items: Sequence[JsonObject], line: int | None, troubles: Troubles) -> list[Message]:
    """The messages of a list. Where one cannot be decoded, the others are, and it is reported."""
    codec = codec_of(dialect)
    try:
        return list(codec.decode_messages(items))
    except (InvalidJson, InvalidMessage) as error:
        if len(items) == 1:
            troubles.add(line, f"a message cannot be decoded: {error}")
            return []
    messages: list[Message] = []
    for item in items:
        messages.extend(
            replace(message, id=f"m{len(messages) + n}")
            for n, message in enumerate(decoded(dialect, (item,), line, troubles))
        )
    return messages


def call(name: str, call_id: str, arguments: Json, line: int | None, troubles: Troubles) -> ToolUse:
    """A call from a recording's own fields; arguments that are no object are carried as their text."""
    try:
        if isinstance(arguments, dict):
            return ToolUse(id=call_id, name=name, input=freeze_object(arguments))
        if isinstance(arguments, str):
            return ToolUse(id=call_id, name=name, input={}, raw_input=arguments)
        return ToolUse(id=call_id, name=name, input={} if arguments is None else {"value": freeze(arguments)})
    except InvalidJson as error:
        troubles.add(line, f"the arguments of the call {call_id!r} cannot be kept: {error}")
        return ToolUse(id=call_id, name=name, input={})


def role_of(item: JsonObject) -> str:
    """The role of a message, or an empty text."""
    return text(item, "role") or ""
