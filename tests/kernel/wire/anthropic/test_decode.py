"""Wire objects of the Messages API become values, and what cannot be one is refused with its place."""

from typing import TypeAlias

import pytest

from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Extra,
    Image,
    Message,
    Provenance,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    Usage,
    freeze_object,
    typed_texts,
)
from perdure.kernel.wire import ANTHROPIC

Wire: TypeAlias = dict[str, object]

RESULT: Wire = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
PNG: Wire = {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}


def block_of(wire: Wire) -> Block:
    return ANTHROPIC.decode_messages([{"role": "user", "content": [wire]}])[0].content[0]


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ({"type": "text", "text": "hi"}, Text(text="hi")),
        ({"type": "thinking", "thinking": "", "signature": "s"}, Thinking(thinking="", signature="s")),
        ({"type": "redacted_thinking", "data": "d"}, RedactedThinking(data="d")),
        (
            {"type": "tool_use", "id": "t", "name": "read", "input": {"b": 1, "a": 2}},
            ToolUse(id="t", name="read", input={"b": 1, "a": 2}),
        ),
        (RESULT, ToolResult(tool_use_id="toolu_1", content="ok")),
        ({"type": "tool_result", "tool_use_id": "t"}, ToolResult(tool_use_id="t", content=None)),
        (
            {"type": "tool_result", "tool_use_id": "t", "content": [], "is_error": False},
            ToolResult(tool_use_id="t", content=(), is_error=False),
        ),
        (
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": PNG}]},
            ToolResult(tool_use_id="t", content=(Image(source=freeze_object(PNG)),)),
        ),
        ({"type": "document", "source": {"type": "text"}}, Document(source={"type": "text"})),
        ({"type": "compaction", "content": "S", "signature": "s"}, Compaction(content="S", signature="s")),
        (
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            ServerToolUse(kind="server_tool_use", id="s", name="web_search", input={}),
        ),
        (
            {"type": "result_of_tomorrow_tool_result", "tool_use_id": "s", "content": None},
            ServerToolResult(kind="result_of_tomorrow_tool_result", tool_use_id="s", content=None),
        ),
        ({"type": "tool_reference", "tool_name": "grep"}, ToolReference(tool_name="grep")),
    ],
)
def test_each_kind_of_block_becomes_its_value(wire: Wire, value: Block) -> None:
    assert value == block_of(wire)


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "container_upload", "file_id": "f"},
        {"type": "text", "text": None},
        {"type": "thinking", "thinking": "no signature"},
        {"type": "tool_use", "id": "t", "name": "read", "input": "text"},
        {"type": "compaction"},
        {"type": ["text"], "text": "hi"},
        {"text": "no type"},
    ],
)
def test_a_block_of_an_unknown_kind_or_shape_is_carried_whole(wire: Wire) -> None:
    assert Unknown(dialect="anthropic", raw=freeze_object(wire)) == block_of(wire)


def test_a_known_field_of_null_is_kept_apart_from_an_absent_one() -> None:
    wire: Wire = {"type": "tool_result", "tool_use_id": "t", "content": None, "is_error": None}

    assert ToolResult(
        tool_use_id="t",
        content=None,
        extra=Extra(dialect="anthropic", fields=(("content", None), ("is_error", None))),
    ) == block_of(wire)


def test_the_order_of_fields_is_kept_where_it_is_not_the_usual_one() -> None:
    extra = Extra(dialect="anthropic", keys=("tool_use_id", "type", "content"))
    wire: Wire = {"tool_use_id": "t", "type": "tool_result", "content": "ok"}

    assert ToolResult(tool_use_id="t", content="ok", extra=extra) == block_of(wire)


