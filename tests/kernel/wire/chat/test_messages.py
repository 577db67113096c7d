"""Chat messages and messages: what is grouped, what each field becomes, and that everything returns as it came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
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
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    encode_json,
)
from perdure.kernel.wire.chat import CHAT
from perdure.kernel.wire.chat.messages import encoded

PIXEL = "data:image/png;base64,iVBORw0KGgo="

TEXTS = st.text(max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | NUMBERS | TEXTS
ODD = st.dictionaries(st.sampled_from(["zeta", "index", "custom", "name", "refusal", "audio"]), SCALARS, max_size=2)
ARGUMENTS = st.dictionaries(TEXTS, SCALARS, max_size=3).map(lambda value: encode_json(value).decode()) | TEXTS


def turn(drawn: tuple[dict[str, Any], dict[str, Any], int]) -> JsonObject:
    """One object of two, with its keys turned by so many places."""
    fixed, odd, places = drawn
    whole = odd | fixed
    keys = list(whole)
    return {key: whole[key] for key in keys[places:] + keys[:places]}


def turned(fixed: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[JsonObject]:
    """Objects with these fields, some unknown ones beside them, and the keys in several orders."""
    whole: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(fixed, optional=optional or {})
    return st.tuples(whole, ODD, st.integers(0, 5)).map(turn)


PARTS = st.lists(
    turned({"type": st.just("text"), "text": TEXTS})
    | turned({"type": st.just("image_url"), "image_url": turned({"url": st.sampled_from([PIXEL, "https://x.test/a"])})})
    | turned({"type": st.just("file"), "file": turned({"file_data": st.sampled_from([PIXEL, "raw"])})})
    | turned({"type": st.just("file"), "file": turned({"file_id": TEXTS})})
    | turned({"type": st.sampled_from(["refusal", "input_audio", "text"]), "refusal": TEXTS}),
    max_size=2,
)
CONTENT: st.SearchStrategy[Any] = st.none() | TEXTS | PARTS
CALLS = st.lists(
    turned(
        {"id": TEXTS, "function": turned({"name": TEXTS, "arguments": ARGUMENTS})},
        {"type": st.sampled_from(["function", "novel", None])},
    )
    | turned({"id": TEXTS, "type": st.just("custom"), "custom": turned({"name": TEXTS, "input": TEXTS})})
    | turned({"id": st.none(), "function": turned({"name": TEXTS})}),
    max_size=2,
)
REASONING = {
    "reasoning_content": st.none() | TEXTS,
    "reasoning": st.none() | TEXTS,
    "reasoning_details": st.none() | st.lists(turned({"type": st.just("reasoning.text"), "text": TEXTS}), max_size=2),
}
ITEMS: st.SearchStrategy[list[Any]] = st.lists(
    turned({"role": st.sampled_from(["user", "system", "developer", "function", "critic"]), "content": CONTENT})
    | turned({"role": st.just("assistant")}, {"content": CONTENT, "tool_calls": CALLS | st.none(), **REASONING})
    | turned({"role": st.just("assistant"), "content": CONTENT, "tool_calls": CALLS})
    | turned({"role": st.just("tool"), "tool_call_id": TEXTS, "content": CONTENT})
    | turned({"role": st.just("tool")}, {"content": CONTENT, "tool_call_ids": PARTS}),
    max_size=5,
)


@given(ITEMS)
@settings(max_examples=150, deadline=None)
def test_any_messages_return_byte_identical(items: list[Any]) -> None:
    body = encode_json({"model": "gpt-x", "messages": items})

    assert body == CHAT.encode_request(CHAT.decode_request(body))


@given(ITEMS, ITEMS)
@settings(max_examples=50, deadline=None)
def test_encoding_messages_is_concatenating_what_each_encodes_to(early: list[Any], late: list[Any]) -> None:
    messages = (*CHAT.decode_messages(early), *CHAT.decode_messages(late))

    assert early + late == CHAT.encode_messages(messages)


def test_results_in_a_row_are_one_message_and_every_other_message_is_one() -> None:
    items: list[JsonObject] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "b"}], "name": "read"},
        {"role": "developer", "content": "mind the time"},
    ]
    messages = CHAT.decode_messages(items, first=4)
    expected = (
        Message(id="m4", role="system", content=(Text(text="be brief"),), provenance="harness", plain=True),
        Message(id="m5", role="user", content=(Text(text="go"),), provenance="user", plain=True),
        Message(
            id="m6",
            role="assistant",
            content=(ToolUse(id="c1", name="read", input={"n": 1}), ToolUse(id="c2", name="read", input={"n": 1})),
            provenance="assistant",
        ),
        Message(
            id="m7",
            role="user",
            content=(
                ToolResult(tool_use_id="c1", content="a"),
                ToolResult(
                    tool_use_id="c2",
                    content=(Text(text="b"),),
                    extra=Extra(dialect="chat", fields=(("name", "read"),)),
                ),
            ),
            provenance="tool",
        ),
        Message(id="m8", role="developer", content=(Text(text="mind the time"),), provenance="harness", plain=True),
    )

    assert expected == messages


EMPTIES: list[JsonObject] = [
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {}}]},
    {"role": "assistant", "tool_calls": None},
    {"role": "assistant", "content": "", "refusal": None},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "x"},
    {"role": "user", "content": ""},
    {"role": "user", "content": []},
]


@pytest.mark.parametrize("item", EMPTIES, ids=str)
def test_absent_null_and_empty_stay_apart(item: JsonObject) -> None:
    assert [item] == CHAT.encode_messages(CHAT.decode_messages([item]))


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, "hm"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}, {"summary": "so"}]}, "hm\n\nso"),
        ({"reasoning_opaque": "x"}, "x"),
    ],
    ids=str,
)
def test_reasoning_of_any_server_is_one_block_that_takes_all_its_fields_along(
    fields: JsonObject, thinking: str
) -> None:
    item: JsonObject = {"role": "assistant", **fields, "content": "done"}
    (message,) = CHAT.decode_messages([item])
    first, *rest = message.content

    assert isinstance(first, Thinking)
    assert thinking == first.thinking
    assert [item] == CHAT.encode_messages([message])
    assert [{"role": "assistant", "content": "done"}] == CHAT.encode_messages([replace(message, content=tuple(rest))])


def test_a_text_that_was_cleared_leaves_null_beside_its_calls() -> None:
    (message,) = CHAT.decode_messages([{"role": "assistant", "content": "so", "tool_calls": [call("c")], "zeta": 1}])

    assert [{"role": "assistant", "content": None, "tool_calls": [call("c")], "zeta": 1}] == CHAT.encode_messages(
        [replace(message, content=message.content[1:])]
    )


def test_results_leave_before_what_is_said_beside_them_and_an_error_says_so() -> None:
    message = Message(
        id="m0",
        role="user",
        provenance="user",
        content=(
            Text(text="and then stop"),
            ToolResult(tool_use_id="c1", content="no such file", is_error=True),
            ToolResult(tool_use_id="c2", content=(Text(text="gone"),), is_error=True),
            ToolResult(tool_use_id="c3", content=None),
        ),
    )
    expected: list[JsonObject] = [
        {"role": "tool", "tool_call_id": "c1", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "Error: gone"}]},
        {"role": "tool", "tool_call_id": "c3", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "and then stop"}]},
    ]

    assert expected == CHAT.encode_messages([message])


def test_an_answer_from_elsewhere_is_bare_text_since_not_every_server_takes_parts() -> None:
    content = (Text(text="one"), ToolUse(id="c", name="read", input={"n": 1}), Text(text="two"))
    message = Message(id="m0", role="assistant", content=content, provenance="assistant")
    expected: list[JsonObject] = [{"role": "assistant", "content": "one\n\ntwo", "tool_calls": [call("c")]}]

    assert expected == CHAT.encode_messages([message])


@pytest.mark.parametrize(
    "block",
    [
        Thinking(thinking="hm", signature="sig"),
        Thinking(thinking="hm", extra=Extra(dialect="responses")),
        RedactedThinking(data="x"),
        Compaction(content="summary"),
        ServerToolUse(kind="server_tool_use", id="s", name="web_search", input={}),
        ToolReference(tool_name="read"),
        Unknown(dialect="anthropic", raw={"type": "container_upload"}),
        Document(source={"type": "url", "url": "https://x.test/a.pdf"}),
        Image(source={"type": "file", "file_id": "f"}),
        ToolResult(tool_use_id="c", content=(Image(source={"type": "url", "url": "https://x.test/a.png"}),)),
    ],
    ids=str,
)
def test_a_block_that_has_no_form_here_is_refused_and_not_dropped(block: Block) -> None:
    message = Message(id="m0", role="assistant", content=(block,), provenance="assistant")

    with pytest.raises(UntranslatableBlock):
        CHAT.encode_messages([message])


def test_media_from_elsewhere_leave_as_parts() -> None:
    pdf: JsonObject = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    content = (
        Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}),
        Document(source=pdf),
        Document(source={"type": "text", "media_type": "text/plain", "data": "notes"}),
    )
    (item,) = CHAT.encode_messages([Message(id="m0", role="user", provenance="user", content=content)])
    file: JsonObject = {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBE"}
    expected: list[JsonObject] = [
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "file", "file": file},
        {"type": "text", "text": "notes"},
    ]

    assert expected == item["content"]


def test_a_message_without_a_role_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="has a `role`"):
        CHAT.decode_messages([{"content": "whose?"}])


def test_an_encoding_is_made_once_and_kept_with_its_message() -> None:
    (message,) = CHAT.decode_messages([{"role": "user", "content": "hello"}])

    assert encoded([message])[0] is encoded([message])[0]
    assert b'{"role":"user","content":"hello"}' == encoded([message])[0]


def call(name: str) -> Json:
    """A call as OpenAI sends it."""
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": '{"n":1}'}}
