"""Items and messages: what is grouped, what each field becomes, and that everything returns as it came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import (
    Compaction,
    Document,
    Extra,
    Image,
    JsonObject,
    Message,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    Unknown,
    encode_json,
)
from perdure.kernel.wire.responses import RESPONSES
from perdure.kernel.wire.responses.messages import encoded

PIXEL = "data:image/png;base64,iVBORw0KGgo="

TEXTS = st.text(max_size=12)
SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
ODD = st.dictionaries(st.sampled_from(["zeta", "caller", "metadata", "(item)"]), SCALARS, max_size=2)
ARGUMENTS = st.dictionaries(TEXTS, SCALARS, max_size=3).map(lambda value: encode_json(value).decode()) | TEXTS


def turn(drawn: tuple[dict[str, Any], dict[str, Any], int]) -> JsonObject:
    """One object of two, with its keys turned by so many places."""
    fixed, odd, places = drawn
    whole = odd | fixed
    keys = list(whole)
    return {key: whole[key] for key in keys[places:] + keys[:places]}


def shuffled(fixed: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[JsonObject]:
    """Objects with these fields, some unknown ones beside them, and the keys in any order."""
    return st.tuples(st.fixed_dictionaries(fixed), ODD, st.integers(0, 5)).map(turn)


PARTS = st.lists(
    shuffled({"type": st.sampled_from(["input_text", "output_text", "text"]), "text": TEXTS})
    | shuffled(
        {"type": st.just("input_image"), "image_url": st.sampled_from([PIXEL, "https://x.test/a.png", "data:,a"])}
    )
    | shuffled({"type": st.just("input_image"), "image_url": st.none(), "file_id": TEXTS, "detail": TEXTS})
    | shuffled({"type": st.just("input_file"), "filename": TEXTS, "file_data": st.sampled_from([PIXEL, "raw"])})
    | shuffled({"type": st.just("input_file"), "file_url": TEXTS})
    | shuffled({"type": st.sampled_from(["refusal", "input_text", "input_video", "hologram"]), "refusal": TEXTS}),
    max_size=2,
)
ROLES = st.sampled_from(["user", "assistant", "system", "developer", "critic"])
ITEMS: st.SearchStrategy[list[Any]] = st.lists(
    shuffled({"role": ROLES, "content": TEXTS | PARTS})
    | shuffled({"type": st.just("message"), "role": ROLES, "content": TEXTS | PARTS, "id": TEXTS})
    | shuffled({"type": st.just("message"), "role": ROLES, "content": TEXTS | PARTS})
    | shuffled({"type": st.just("function_call"), "call_id": TEXTS, "name": TEXTS, "arguments": ARGUMENTS})
    | shuffled({"type": st.just("custom_tool_call"), "call_id": TEXTS, "name": TEXTS, "input": TEXTS})
    | shuffled(
        {
            "type": st.sampled_from(["function_call_output", "custom_tool_call_output"]),
            "call_id": TEXTS,
            "output": TEXTS | PARTS | st.none(),
        }
    )
    | shuffled({"type": st.just("reasoning"), "summary": PARTS, "encrypted_content": st.none() | TEXTS})
    | shuffled({"type": st.just("compaction"), "encrypted_content": TEXTS | st.none()})
    | shuffled({"type": st.sampled_from(["web_search_call", "item_reference", "novelty", "compaction_trigger"])})
    | shuffled({"type": st.just("tool_search_output"), "execution": st.sampled_from(["client", "server"])}),
    max_size=5,
)


@given(ITEMS)
@settings(max_examples=150, deadline=None)
def test_any_items_return_byte_identical(items: list[Any]) -> None:
    body = encode_json({"model": "gpt-x", "input": items})

    assert body == RESPONSES.encode_request(RESPONSES.decode_request(body))


@given(ITEMS, ITEMS)
@settings(max_examples=50, deadline=None)
def test_encoding_messages_is_concatenating_what_each_encodes_to(early: list[Any], late: list[Any]) -> None:
    messages = (*RESPONSES.decode_messages(early), *RESPONSES.decode_messages(late))

    assert early + late == RESPONSES.encode_messages(messages)


def test_what_a_model_does_in_a_row_is_one_message_and_results_in_a_row_are_another() -> None:
    items: list[JsonObject] = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "looking"}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "***"},
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "b"},
        {"type": "compaction", "encrypted_content": "gAAA"},
        {"type": "compaction_trigger"},
        {"role": "user", "content": "still there?"},
    ]
    said = [
        (message.id, message.role, message.provenance, len(message.content))
        for message in RESPONSES.decode_messages(items, first=4)
    ]
    expected = [
        ("m4", "user", "user", 1),
        ("m5", "assistant", "assistant", 5),
        ("m6", "user", "tool", 2),
        ("m7", "assistant", "assistant", 1),
        ("m8", "user", "harness", 1),
        ("m9", "user", "user", 1),
    ]

    assert expected == said


def test_two_answers_in_a_row_stay_two_items() -> None:
    items: list[JsonObject] = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "one"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
    ]
    (message,) = RESPONSES.decode_messages(items)

    assert ["one", "two"] == [block.text for block in message.content if isinstance(block, Text)]
    assert items == RESPONSES.encode_messages([message])


def test_reasoning_is_thinking_with_its_encrypted_form_as_signature() -> None:
    item: JsonObject = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "then"}],
        "encrypted_content": "gAAA",
    }
    (message,) = RESPONSES.decode_messages([item])
    (block,) = message.content

    assert isinstance(block, Thinking)
    assert ("first\n\nthen", "gAAA") == (block.thinking, block.signature)


@pytest.mark.parametrize(
    ("arguments", "input", "raw"),
    [
        ('{"path":"a","n":1}', {"path": "a", "n": 1}, None),
        ('{"path": "a"}', {}, '{"path": "a"}'),
        ('{"a":1,"a":1}', {}, '{"a":1,"a":1}'),
        ("[1]", {}, "[1]"),
        ('{"cut', {}, '{"cut'),
        ("", {}, ""),
    ],
)
def test_arguments_are_an_object_only_where_it_would_come_out_the_same(
    arguments: str, input: JsonObject, raw: str | None
) -> None:
    items = [{"type": "function_call", "call_id": "c", "name": "read", "arguments": arguments}]
    (message,) = RESPONSES.decode_messages(items)
    (call,) = message.tool_uses

    assert (input, raw) == (call.input, call.raw_input)
    assert items == RESPONSES.encode_messages([message])


def test_a_picture_has_a_source_in_the_neutral_form() -> None:
    parts = [{"type": "input_image", "image_url": PIXEL, "detail": "low"}, {"type": "input_image", "file_id": "f"}]
    (message,) = RESPONSES.decode_messages([{"role": "user", "content": parts}])
    sources = [block.source for block in message.content if isinstance(block, Image)]
    base64 = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}

    assert [base64, {"type": "file", "file_id": "f"}] == sources


def test_results_leave_before_what_is_said_beside_them_and_an_error_says_so() -> None:
    message = Message(
        id="m0",
        role="user",
        provenance="user",
        content=(
            Text(text="and then stop"),
            ToolResult(tool_use_id="c1", content="no such file", is_error=True),
            ToolResult(
                tool_use_id="c2",
                content=(Text(text="Error: twice"), Image(source={"type": "url", "url": "u"})),
                is_error=True,
            ),
            ToolResult(tool_use_id="c3", content=None),
        ),
    )
    expected = [
        {"type": "function_call_output", "call_id": "c1", "output": "Error: no such file"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "Error: twice"}, {"type": "input_image", "image_url": "u"}],
        },
        {"type": "function_call_output", "call_id": "c3", "output": ""},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and then stop"}]},
    ]

    assert expected == RESPONSES.encode_messages([message])


@pytest.mark.parametrize(
    "block",
    [
        Thinking(thinking="hm", signature="sig"),
        Thinking(thinking="hm", extra=Extra(dialect="chat", fields=(("reasoning", "hm"),))),
        RedactedThinking(data="x"),
        Compaction(content="summary"),
        Compaction(encrypted_content="x", extra=Extra(dialect="anthropic")),
        ServerToolUse(kind="server_tool_use", id="s", name="web_search", input={}),
        ToolReference(tool_name="read"),
        Unknown(dialect="anthropic", raw={"type": "container_upload"}),
        Document(source={"type": "content", "content": []}),
        Image(source={"type": "hologram"}),
    ],
    ids=str,
)
def test_a_block_that_has_no_form_here_is_refused_and_not_dropped(block: Any) -> None:
    message = Message(id="m0", role="assistant", content=(block,), provenance="assistant")

    with pytest.raises(UntranslatableBlock):
        RESPONSES.encode_messages([message])


def test_a_document_from_elsewhere_gets_the_file_name_that_openai_demands() -> None:
    pdf: JsonObject = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    message = Message(
        id="m0",
        role="user",
        provenance="user",
        content=(
            Document(source=pdf, extra=Extra(dialect="anthropic", fields=(("title", "plan.pdf"),))),
            Document(source={"type": "text", "media_type": "text/plain", "data": "notes"}),
        ),
    )
    (item,) = RESPONSES.encode_messages([message])
    expected = [
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "plan.pdf"},
        {"type": "input_text", "text": "notes"},
    ]

    assert expected == item["content"]


def test_an_item_whose_type_is_no_text_is_carried() -> None:
    items: list[JsonObject] = [{"type": []}, {"type": {"a": 1}, "role": "user"}, {"type": None}, {}]

    assert items == RESPONSES.encode_messages(RESPONSES.decode_messages(items))


def test_a_result_with_another_content_keeps_the_fields_around_it() -> None:
    item: JsonObject = {"type": "custom_tool_call_output", "id": "o_1", "call_id": "c", "output": "long", "zeta": 1}
    (message,) = RESPONSES.decode_messages([item])
    (result,) = message.tool_results
    cleared = replace(message, content=(replace(result, content="cleared"),))

    assert [{**item, "output": "cleared"}] == RESPONSES.encode_messages([cleared])


def test_an_answer_without_its_reasoning_keeps_the_items_around_it() -> None:
    said: JsonObject = {"type": "message", "id": "m_1", "role": "assistant", "phase": "final", "content": "Done."}
    (message,) = RESPONSES.decode_messages([{"type": "reasoning", "summary": []}, said])

    assert [said] == RESPONSES.encode_messages([replace(message, content=message.content[1:])])


def test_a_part_outside_of_a_message_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="'input_text' is a content part"):
        RESPONSES.decode_messages([{"type": "input_text", "text": "astray"}])


def test_an_encoding_is_made_once_and_kept_with_its_message() -> None:
    (message,) = RESPONSES.decode_messages([{"role": "user", "content": "hello"}])

    assert encoded([message])[0] is encoded([message])[0]
    assert b'{"role":"user","content":"hello"}' == encoded([message])[0]
