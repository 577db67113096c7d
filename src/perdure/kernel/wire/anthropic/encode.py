"""From values to the bytes of a request, a message or a response of the Messages API.

It knows the shapes of bodies and where encodings are kept. It must never know a provider's limits: `validity` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import (
    Extra,
    Json,
    JsonObject,
    Mark,
    Message,
    Request,
    Response,
    Text,
    Tool,
    Unknown,
    encode_json,
    in_order,
    lay_out,
)
from perdure.kernel.wire.anthropic.decode import REQUEST_ORDER, RESPONSE_ORDER
from perdure.kernel.wire.anthropic.encode_blocks import block_object
from perdure.kernel.wire.anthropic.marks import Places, marks_by_place, put_back
from perdure.kernel.wire.anthropic.names import DIALECT
from perdure.kernel.wire.anthropic.usage import usage_object
from perdure.kernel.wire.body import Encoded, body

_UNMARKED: Mapping[int, Mark] = {}


def encode_request(request: Request) -> bytes:
    """The body of a request: the kept encodings of its messages, joined once, inside the fields around them.

    A mark on a message or system prompt of bare text turns that into a list of one block: only a block can carry it.

    Raises:
        InvalidMessage: a mark stands on nothing.
        UntranslatableBlock: something has no form in this dialect.
    """
    marks = marks_by_place(request)
    pieces = Message.encodings(request.messages, DIALECT, encode_message)
    for part, index in marks:
        if part == "messages":
            marked = message_object(request.messages[index], marks[part, index])
            pieces[index] = encode_json(marked)
    fields: dict[str, Encoded] = {
        **({"model": encode_json(request.model)} if request.model else {}),
        **({"tools": _tools(request.tools, marks)} if request.tools else {}),
        **({"system": encode_json(_system(request, marks))} if request.system else {}),
        "messages": pieces,
    }
    fields |= {name: encode_json(value) for name, value in request.params.items() if name not in fields}
    return body(fields, request.keys or REQUEST_ORDER)


def encode_message(message: Message) -> bytes:
    """The bytes of one unmarked message."""
    return encode_json(message_object(message, _UNMARKED))


def message_object(message: Message, marks: Mapping[int, Mark] = _UNMARKED) -> JsonObject:
    """The wire object of one message, with marks by the block they stand on. It shares the mutable parts of the value.

    Raises:
        UntranslatableBlock: its role or one of its blocks has no form in this dialect.
    """
    if message.role == "developer":
        raise UntranslatableBlock(
            f"message {message.id!r} has the role 'developer', which Anthropic does not know: use 'system'"
        )
    text = None if marks else _bare_text(message)
    content: Json
    if text is not None:
        content = text
    else:
        content = [block_object(block) for block in message.content]
        for index, mark in marks.items():
            content[index] = put_back(block_object(message.content[index]), _extra(message, index), mark)
    return lay_out({"role": message.role, "content": content}, message.extra, DIALECT)


def encode_response(response: Response) -> bytes:
    """The body of a response.

    Fields of the envelope that are not those of a message (`id`, `type`) come from `Response.params` alone.

    Raises:
        UntranslatableBlock: a block has no form in this dialect, as a call that was cut off.
    """
    content: list[Json] = [block_object(block) for block in response.message.content]
    return encode_json(envelope(response, content))


def envelope(response: Response, content: list[Json]) -> JsonObject:
    """The wire object of a response around this content."""
    message = response.message
    fields: JsonObject = {"role": message.role, "content": content}
    if message.model is not None:
        fields["model"] = message.model
    if message.stop_reason is not None:
        fields["stop_reason"] = message.stop_reason
    if message.usage is not None:
        fields["usage"] = usage_object(message.usage)
    return in_order(response.params | fields, response.keys or RESPONSE_ORDER)


def _bare_text(message: Message) -> str | None:
    """The text of a message that came as bare text and still is nothing else."""
    if not message.plain or len(message.content) != 1:
        return None
    block = message.content[0]
    return block.text if isinstance(block, Text) and _own(block.extra) is None else None


def _extra(message: Message, index: int) -> Extra | None:
    block = message.content[index]
    return None if isinstance(block, Unknown) else block.extra


def _own(extra: Extra | None) -> Extra | None:
    return extra if extra is not None and extra.dialect == DIALECT else None


def _tools(tools: Iterable[Tool], marks: Places) -> list[bytes]:
    pieces: list[bytes] = []
    for index, tool in enumerate(tools):
        mark = marks.get(("tools", index), _UNMARKED).get(0)
        if mark is None:
            pieces.append(tool.keep(DIALECT, _encode_tool))
        else:
            pieces.append(encode_json(put_back(_tool(tool), tool.extra, mark)))
    return pieces


def _encode_tool(tool: Tool) -> bytes:
    return encode_json(_tool(tool))


def _tool(tool: Tool) -> JsonObject:
    if tool.extra is not None and tool.extra.dialect != DIALECT and tool.schema is None:
        raise UntranslatableBlock(
            f"the tool {tool.name!r} is one that another provider defines: leave it out, or declare it with a schema"
        )
    known: JsonObject = {"name": tool.name} if tool.name else {}
    if tool.description is not None:
        known["description"] = tool.description
    if tool.schema is not None:
        known["input_schema"] = tool.schema
    return lay_out(known, tool.extra, DIALECT)


def _system(request: Request, marks: Places) -> Json:
    first = request.system[0]
    marked = [marks.get(("system", index), _UNMARKED).get(0) for index in range(len(request.system))]
    if request.system_plain and len(marked) == 1 and marked[0] is None and isinstance(first, Text):
        return first.text
    objects: list[Json] = []
    for block, mark in zip(request.system, marked, strict=True):
        whole = block_object(block)
        extra = block.extra if isinstance(block, Text) else None
        objects.append(whole if mark is None else put_back(whole, extra, mark))
    return objects
