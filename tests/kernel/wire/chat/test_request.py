"""A request body: which fields have values of their own, and what absent, null and empty become."""

from __future__ import annotations

import json

import pytest

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import Extra, Json, JsonObject, Message, Request, Text, Tool, encode_json
from perdure.kernel.wire.chat import CHAT

READ: JsonObject = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
USER: JsonObject = {"role": "user", "content": "hello"}
TOOLS: list[Json] = [
    {"type": "function", "function": READ},
    {"function": {"parameters": {}, "name": "f", "strict": True, "description": None}, "type": "function"},
    {"type": "custom", "custom": {"name": "patch", "description": "Patches.", "format": {"type": "text"}}},
    {"type": "web_search"},
    {"function": {"name": "untyped"}},
    {},
]
BODIES: list[JsonObject] = [
    {"model": "gpt-x", "messages": [USER], "tools": TOOLS},
    {"tools": [], "messages": [], "model": "gpt-x"},
    {"tools": None, "model": None, "messages": [USER]},
    {"tools": ["odd"], "model": "", "messages": [USER]},
    {"stream": True, "stream_options": {"include_usage": True}, "messages": [USER], "model": "gpt-x", "zeta": 1.5},
    {"model": "gpt-x"},
]


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_a_body_returns_byte_identical(body: JsonObject) -> None:
    data = encode_json(body)

    assert data == CHAT.encode_request(CHAT.decode_request(data))


def test_each_top_level_field_stands_in_its_place() -> None:
    request = CHAT.decode_request({"model": "gpt-x", "messages": [USER], "tools": TOOLS[:1], "seed": 7})
    expected = Request(
        model="gpt-x",
        messages=(Message(id="m0", role="user", content=(Text(text="hello"),), provenance="user", plain=True),),
        tools=(Tool(name="read", description="Reads.", schema={"type": "object"}),),
        params={"seed": 7},
        keys=("model", "messages", "tools", "seed"),
    )

    assert expected == request


def test_a_request_from_elsewhere_leaves_with_its_system_blocks_as_the_first_message() -> None:
    request = Request(
        model="gpt-x",
        messages=(
            Message(id="m0", role="user", content=(Text(text="hello"),), provenance="user", plain=True),
            Message(id="m1", role="assistant", content=(), provenance="assistant"),
        ),
        system=(Text(text="one"), Text(text="two")),
        tools=(Tool(name="read", schema={}, extra=Extra(dialect="anthropic", fields=(("eager", True),))),),
    )
    expected: JsonObject = {
        "model": "gpt-x",
        "messages": [{"role": "system", "content": "one\n\ntwo"}, USER],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
    }

    assert expected == json.loads(CHAT.encode_request(request))


def test_a_tool_that_another_provider_defines_is_refused() -> None:
    request = Request(model="x", messages=(), tools=(Tool(name="bash", extra=Extra(dialect="anthropic")),))

    with pytest.raises(UntranslatableBlock, match="'bash'"):
        CHAT.encode_request(request)


@pytest.mark.parametrize("given", [None, "hello", ["hello"]], ids=str)
def test_messages_that_are_no_list_of_objects_are_refused(given: Json) -> None:
    with pytest.raises(InvalidMessage, match="`messages` is"):
        CHAT.decode_request({"model": "gpt-x", "messages": given})
