"""Responses, whole and as chunks: both give the same value, and a whole one can be told as chunks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import (
    Json,
    JsonObject,
    Message,
    Response,
    Text,
    Thinking,
    ToolUse,
    Unknown,
    Usage,
    decode_object,
    encode_json,
)
from perdure.kernel.wire.chat import CHAT
from perdure.kernel.wire.chat.stream import ChatStream
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Delta

USAGE: JsonObject = {
    "prompt_tokens": 2000,
    "completion_tokens": 30,
    "total_tokens": 2030,
    "prompt_tokens_details": {"cached_tokens": 1024},
}


def call(name: str, arguments: str = '{"path":"a.py"}') -> Json:
    """A call as OpenAI sends it."""
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": arguments}}


def body(message: JsonObject, reason: str = "stop", **fields: Json) -> JsonObject:
    """A response as OpenAI sends it."""
    choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    envelope: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1790000000, "model": "gpt-x"}
    return {**envelope, "choices": [choice], "usage": USAGE, **fields}


def chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
    """A chunk as OpenAI sends it where the usage was asked for."""
    choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    envelope: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1790000000}
    return {**envelope, "model": "gpt-x", "choices": [choice], "usage": None}


def feed(events: list[JsonObject]) -> tuple[ChatStream, list[Delta]]:
    """A stream that took these chunks, and the deltas that came of them."""
    stream = CHAT.stream()
    return stream, [delta for event in events for delta in stream.feed(event)]


LAST: JsonObject = {**chunk({}), "choices": [], "usage": USAGE}


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (USAGE, Usage(input_tokens=976, cache_read_tokens=1024, output_tokens=30)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(input_tokens=5, cache_read_tokens=4)),
        ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(input_tokens=5, cache_read_tokens=4)),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}},
            Usage(input_tokens=4, cache_read_tokens=2, cache_write_tokens=3),
        ),
        ({"prompt_tokens": True, "prompt_tokens_details": None}, Usage()),
    ],
    ids=["openai", "deepseek", "moonshot", "written", "odd"],
)
def test_usage_parts_exclude_one_another(raw: JsonObject, usage: Usage) -> None:
    response = CHAT.decode_response(body({"role": "assistant", "content": "x"}, usage=raw))

    assert usage == response.message.usage


WHOLE: list[JsonObject] = [
    body({"role": "assistant", "content": "done", "refusal": None, "annotations": []}),
    body({"role": "assistant", "content": None, "tool_calls": [call("c1")]}, "tool_calls", usage=None, zeta=[1]),
    {"choices": [{"message": {"role": "assistant", "content": [{"type": "novel"}]}}, {"index": 1}]},
]


@pytest.mark.parametrize("given", WHOLE, ids=["text", "calls", "choices"])
def test_a_response_returns_byte_identical(given: JsonObject) -> None:
    data = encode_json(given)

    assert data == CHAT.encode_response(CHAT.decode_response(data))


NO_RESPONSES: list[JsonObject] = [{"error": {"message": "x"}}, {"choices": []}, body({"role": "user", "content": "x"})]


@pytest.mark.parametrize("given", NO_RESPONSES, ids=["error", "empty", "user"])
def test_a_body_without_an_answer_is_no_response(given: JsonObject) -> None:
    with pytest.raises(InvalidMessage):
        CHAT.decode_response(given)


def test_a_response_from_elsewhere_leaves_in_this_dialect() -> None:
    message = Message(
        id="m0",
        role="assistant",
        provenance="assistant",
        content=(Text(text="Reading."), ToolUse(id="c1", name="read", input={"path": "a.py"})),
        model="claude-x",
        stop_reason="tool_use",
        usage=Usage(input_tokens=5, cache_read_tokens=3, output_tokens=2, raw={"input_tokens": 5}),
    )
    response = Response(message=message, params={"id": "msg_9", "type": "message"})
    answer: JsonObject = {"role": "assistant", "content": "Reading.", "tool_calls": [call("c1")]}
    expected: JsonObject = {
        "id": "msg_9",
        "object": "chat.completion",
        "created": 0,
        "model": "claude-x",
        "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}],
        "usage": {
            "prompt_tokens": 8,
            "completion_tokens": 2,
            "total_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
    }

    assert expected == decode_object(CHAT.encode_response(response))


def test_an_empty_answer_has_null_for_its_content_and_two_answers_are_refused() -> None:
    empty = Message(id="m0", role="assistant", content=(), provenance="assistant", stop_reason="end_turn")
    whole = Unknown(dialect="chat", raw={"role": "assistant"})
    double = Message(id="m0", role="assistant", content=(whole, Text(text="x")), provenance="assistant")

    assert b'"message":{"role":"assistant","content":null},"finish_reason":"stop"' in CHAT.encode_response(
        Response(message=empty)
    )
    with pytest.raises(UntranslatableBlock):
        CHAT.encode_response(Response(message=double))


def begin(name: str, arguments: str = "", **beside: Json) -> JsonObject:
    """A delta in which a call begins."""
    function: JsonObject = {"name": "read", "arguments": arguments}
    return chunk({"tool_calls": [{**beside, "id": name, "type": "function", "function": function}]})


def more(arguments: str, **beside: Json) -> JsonObject:
    """A delta in which a call grows."""
    return chunk({"tool_calls": [{**beside, "function": {"arguments": arguments}}]})


PATCH: JsonObject = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "***"}}
FIRST = chunk({"role": "assistant", "content": None})
TWO_CALLS: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]}
CASES: dict[str, tuple[list[JsonObject], JsonObject]] = {
    "text": (
        [chunk({"role": "assistant", "content": ""}), chunk({"content": "Hel"}), chunk({"content": "lo"})],
        {"role": "assistant", "content": "Hello"},
    ),
    "empty text": ([chunk({"role": "assistant", "content": ""})], {"role": "assistant", "content": ""}),
    "reasoning": (
        [
            chunk({"role": "assistant", "content": None, "reasoning_content": "look "}),
            chunk({"reasoning_content": "first"}),
            chunk({"content": "Done"}),
        ],
        {"role": "assistant", "content": "Done", "reasoning_content": "look first"},
    ),
    "reasoning told twice": (
        [
            chunk({"role": "assistant", "content": "", "reasoning": "hm", "reasoning_details": [{"text": "hm"}]}),
            chunk({"reasoning": "m", "reasoning_details": [{"text": "m"}]}),
        ],
        {"role": "assistant", "content": "", "reasoning": "hmm", "reasoning_details": [{"text": "hm"}, {"text": "m"}]},
    ),
    "refusal": (
        [chunk({"role": "assistant", "content": None, "refusal": "N"}), chunk({"refusal": "o."})],
        {"role": "assistant", "content": None, "refusal": "No."},
    ),
    "calls side by side": (
        [
            FIRST,
            begin("c1", index=0),
            begin("c2", index=1),
            more('{"path":', index=0),
            more('{"path":"a.py"}', index=1),
            more('"a.py"}', index=0),
        ],
        TWO_CALLS,
    ),
    "calls without index": (
        [FIRST, begin("c1", '{"path":'), more('"a.py"}'), begin("c2", '{"path":"a.py"}')],
        TWO_CALLS,
    ),
    "calls all of index 0": (
        [FIRST, begin("c1", '{"path":"a.py"}', index=0), begin("c2", '{"path":"a.py"}', index=0)],
        TWO_CALLS,
    ),
    "ids repeated": (
        [
            FIRST,
            begin("c1", '{"path":', index=0),
            more('"a.py"}', index=0, id="c1"),
            begin("c2", '{"path":', index=1),
            more('"a.py"}', id="c2"),
        ],
        TWO_CALLS,
    ),
    "a custom call": (
        [FIRST, chunk({"tool_calls": [{"index": 0, **PATCH}]})],
        {"role": "assistant", "content": None, "tool_calls": [PATCH]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_gives_what_the_same_response_gives_without_streaming(case: str) -> None:
    events, message = CASES[case]
    stream, _ = feed([*events, chunk({}, "stop"), LAST])

    assert stream.complete
    assert CHAT.decode_response(body(message)) == stream.response()


CALLS = st.sampled_from([call("c1"), call("c2", "{}"), call("c3", "")])
ANSWER: dict[str, st.SearchStrategy[Json]] = {"role": st.just("assistant"), "content": st.none() | st.text(max_size=9)}
BESIDE: dict[str, st.SearchStrategy[Json]] = {
    "refusal": st.none() | st.text(min_size=1, max_size=9),
    "reasoning_content": st.none() | st.text(min_size=1, max_size=9),
    "annotations": st.just([]),
    "tool_calls": st.lists(CALLS, min_size=1, max_size=3, unique_by=str),
}
MESSAGES: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(ANSWER, optional=BESIDE)
REASONS = st.sampled_from(["stop", "tool_calls", "length"])
FIELDS: st.SearchStrategy[JsonObject] = st.sampled_from([JsonObject(), JsonObject(usage=None), JsonObject(zeta=[1])])


@given(MESSAGES, REASONS, FIELDS)
@settings(max_examples=60, deadline=None)
def test_a_response_told_as_chunks_is_the_same_response(message: JsonObject, reason: str, fields: JsonObject) -> None:
    response = CHAT.decode_response(body(message, reason, **fields))
    stream, _ = feed(list(CHAT.encode_events(response)))

    assert response == stream.response()


def test_deltas_name_each_block_by_its_place_in_the_message() -> None:
    answer: JsonObject = {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "Reading.",
        "tool_calls": [call("c1")],
    }
    response = CHAT.decode_response(body(answer, "tool_calls"))
    _, deltas = feed(list(CHAT.encode_events(response)))
    expected = [
        BlockStarted(index=0, block=Thinking(thinking="")),
        BlockGrew(index=0, kind="thinking", piece="hm"),
        BlockDone(index=0, block=response.message.content[0]),
        BlockStarted(index=1, block=Text(text="")),
        BlockGrew(index=1, kind="text", piece="Reading."),
        BlockDone(index=1, block=Text(text="Reading.")),
        BlockStarted(index=2, block=ToolUse(id="c1", name="read", input={}, raw_input="")),
        BlockGrew(index=2, kind="input", piece='{"path":"a.py"}'),
        BlockDone(index=2, block=response.message.content[2]),
    ]

    assert expected == deltas


def test_a_stream_that_breaks_off_gives_what_arrived() -> None:
    stream, _ = feed([chunk({"role": "assistant", "content": "Rea"}), begin("c1", '{"pa', index=0)])
    message = stream.response().message

    assert not stream.complete
    assert (Text(text="Rea"), ToolUse(id="c1", name="read", input={}, raw_input='{"pa')) == message.content
    assert message.stop_reason is None


def test_log_probabilities_add_up_and_other_choices_are_passed_over() -> None:
    said = chunk({"role": "assistant", "content": "a"})
    said["choices"] = [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}]
    again: JsonObject = {**said, "choices": [{"index": 0, "delta": {"content": "b"}, "logprobs": {"content": [{}]}}]}
    other: JsonObject = {**said, "choices": [{"index": 1, "delta": {"content": "z"}}]}
    stream, _ = feed([said, again, other])
    response = stream.response()

    assert (Text(text="ab"),) == response.message.content
    assert [{"index": 0, "message": None, "logprobs": {"content": [{"token": "a"}, {}]}}] == response.params["choices"]


def test_an_error_in_the_stream_is_kept() -> None:
    stream, deltas = feed([{"error": {"message": "overloaded", "code": 502}}])

    assert {"message": "overloaded", "code": 502} == stream.error
    assert [] == deltas


def test_a_call_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        feed([chunk({"tool_calls": ["c1"]})])
