"""Responses, whole and as events: both give the same value, and a whole one can be told as events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Json,
    JsonObject,
    Message,
    Response,
    Text,
    Thinking,
    ToolUse,
    Usage,
    decode_object,
    encode_json,
)
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Delta
from perdure.kernel.wire.responses import RESPONSES
from perdure.kernel.wire.responses.stream import ResponsesStream

REASONING: JsonObject = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "look first"}, {"type": "summary_text", "text": "then act"}],
    "encrypted_content": "gAAA",
}
SAID: JsonObject = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "content": [{"type": "output_text", "annotations": [], "text": "Reading."}],
    "role": "assistant",
    "phase": "commentary",
}
REFUSED: JsonObject = {
    "id": "msg_2",
    "type": "message",
    "status": "completed",
    "content": [{"type": "refusal", "refusal": "No."}],
    "role": "assistant",
}
CALL: JsonObject = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "arguments": '{"path":"a.py"}',
    "call_id": "c1",
    "name": "read",
}
PATCH: JsonObject = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "status": "completed",
    "call_id": "c2",
    "input": "***",
    "name": "patch",
}
SEARCH: JsonObject = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
COMPACTION: JsonObject = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAB"}
EVERYTHING: list[JsonObject] = [REASONING, SEARCH, SAID, REFUSED, CALL, PATCH, COMPACTION]


def body(output: list[Any], **fields: Json) -> JsonObject:
    """A response as OpenAI sends it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-x",
        "output": output,
        "usage": {
            "input_tokens": 2000,
            "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 8},
            "total_tokens": 2030,
        },
        **fields,
    }


def feed(events: list[JsonObject]) -> tuple[ResponsesStream, list[Delta]]:
    """A stream that took these events, and the deltas that came of them."""
    stream = RESPONSES.stream()
    return stream, [delta for event in events for delta in stream.feed(event)]


def test_usage_parts_exclude_one_another() -> None:
    usage = RESPONSES.decode_response(body([])).message.usage

    assert Usage(input_tokens=464, cache_read_tokens=1024, cache_write_tokens=512, output_tokens=30) == usage


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "completed"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"status": "incomplete", "incomplete_details": None}, "incomplete"),
        ({"status": "failed"}, "failed"),
        ({"status": "in_progress"}, None),
    ],
    ids=str,
)
def test_the_status_tells_why_the_model_stopped(fields: JsonObject, reason: str | None) -> None:
    assert reason == RESPONSES.decode_response(body([SAID], **fields)).message.stop_reason


@pytest.mark.parametrize(
    "given",
    [body(EVERYTHING), {"output": []}, body([SAID], usage=None, model=None, zeta=[1])],
    ids=["whole", "bare", "nulls"],
)
def test_a_response_returns_byte_identical(given: JsonObject) -> None:
    data = encode_json(given)

    assert data == RESPONSES.encode_response(RESPONSES.decode_response(data))


@pytest.mark.parametrize("given", [{"error": {"message": "x"}}, {"output": ["x"]}], ids=str)
def test_a_body_without_output_items_is_no_response(given: JsonObject) -> None:
    with pytest.raises(InvalidMessage):
        RESPONSES.decode_response(given)


def test_a_response_from_elsewhere_leaves_with_what_clients_rely_on() -> None:
    message = Message(
        id="m0",
        role="assistant",
        provenance="assistant",
        content=(Text(text="Reading."), ToolUse(id="c1", name="read", input={})),
        model="claude-x",
        stop_reason="max_tokens",
        usage=Usage(input_tokens=5, cache_read_tokens=3, output_tokens=2, raw={"cache_read_input_tokens": 3}),
    )
    told = decode_object(
        RESPONSES.encode_response(Response(message=message, params={"id": "msg_9", "type": "message"}))
    )
    expected_output: list[JsonObject] = [
        {
            "id": "msg_msg_9_0",
            "status": "completed",
            "type": "message",
            "role": "assistant",
            "content": [{"annotations": [], "type": "output_text", "text": "Reading."}],
        },
        {
            "id": "fc_msg_9_1",
            "status": "completed",
            "type": "function_call",
            "call_id": "c1",
            "name": "read",
            "arguments": "{}",
        },
    ]

    assert expected_output == told["output"]
    assert ("msg_9", "incomplete") == (told["id"], told["status"])
    assert {"reason": "max_output_tokens"} == told["incomplete_details"]
    assert {
        "input_tokens": 8,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10,
    } == told["usage"]