@pytest.mark.parametrize(
    ("role", "content", "provenance"),
    [
        ("user", "hi", "user"),
        ("user", [], "user"),
        ("user", [{"type": "text", "text": "hi"}], "user"),
        ("user", [RESULT, RESULT], "tool"),
        ("user", [RESULT, {"type": "text", "text": "and this"}], "user"),
        ("assistant", "hello", "assistant"),
        ("system", "be brief", "harness"),
    ],
)
def test_the_provenance_of_a_message_follows_from_its_role_and_content(
    role: str, content: object, provenance: Provenance
) -> None:
    assert provenance == ANTHROPIC.decode_messages([{"role": role, "content": content}])[0].provenance


def test_beside_results_only_what_is_no_reminder_counts_as_typed() -> None:
    reminder = {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}
    content = [RESULT, reminder, {"type": "text", "text": "stop"}]
    (message,) = ANTHROPIC.decode_messages([{"role": "user", "content": content}])

    assert [Text(text="stop")] == list(typed_texts(message))


def test_messages_are_numbered_from_where_the_caller_says() -> None:
    wire = {"role": "user", "content": "hi"}

    assert ["m7", "m8"] == [message.id for message in ANTHROPIC.decode_messages([wire, wire], first=7)]


def test_a_request_is_taken_apart() -> None:
    request = ANTHROPIC.decode_request(
        {
            "model": "claude",
            "max_tokens": 10,
            "system": "You help.",
            "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "strict": True}],
            "messages": [{"role": "user", "content": "hi"}],
        }
    )
    tool = Tool(
        name="read",
        description="Reads.",
        schema={"type": "object"},
        extra=Extra(dialect="anthropic", fields=(("strict", True),)),
    )

    assert ("claude", (tool,), (Text(text="You help."),), True) == (
        request.model,
        request.tools,
        request.system,
        request.system_plain,
    )
    assert (
        Message(id="m0", role="user", content=(Text(text="hi"),), provenance="user", plain=True),
    ) == request.messages
    assert {"max_tokens": 10} == request.params
    assert ("model", "max_tokens", "system", "tools", "messages") == request.keys


def test_a_response_is_taken_apart() -> None:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "output_tokens": 8,
        "iterations": [{"type": "message", "input_tokens": 5}],
    }
    response = ANTHROPIC.decode_response(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": "hello"}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
    )
    counted = Usage(
        input_tokens=5, cache_read_tokens=100, cache_write_tokens=30, cache_write_1h_tokens=20, output_tokens=8
    )

    assert (
        Message(
            id="m0",
            role="assistant",
            content=(Text(text="hello"),),
            provenance="assistant",
            model="claude",
            stop_reason="end_turn",
            usage=counted,
        )
        == response.message
    )
    assert {"id": "msg_1", "type": "message"} == response.params
    assert response.message.usage is not None
    assert usage == response.message.usage.raw


def test_usage_without_a_total_of_writes_has_the_sum_of_its_parts() -> None:
    usage = {
        "cache_creation_input_tokens": None,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
    }
    response = ANTHROPIC.decode_response({"role": "assistant", "content": [], "usage": usage})

    assert Usage(cache_write_tokens=3, cache_write_1h_tokens=2) == response.message.usage


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"model": "m"}, "`messages`"),
        ({"messages": ["hi"]}, "messages/0"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "'tool'"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages/0"),
        ({"messages": [{"role": "user"}]}, "content of messages/0"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages/0/content/0"),
    ],
)
def test_what_cannot_be_a_request_is_refused_with_its_place(body: Wire, complaint: str) -> None:
    with pytest.raises(InvalidMessage, match=complaint):
        ANTHROPIC.decode_request(body)


@pytest.mark.parametrize("body", [{"type": "error"}, {"role": "user", "content": []}, {"role": "assistant"}])
def test_what_cannot_be_a_response_is_refused(body: Wire) -> None:
    with pytest.raises(InvalidMessage, match="response"):
        ANTHROPIC.decode_response(body)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a":NaN}', b"\xff"])
def test_bytes_that_are_no_object_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        ANTHROPIC.decode_request(body)
