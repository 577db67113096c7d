"""A request body and its values.

It knows the top-level fields that have a value of their own: `model`, `messages`, `tools`. It must never interpret
another: `max_completion_tokens`, `reasoning_effort`, `stream_options` ... stand in `params` as given. System messages
stay messages; the system blocks of a request from another dialect become one system message at the head. Cache marks
do not leave: OpenAI caches prefixes on its own.
"""

from __future__ import annotations

from typing import cast

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import Extra, Json, JsonObject, Request, Tool, encode_json, kind_of, lay_out
from perdure.kernel.wire.body import Encoded, body
from perdure.kernel.wire.chat.messages import decode_list, encoded
from perdure.kernel.wire.chat.parts import DIALECT, inner
from perdure.kernel.wire.openai import belongs, objects, system_text, template


def decode_request(given: JsonObject) -> Request:
    """The values of a body.

    Raises:
        InvalidMessage: `messages` is no list of objects.
    """
    params = dict(given)
    model = params.pop("model") if isinstance(given.get("model"), str) and given["model"] else ""
    items = objects(given.get("messages", []))
    if items is None:
        raise InvalidMessage(f"`messages` is {kind_of(given['messages'])}; give a list of message objects")
    tools = objects(given.get("tools"))
    if items:
        del params["messages"]
    if tools:
        del params["tools"]
    return Request(
        model=cast("str", model),
        messages=decode_list(items),
        tools=tuple(_decode_tool(tool) for tool in tools or ()),
        params=params,
        keys=tuple(given),
    )


def encode_request(request: Request) -> bytes:
    """The canonical body.

    Raises:
        UntranslatableBlock: a block, or a tool, of another provider's own.
    """
    fields: dict[str, Encoded] = {}
    if request.model:
        fields["model"] = encode_json(request.model)
    messages = encoded(request.messages)
    if request.system:
        messages.insert(0, encode_json({"role": "system", "content": system_text(request.system)}))
    if messages:
        fields["messages"] = list(filter(None, messages))
    if request.tools:
        fields["tools"] = encode_json([_encode_tool(tool) for tool in request.tools])
    fields |= {key: encode_json(value) for key, value in request.params.items() if key not in fields}
    return body(fields, request.keys)


def _decode_tool(tool: JsonObject) -> Tool:
    """A tool by the fields of its inner object; one of a shape that is new has no name but its type."""
    place = "custom" if tool.get("type") == "custom" else "function"
    given = tool.get(place)
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        return Tool(name=str(tool.get("type", "")), extra=Extra(dialect=DIALECT, fields=tuple(tool.items())))
    description, schema = given.get("description"), given.get("parameters")
    typed = ["name"]
    if isinstance(description, str):
        typed.append("description")
    if isinstance(schema, dict):
        typed.append("parameters")
    extra = None
    if tool.get("type") != "function" or tuple(tool) != ("type", "function") or list(given) != typed:
        fields = tuple((key, value) for key, value in tool.items() if key != place)
        inside: tuple[str, Json] = (place, template(given, tuple(typed)))
        extra = Extra(dialect=DIALECT, fields=(*fields, inside), keys=tuple(tool))
    return Tool(
        name=cast("str", given["name"]),
        description=description if isinstance(description, str) else None,
        schema=schema if isinstance(schema, dict) else None,
        extra=extra,
    )


def _encode_tool(tool: Tool) -> JsonObject:
    extra = tool.extra
    if extra is not None and not belongs(extra, DIALECT) and tool.schema is None:
        raise UntranslatableBlock(
            f"the tool {tool.name!r} is one of the dialect {extra.dialect!r} alone; leave it out here"
        )
    if extra is not None and belongs(extra, DIALECT) and not extra.keys:
        return dict(extra.fields)
    place = "custom" if inner(extra, "custom") else "function"
    typed: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    known: JsonObject = {"type": "function"} if extra is None or not belongs(extra, DIALECT) else {}
    known[place] = {**inner(extra, place), **{key: value for key, value in typed.items() if value is not None}}
    return lay_out(known, extra, DIALECT)