@given(st.lists(st.sampled_from(EVERYTHING), max_size=8), st.sampled_from(["completed", "incomplete", "failed"]))
@settings(max_examples=40, deadline=None)
def test_a_response_told_as_events_is_the_same_response(output: list[JsonObject], status: str) -> None:
    response = RESPONSES.decode_response(body(output, status=status))
    stream, _ = feed(list(RESPONSES.encode_events(response)))

    assert stream.complete
    assert response == stream.response()


def test_a_final_event_without_output_is_filled_from_the_items_before_it() -> None:
    response = RESPONSES.decode_response(body(EVERYTHING))
    *events, _ = RESPONSES.encode_events(response)
    stream, _ = feed([*events, {"type": "response.completed", "response": body([])}])

    assert response == stream.response()


def test_deltas_name_each_block_by_its_place_in_the_message() -> None:
    response = RESPONSES.decode_response(body([REASONING, SAID, CALL]))
    _, deltas = feed(list(RESPONSES.encode_events(response)))
    thinking, text, call = response.message.content
    grown = [(delta.index, delta.kind, delta.piece) for delta in deltas if isinstance(delta, BlockGrew)]
    expected = [
        (0, "thinking", "look first"),
        (0, "thinking", "\n\n"),
        (0, "thinking", "then act"),
        (1, "text", "Reading."),
        (2, "input", '{"path":"a.py"}'),
    ]

    assert expected == grown
    assert [0, 1, 2] == [delta.index for delta in deltas if isinstance(delta, BlockStarted)]
    assert [BlockDone(index=0, block=thinking), BlockDone(index=1, block=text), BlockDone(index=2, block=call)] == [
        delta for delta in deltas if isinstance(delta, BlockDone)
    ]


def test_a_stream_that_breaks_off_gives_what_arrived() -> None:
    events = list(RESPONSES.encode_events(RESPONSES.decode_response(body([SAID, CALL]))))
    cut = next(index for index, event in enumerate(events) if event["type"] == "response.function_call_arguments.delta")
    stream, _ = feed([*events[:cut], {**events[cut], "delta": '{"pa'}])
    message = stream.response().message

    assert not stream.complete
    assert ["Reading."] == [block.text for block in message.content if isinstance(block, Text)]
    assert ['{"pa'] == [call.raw_input for call in message.tool_uses]


def test_text_and_reasoning_of_a_stream_that_breaks_off_are_there_too() -> None:
    stream, deltas = feed(
        [
            {"type": "response.output_item.added", "item": {"type": "reasoning", "summary": []}},
            {"type": "response.reasoning_text.delta", "delta": "hm"},
            {"type": "response.output_item.added", "item": {"type": "message", "role": "assistant", "content": []}},
            {"type": "response.output_text.delta", "delta": "Hel"},
            {"type": "response.output_text.delta", "delta": "lo"},
        ]
    )
    thinking, text = stream.response().message.content

    assert isinstance(thinking, Thinking)
    assert isinstance(text, Text)
    assert ("hm", "Hello") == (thinking.thinking, text.text)
    assert BlockGrew(index=1, kind="text", piece="lo") == deltas[-1]


def test_events_of_unknown_kinds_and_progress_are_passed_over() -> None:
    _, deltas = feed(
        [
            {"type": "response.compaction.compacting", "item_id": "cmp_1", "output_index": 0},
            {"type": "response.web_search_call.searching", "output_index": 0},
            {"type": "response.novelty"},
            {"nothing": "at all"},
        ]
    )

    assert [] == deltas


@pytest.mark.parametrize(
    ("events", "error"),
    [
        (
            [{"type": "error", "code": "server_error", "message": "x"}],
            {"type": "error", "code": "server_error", "message": "x"},
        ),
        ([{"type": "error", "error": {"code": "rate_limit"}}], {"code": "rate_limit"}),
        ([{"type": "response.failed", "response": body([], error={"code": "server_error"})}], {"code": "server_error"}),
    ],
    ids=["flat", "nested", "failed"],
)
def test_an_error_in_the_stream_is_kept(events: list[JsonObject], error: JsonObject) -> None:
    stream, _ = feed(events)

    assert error == stream.error


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_text.delta", "output_index": 3, "delta": "x"}],
        [{"type": "response.output_item.added", "output_index": 0}],
        [{"type": "response.output_item.added", "output_index": 0, "item": SAID}] * 2,
        [
            {"type": "response.output_item.added", "output_index": 0, "item": SAID},
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "x"},
        ],
    ],
    ids=["never began", "no item", "begins twice", "other kind"],
)
def test_an_event_that_fits_nothing_is_refused(events: list[JsonObject]) -> None:
    with pytest.raises(InvalidMessage):
        feed(events)
