"""From a request, a list of messages or a response of the Messages API to values.

It knows the shapes of bodies. It must never know a block's fields, which `decode_blocks` does, nor repair what is
wrong: a shape that cannot be a request, message or response at all is refused, everything else is carried.
"""

from __future__ import annotations

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Block,
    Json,
    JsonObject,
    Mark,
    Message,
    Provenance,
    Request,
    Response,
    Role,
    Text,
    Tool,
    ToolResult,
    Unknown,
    extra_of,
    kind_of,
    received,
)
from perdure.kernel.wire.anthropic.decode_blocks import decode_block
from perdure.kernel.wire.anthropic.marks import Place, lift, marks_of
from perdure.kernel.wire.anthropic.names import CACHE_CONTROL, DIALECT
from perdure.kernel.wire.anthropic.usage import decode_usage

REQUEST_ORDER = ("model", "tools", "system", "messages")
"""The codec's own order: what changes least comes first. The other fields follow, as given."""

RESPONSE_ORDER = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
"""The provider's order. The other fields follow, as given."""


def decode_request(given: JsonObject) -> Request:
    """The request of a body, which is taken over and not copied.

    Raises:
        InvalidMessage: there is no list of messages, or one that cannot be a message.
    """
    items = given.get("messages")
    if not isinstance(items, list):
        raise InvalidMessage(f"`messages` must be an array, not {kind_of(items)}")
    marks: list[Mark | None] = []
    tools = _tools(given.get("tools"), marks)
    system = _system(given.get("system"), marks)
    messages = _messages(items, marks)
    model = given.get("model")
    named = isinstance(model, str) and model != ""
    typed = {"messages"} | {name for name, value in (("model", named), ("tools", tools), ("system", system)) if value}
    return Request(
        model=model if isinstance(model, str) else "",
        messages=messages,
        system=system,
        system_plain=isinstance(given.get("system"), str),
        tools=tools,
        marks=marks_of(marks),
        params={name: value for name, value in given.items() if name not in typed},
        keys=_order(given, REQUEST_ORDER),
    )


def decode_message(item: Json, index: int) -> Message:
    """The value of one wire message with the id `m` and this index. Cache marks stay fields of its blocks.

    Raises:
        InvalidMessage: not an object, or one without a known role and a content.
    """
    return _message(item, index, None)


def decode_response(given: JsonObject) -> Response:
    """The response of an envelope, which is taken over and not copied.

    Raises:
        InvalidMessage: not an assistant's message with a list of content.
    """
    content = given.get("content")
    if given.get("role") != "assistant" or not isinstance(content, list):
        raise InvalidMessage("a response has the role 'assistant' and an array as its `content`; this has not")
    blocks = tuple(decode_block(_object(item, "content", index)) for index, item in enumerate(content))
    model, reason, usage = given.get("model"), given.get("stop_reason"), given.get("usage")
    typed = {"role", "content"} | {
        name
        for name, kind in (("model", str), ("stop_reason", str), ("usage", dict))
        if isinstance(given.get(name), kind)
    }
    message = Message(
        id="m0",
        role="assistant",
        content=blocks,
        provenance="assistant",
        model=model if isinstance(model, str) else None,
        stop_reason=reason if isinstance(reason, str) else None,
        usage=decode_usage(usage) if isinstance(usage, dict) else None,
    )
    params = {name: value for name, value in given.items() if name not in typed}
    return Response(message=message, params=params, keys=_order(given, RESPONSE_ORDER))


def _order(given: JsonObject, usual: tuple[str, ...]) -> tuple[str, ...]:
    extra = extra_of(DIALECT, given, usual)
    return extra.keys if extra is not None else ()


def _tools(items: Json, marks: list[Mark | None]) -> tuple[Tool, ...]:
    objects = _all_objects(items)
    lifted = [lift(given, _tool, Place(part="tools", index=index)) for index, given in enumerate(objects)]
    marks.extend(mark for _, mark in lifted)
    return tuple(tool for tool, _ in lifted)


