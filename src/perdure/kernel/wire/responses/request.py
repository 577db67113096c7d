"""A request body and its values.

It knows the top-level fields that have a value of their own: `model`, `instructions`, `input`, `tools`. It must never
interpret another: `include`, `reasoning`, `store`, `prompt_cache_key` ... stand in `params` as given. Cache marks do
not leave: OpenAI caches prefixes on its own; a `prompt_cache_breakpoint` on a part is carried with the part.
"""

from __future__ import annotations

from typing import cast

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import (
    Extra,
    Json,
    JsonObject,
    Message,
    Request,
    Text,
    Tool,
    encode_json,
    extra_of,
    kind_of,
    lay_out,
)
from perdure.kernel.wire.body import Encoded, body
from perdure.kernel.wire.openai import belongs, objects, system_text
from perdure.kernel.wire.responses.messages import decode_items, encoded
from perdure.kernel.wire.responses.parts import DIALECT


def decode_request(given: JsonObject) -> Request:
    """The values of a body.

    Raises:
        InvalidMessage: `input` is neither text nor a list of items.
    """
    params = dict(given)
    model = params.pop("model") if isinstance(given.get("model"), str) and given["model"] else ""
    instructions = given.get("instructions")
    system: tuple[Text, ...] = ()
    if isinstance(instructions, str):
        system = (Text(text=instructions),)
        del params["instructions"]
    tools = objects(given.get("tools"))
    if tools:
        del params["tools"]
    items = given.get("input")
    if items:
        del params["input"]
    return Request(
        model=cast("str", model),
        messages=_decode_input(items),
        system=system,
        system_plain=bool(system),
        tools=tuple(_decode_tool(tool) for tool in tools or ()),
        params=params,
        keys=tuple(given),
        plain=isinstance(items, str) and bool(items),
    )


def encode_request(request: Request) -> bytes:
    """The canonical body.

    Raises:
        UntranslatableBlock: a block, or a tool, of another provider's own.
    """
    fields: dict[str, Encoded] = {}
    if request.model:
        fields["model"] = encode_json(request.model)
    if request.system:
        fields["instructions"] = encode_json(system_text(request.system))
    if request.tools:
        fields["tools"] = encode_json([_encode_tool(tool) for tool in request.tools])
    if request.messages:
        fields["input"] = _encode_input(request)
    fields |= {key: encode_json(value) for key, value in request.params.items() if key not in fields}
    return body(fields, request.keys)


def _decode_input(given: Json) -> tuple[Message, ...]:
    if not given:
        return ()
    if isinstance(given, str):
        return (Message(id="m0", role="user", content=(Text(text=given),), provenance="user", plain=True),)
    items = objects(given)
    if items is None:
        raise InvalidMessage(f"`input` is {kind_of(given)}; give text or a list of item objects")
    return decode_items(items)


def _encode_input(request: Request) -> Encoded:
    match request.messages:
        case (Message(role="user", content=(Text(text=text),), extra=None),) if request.plain:
            return encode_json(text)
        case messages:
            return list(filter(None, encoded(messages)))


def _decode_tool(tool: JsonObject) -> Tool:
    """A function tool by its fields; a tool of the provider's own keeps the order of its keys: it says whose it is."""
    name, description, schema = tool.get("name"), tool.get("description"), tool.get("parameters")
    typed = ["name"] if isinstance(name, str) else []
    if isinstance(description, str):
        typed.append("description")
    if isinstance(schema, dict):
        typed.append("parameters")
    if tool.get("type") == "function" and isinstance(name, str):
        extra = extra_of(DIALECT, tool, ("type", *typed))
    else:
        fields = tuple((key, value) for key, value in tool.items() if key not in typed)
        extra = Extra(dialect=DIALECT, fields=fields, keys=tuple(tool))
    return Tool(
        name=name if isinstance(name, str) else str(tool.get("type", "")),
        description=description if isinstance(description, str) else None,
        schema=schema if isinstance(schema, dict) else None,
        extra=extra,
    )


def _encode_tool(tool: Tool) -> JsonObject:
    known: JsonObject = {"type": "function", "name": tool.name}
    if tool.description is not None:
        known["description"] = tool.description
    if tool.schema is not None:
        known["parameters"] = tool.schema
    elif tool.extra is not None and not belongs(tool.extra, DIALECT):
        raise UntranslatableBlock(
            f"the tool {tool.name!r} is one of the dialect {tool.extra.dialect!r} alone; leave it out here"
        )
    extra = tool.extra
    if extra is not None and extra.dialect == DIALECT and extra.keys:
        untyped = dict(extra.fields)
        known = {key: value for key, value in known.items() if key in extra.keys and key not in untyped}
    return lay_out(known, extra, DIALECT)
