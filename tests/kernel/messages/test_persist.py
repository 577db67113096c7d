"""Every message, block and tool comes back from its stored form equal, whatever dialect left its fields in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Extra,
    Image,
    Json,
    JsonObject,
    Message,
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
    decode_json,
    encode_json,
)
from perdure.kernel.messages.persist import (
    block_from_json,
    block_to_json,
    message_from_json,
    message_to_json,
    tool_from_json,
    tool_to_json,
    usage_from_json,
)
from perdure.kernel.wire.anthropic.usage import decode_usage
from perdure.kernel.wire.openai import count_usage

WORDS = st.text(max_size=12)
NAMES = st.text(min_size=1, max_size=6)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        WORDS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=3)
EXTRAS = st.none() | st.builds(
    Extra,
    dialect=st.sampled_from(["anthropic", "chat", "responses"]),
    fields=st.lists(st.tuples(NAMES, JSON), max_size=3).map(tuple),
    keys=st.lists(NAMES, max_size=3).map(tuple),
)
MAYBE = st.none() | WORDS
SIMPLE: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, text=WORDS, extra=EXTRAS),
    st.builds(Thinking, thinking=WORDS, signature=MAYBE, extra=EXTRAS),
    st.builds(RedactedThinking, data=WORDS, extra=EXTRAS),
    st.builds(ToolUse, id=WORDS, name=WORDS, input=OBJECTS, raw_input=MAYBE, extra=EXTRAS),
    st.builds(Image, source=OBJECTS, extra=EXTRAS),
    st.builds(Document, source=OBJECTS, extra=EXTRAS),
    st.builds(
        Compaction,
        content=MAYBE,
        encrypted_content=MAYBE,
        signature=MAYBE,
        tool_changes=st.none() | st.lists(JSON, max_size=2),
        extra=EXTRAS,
    ),
    st.builds(ServerToolUse, kind=WORDS, id=WORDS, name=WORDS, input=OBJECTS, extra=EXTRAS),
    st.builds(ServerToolResult, kind=WORDS, tool_use_id=WORDS, content=JSON, extra=EXTRAS),
    st.builds(ToolReference, tool_name=WORDS, extra=EXTRAS),
    st.builds(Unknown, dialect=WORDS, raw=OBJECTS),
)
BLOCKS = SIMPLE | st.builds(
    ToolResult,
    tool_use_id=WORDS,
    content=st.one_of(MAYBE, st.lists(SIMPLE, max_size=3).map(tuple)),
    is_error=st.sampled_from([None, True, False]),
    extra=EXTRAS,
)
COUNTS = st.integers(0, 10**9)
USAGES = st.builds(
    Usage,
    input_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    cache_write_1h_tokens=COUNTS,
    output_tokens=COUNTS,
    raw=st.none() | OBJECTS,
)
MESSAGES = st.builds(
    Message,
    id=NAMES,
    role=st.sampled_from(["user", "assistant", "system", "developer"]),
    content=st.lists(BLOCKS, max_size=4).map(tuple),
    provenance=st.sampled_from(["user", "assistant", "tool", "harness", "web", "peer"]),
    plain=st.booleans(),
    time=st.none() | st.floats(-1e10, 1e12),
    model=MAYBE,
    stop_reason=MAYBE,
    usage=st.none() | USAGES,
    extra=EXTRAS,
)


def through_bytes(value: Json) -> Json:
    return decode_json(encode_json(value))


@given(MESSAGES)
def test_every_message_comes_back_equal(message: Message) -> None:
    back = message_from_json(through_bytes(message_to_json(message)))

    assert message == back
    # Equality of counts leaves the provider's own object out.
    assert (message.usage and message.usage.raw) == (back.usage and back.usage.raw)


@given(BLOCKS)
def test_a_block_has_the_same_bytes_after_a_second_round(block: Block) -> None:
    once = encode_json(block_to_json(block))
    twice = encode_json(block_to_json(block_from_json(decode_json(once))))

    assert once == twice


@given(st.builds(Tool, name=WORDS, description=MAYBE, schema=st.none() | OBJECTS, extra=EXTRAS))
def test_every_tool_comes_back_equal(tool: Tool) -> None:
    back = tool_from_json(through_bytes(tool_to_json(tool)))

    assert tool == back


def test_a_lone_surrogate_comes_back() -> None:
    message = Message(id="m1", role="user", content=(Text(text="cut \ud83d off"),), provenance="user")

    assert message == message_from_json(through_bytes(message_to_json(message)))


def test_what_is_usual_takes_no_room() -> None:
    message = Message(id="m1", role="user", content=(Text(text="hi"),), provenance="user")
    stored = {"id": "m1", "role": "user", "provenance": "user", "content": [{"type": "text", "text": "hi"}]}

    assert stored == message_to_json(message)


def test_an_absent_answer_of_a_tool_is_not_an_empty_one() -> None:
    none = ToolResult(tool_use_id="t", content=None)

    assert [none, replace(none, content=""), replace(none, content=())] == [
        block_from_json(block_to_json(replace(none, content=content))) for content in (None, "", ())
    ]


def test_a_count_of_tokens_that_cannot_be_true_counts_nothing() -> None:
    most: JsonObject = {"input_tokens": 10**400, "output_tokens": 10**400, "prompt_tokens": 10**400}
    told = count_usage(most, total="prompt_tokens", output="output_tokens", details="details")

    assert [Usage()] * 3 == [usage_from_json(most), decode_usage(most), told]


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ({"id": 1, "role": "user", "provenance": "user"}, "'id' of the message must be a string, not a number"),
        ({"id": "m", "role": "boss", "provenance": "user"}, "'role' of the message"),
        ({"id": "m", "role": "user", "provenance": "user", "content": [{"type": "odour"}]}, "'odour'"),
        ({"id": "m", "role": "user", "provenance": "user", "content": {}}, "'content' of the message"),
        (["m"], "the message must be an object"),
    ],
)
def test_a_damaged_field_is_named(stored: Json, named: str) -> None:
    with pytest.raises(InvalidJson, match=named):
        message_from_json(stored)