def _tool(given: JsonObject) -> Tool:
    name, description, schema = given.get("name"), given.get("description"), given.get("input_schema")
    named = isinstance(name, str) and name != ""
    known = (
        *(("name",) if named else ()),
        *(("description",) if isinstance(description, str) else ()),
        *(("input_schema",) if isinstance(schema, dict) else ()),
    )
    return Tool(
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else None,
        schema=schema if isinstance(schema, dict) else None,
        extra=extra_of(DIALECT, given, known),
    )


def _system(value: Json, marks: list[Mark | None]) -> tuple[Text | Unknown, ...]:
    if isinstance(value, str):
        return (Text(text=value),)
    objects = _all_objects(value)
    lifted = [lift(given, _system_block, Place(part="system", index=index)) for index, given in enumerate(objects)]
    marks.extend(mark for _, mark in lifted)
    return tuple(block for block, _ in lifted)


def _system_block(given: JsonObject) -> Text | Unknown:
    block = decode_block(given)
    return block if isinstance(block, Text) else Unknown(dialect=DIALECT, raw=given)


def _all_objects(items: Json) -> list[JsonObject]:
    """The objects of an array, or none where it holds anything else: then it is a parameter like any unknown one."""
    if not isinstance(items, list):
        return []
    objects = [item for item in items if isinstance(item, dict)]
    return objects if len(objects) == len(items) else []


def _messages(items: list[Json], marks: list[Mark | None]) -> tuple[Message, ...]:
    """The messages of a request. Each wire object is let go once its value is made, so that the parse is the peak."""
    messages: list[Message] = []
    items.reverse()
    while items:
        messages.append(_message(items.pop(), len(messages), marks))
    return tuple(messages)


def _message(item: Json, index: int, marks: list[Mark | None] | None) -> Message:
    if not isinstance(item, dict):
        raise InvalidMessage(f"messages/{index} must be an object, not {kind_of(item)}")
    speaker, content = item.get("role"), item.get("content")
    known = _SPEAKERS.get(speaker) if isinstance(speaker, str) else None
    if known is None:
        raise InvalidMessage(f"messages/{index} has the role {speaker!r}; known are {', '.join(_SPEAKERS)}")
    role, provenance = known
    blocks: list[Block]
    if isinstance(content, str):
        blocks = [Text(text=content)]
    elif isinstance(content, list):
        blocks = _content(content, index, marks)
        if provenance == "user" and {*map(type, blocks)} == {ToolResult}:
            provenance = "tool"
    else:
        raise InvalidMessage(f"the content of messages/{index} must be a string or an array, not {kind_of(content)}")
    extra = None if tuple(item) == _MESSAGE else extra_of(DIALECT, item, _MESSAGE)
    return received(
        id=f"m{index}",
        role=role,
        content=tuple(blocks),
        provenance=provenance,
        plain=isinstance(content, str),
        extra=extra,
    )


def _content(items: list[Json], message: int, marks: list[Mark | None] | None) -> list[Block]:
    blocks: list[Block] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise InvalidMessage(f"messages/{message}/content/{index} must be an object, not {kind_of(item)}")
        if CACHE_CONTROL not in item or marks is None:
            blocks.append(decode_block(item))
        else:
            block, mark = lift(item, decode_block, Place(part="messages", index=message, block=index))
            blocks.append(block)
            marks.append(mark)
    return blocks


def _object(item: Json, path: str, index: int) -> JsonObject:
    if not isinstance(item, dict):
        raise InvalidMessage(f"{path}/{index} must be an object, not {kind_of(item)}")
    return item


_MESSAGE = ("role", "content")
_SPEAKERS: dict[str, tuple[Role, Provenance]] = {
    "user": ("user", "user"),
    "assistant": ("assistant", "assistant"),
    "system": ("system", "harness"),
}
