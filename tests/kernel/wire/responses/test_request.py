"""A request body: which fields have values of their own, and what absent, null and empty become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.kernel.errors import InvalidJson, InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import Extra, JsonObject, Message, Request, Text, Tool, Unknown, encode_json
from perdure.kernel.wire.responses import RESPONSES

FUNCTION: JsonObject = {
    "type": "function",
    "name": "read",
    "description": "Reads.",
    "parameters": {"type": "object"},
    "strict": True,
}


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-x", "input": "hello"},
        {"model": "gpt-x", "input": "", "instructions": ""},
        {"model": "gpt-x", "input": [], "instructions": None, "tools": []},
        {"input": None, "model": None, "tools": None},
        {"model": "", "previous_response_id": "resp_1"},
        {"tools": [FUNCTION], "input": [{"role": "user", "content": ""}], "instructions": "be brief", "model": "gpt-x"},
        {"model": "gpt-x", "instructions": [{"role": "user", "content": "odd"}], "tools": ["odd"]},
        {"tools": [{"type": "web_search"}, {"type": "custom", "name": "patch", "format": {"type": "text"}}]},
        {"tools": [{"type": "function", "name": 7}, {"name": "bare"}, {"type": "function", "name": "f"}]},
        {"model": "gpt-x", "tools": [{"description": None, "name": "f", "type": "function", "parameters": None}]},
        {"store": False, "include": ["reasoning.encrypted_content"], "model": "gpt-x", "zeta": {"b": 1, "a": 2}},
    ],
    ids=str,
)
def test_a_body_returns_byte_identical(body: JsonObject) -> None:
    data = encode_json(body)

    assert data == RESPONSES.encode_request(RESPONSES.decode_request(data))


def test_each_top_level_field_stands_in_its_place() -> None:
    request = RESPONSES.decode_request(
        {"model": "gpt-x", "instructions": "be brief", "input": "hello", "tools": [FUNCTION], "store": False}
    )
    expected = Request(
        model="gpt-x",
        messages=(Message(id="m0", role="user", content=(Text(text="hello"),), provenance="user", plain=True),),
        system=(Text(text="be brief"),),
        system_plain=True,
        tools=(
            Tool(
                name="read",
                description="Reads.",
                schema={"type": "object"},
                extra=Extra(dialect="responses", fields=(("strict", True),)),
            ),
        ),
        params={"store": False},
        keys=("model", "instructions", "input", "tools", "store"),
        plain=True,
    )

    assert expected == request


def test_a_request_from_elsewhere_leaves_in_this_dialect() -> None:
    request = Request(
        model="gpt-x",
        messages=(
            Message(id="m0", role="user", content=(Text(text="hello"),), provenance="user"),
            Message(id="m1", role="assistant", content=(), provenance="assistant"),
        ),
        system=(Text(text="one"), Text(text="two", extra=Extra(dialect="anthropic", fields=(("zeta", 1),)))),
        tools=(Tool(name="read", schema={}, extra=Extra(dialect="anthropic", fields=(("eager", True),))),),
    )
    expected: JsonObject = {
        "model": "gpt-x",
        "instructions": "one\n\ntwo",
        "tools": [{"type": "function", "name": "read", "parameters": {}}],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
    }

    assert expected == json.loads(RESPONSES.encode_request(request))


@pytest.mark.parametrize(
    "request_",
    [
        Request(model="x", messages=(), tools=(Tool(name="bash", extra=Extra(dialect="anthropic")),)),
        Request(model="x", messages=(), system=(Unknown(dialect="anthropic", raw={}),)),
    ],
    ids=["tool", "system"],
)
def test_what_another_provider_alone_defines_is_refused(request_: Request) -> None:
    with pytest.raises(UntranslatableBlock):
        RESPONSES.encode_request(request_)


def test_a_later_tool_is_sent_though_the_body_came_without_tools() -> None:
    request = RESPONSES.decode_request({"model": "gpt-x", "tools": [], "input": "x"})
    grown = Request(
        model=request.model,
        messages=request.messages,
        tools=(Tool(name="read", schema={}),),
        params=request.params,
        keys=request.keys,
        plain=request.plain,
    )

    assert [{"type": "function", "name": "read", "parameters": {}}] == json.loads(RESPONSES.encode_request(grown))[
        "tools"
    ]


@pytest.mark.parametrize("given", [7, ["text"], {"role": "user"}], ids=str)
def test_an_input_that_is_neither_text_nor_items_is_refused(given: Any) -> None:
    with pytest.raises(InvalidMessage, match="`input` is"):
        RESPONSES.decode_request({"model": "gpt-x", "input": given})


def test_bytes_that_are_no_object_are_refused() -> None:
    with pytest.raises(InvalidJson):
        RESPONSES.decode_request(b"[]")
