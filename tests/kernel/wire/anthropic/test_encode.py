"""Values become bytes of the Messages API, marks stand in their place, and what has no form is refused."""

from dataclasses import replace

import pytest

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import (
    Block,
    Compaction,
    Extra,
    Mark,
    Message,
    RedactedThinking,
    Request,
    Response,
    Role,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolResult,
    ToolUse,
    Unknown,
    Usage,
)
from perdure.kernel.wire import ANTHROPIC

FOREIGN = Extra(dialect="responses", fields=(("id", "rs_1"),))


def message(*blocks: Block, role: Role = "assistant") -> Message:
    return Message(id="m0", role=role, content=blocks, provenance="assistant")


def encoded(*blocks: Block) -> object:
    return ANTHROPIC.encode_messages([message(*blocks)])[0]["content"]


@pytest.mark.parametrize(
    "block",
    [
        Thinking(thinking="hm"),
        Thinking(thinking="hm", signature="gAAAA", extra=FOREIGN),
        RedactedThinking(data="x", extra=FOREIGN),
        Compaction(encrypted_content="gAAAA"),
        Compaction(content="S", encrypted_content="gAAAA", extra=FOREIGN),
        ServerToolUse(kind="web_search_call", id="ws_1", name="web_search", input={}),
        ServerToolUse(kind="server_tool_use", id="ws_1", name="web_search", input={}, extra=FOREIGN),
        ServerToolResult(kind="web_search_call_output", tool_use_id="ws_1", content=None),
        Unknown(dialect="chat", raw={"type": "refusal"}),
        ToolUse(id="t", name="read", input={}, raw_input=""),
        ToolUse(id="t", name="read", input={}, raw_input='{"path": "a'),
        ToolUse(id="t", name="read", input={}, raw_input="[1]"),
        ToolResult(tool_use_id="t", content=(Unknown(dialect="chat", raw={"type": "refusal"}),)),
    ],
)
def test_a_block_without_a_form_here_is_refused(block: Block) -> None:
    with pytest.raises(UntranslatableBlock):
        encoded(block)


def test_a_developer_has_no_role_here() -> None:
    with pytest.raises(UntranslatableBlock, match="developer"):
        ANTHROPIC.encode_messages([message(Text(text="x"), role="developer")])


def test_fields_of_another_dialect_are_left_out() -> None:
    assert [{"type": "text", "text": "hi"}] == encoded(Text(text="hi", extra=FOREIGN))


def test_arguments_that_came_as_text_leave_as_an_object() -> None:
    call = ToolUse(id="call_1", name="read", input={}, raw_input='{ "path": "a.py" }', extra=FOREIGN)

    assert [{"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "a.py"}}] == encoded(call)


def test_a_content_that_replaces_null_is_the_one_that_leaves() -> None:
    wire = {"type": "tool_result", "tool_use_id": "t", "content": None, "is_error": False}
    (received,) = ANTHROPIC.decode_messages([{"role": "user", "content": [wire]}])
    result = received.tool_results[0]

    assert [{**wire, "content": "cleared"}] == encoded(replace(result, content="cleared"))


def test_a_bare_text_that_grew_leaves_as_a_list() -> None:
    (received,) = ANTHROPIC.decode_messages([{"role": "user", "content": "hi"}])
    grown = replace(received, content=(*received.content, Text(text="there")))

    assert {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "there"}]} == (
        ANTHROPIC.encode_messages([grown])[0]
    )


def test_a_tool_that_another_provider_defines_is_refused() -> None:
    request = Request(model="m", messages=(), tools=(Tool(name="shell", extra=FOREIGN),))

    with pytest.raises(UntranslatableBlock, match="shell"):
        ANTHROPIC.encode_request(request)


def test_a_tool_with_a_schema_is_declared_here_too() -> None:
    request = Request(model="m", messages=(), tools=(Tool(name="shell", schema={"type": "object"}, extra=FOREIGN),))

    assert b'{"model":"m","tools":[{"name":"shell","input_schema":{"type":"object"}}],"messages":[]}' == (
        ANTHROPIC.encode_request(request)
    )


def test_a_mark_stands_last_in_its_block() -> None:
    request = Request(
        model="m",
        system=(Text(text="s"),),
        tools=(Tool(name="a", schema={}), Tool(name="b", schema={})),
        messages=(message(Text(text="x"), Text(text="y"), role="user"),),
        marks=(
            Mark(part="tools", index=1, ttl="1h"),
            Mark(part="system", index=0),
            Mark(part="messages", index=0, block=1, ttl="5m"),
        ),
    )

    assert (
        b'{"model":"m","tools":[{"name":"a","input_schema":{}},'
        b'{"name":"b","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}],'
        b'"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],'
        b'"messages":[{"role":"user","content":[{"type":"text","text":"x"},'
        b'{"type":"text","text":"y","cache_control":{"type":"ephemeral","ttl":"5m"}}]}]}'
    ) == ANTHROPIC.encode_request(request)


def test_a_moving_mark_changes_no_message() -> None:
    text = {"type": "text", "text": "hi"}
    marked = {**text, "cache_control": {"type": "ephemeral"}}
    before = ANTHROPIC.decode_request({"messages": [{"role": "user", "content": [marked]}]})
    after = ANTHROPIC.decode_request({"messages": [{"role": "user", "content": [text]}]})

    assert after.messages == before.messages
    assert ((), (Mark(part="messages", index=0),)) == (after.marks, before.marks)


@pytest.mark.parametrize("control", [{"type": "ephemeral", "ttl": "2h"}, {"type": "ephemeral", "scope": "all"}, None])
def test_a_mark_that_says_more_is_an_unknown_field(control: object) -> None:
    text = {"type": "text", "text": "hi", "cache_control": control}
    request = ANTHROPIC.decode_request({"messages": [{"role": "user", "content": [text]}]})
    extra = getattr(request.messages[0].content[0], "extra", None)

    assert () == request.marks
    assert isinstance(extra, Extra)
    assert control == extra.get("cache_control")


def test_a_mark_inside_a_result_is_an_unknown_field() -> None:
    inner = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [inner]}

    assert () == ANTHROPIC.decode_request({"messages": [{"role": "user", "content": [result]}]}).marks


def test_a_marked_bare_text_becomes_a_block() -> None:
    bare = ANTHROPIC.decode_request({"model": "m", "system": "s", "messages": [{"role": "user", "content": "hi"}]})
    marked = replace(bare, marks=(Mark(part="system", index=0), Mark(part="messages", index=0)), keys=())

    assert (
        b'{"model":"m","system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],'
        b'"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}'
    ) == ANTHROPIC.encode_request(marked)


@pytest.mark.parametrize(
    "mark",
    [
        Mark(part="tools", index=0),
        Mark(part="system", index=0),
        Mark(part="messages", index=1),
        Mark(part="messages", index=-1),
        Mark(part="messages", index=0, block=1),
    ],
)
def test_a_mark_that_stands_on_nothing_is_refused(mark: Mark) -> None:
    request = Request(model="m", messages=(message(Text(text="x")),), marks=(mark,))

    with pytest.raises(InvalidMessage, match=f"{mark.part}/{mark.index}"):
        ANTHROPIC.encode_request(request)


def test_a_request_only_grows_at_its_end_when_a_message_is_added() -> None:
    first = message(Text(text="one"), role="user")
    short = Request(model="m", system=(Text(text="s"),), messages=(first,), params={"max_tokens": 1})
    long = replace(short, messages=(first, message(Text(text="two"))))
    shorter = ANTHROPIC.encode_request(short)

    assert shorter.endswith(b'],"max_tokens":1}')
    assert ANTHROPIC.encode_request(long).startswith(shorter.removesuffix(b'],"max_tokens":1}'))


def test_usage_that_another_provider_counted_leaves_in_anthropics_words() -> None:
    raw = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    usage = Usage(input_tokens=10, output_tokens=2, raw={**raw})
    response = Response(message=replace(message(Text(text="x")), usage=usage))

    assert (
        b'{"role":"assistant","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":10,'
        b'"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":'
        b'{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":2}}'
    ) == ANTHROPIC.encode_response(response)


def test_the_encoding_of_a_message_is_made_once_and_marks_leave_it_alone() -> None:
    request = Request(model="m", messages=(message(Text(text="a"), role="user"),))
    before = ANTHROPIC.encode_request(request)
    kept = request.messages[0].encoded("anthropic", lambda _: b"never made")
    marked = ANTHROPIC.encode_request(replace(request, marks=(Mark(part="messages", index=0),)))

    assert b'{"role":"user","content":[{"type":"text","text":"a"}]}' == kept
    assert b'{"model":"m","messages":[' + kept + b"]}" == before
    assert b"cache_control" in marked
    assert before == ANTHROPIC.encode_request(request)


def test_a_mark_goes_back_to_where_it_stood_in_its_block() -> None:
    body = (
        b'{"messages":[{"role":"user","content":[{"cache_control":{"ttl":"1h","type":"ephemeral"},'
        b'"type":"text","text":"a"}]}]}'
    )
    request = ANTHROPIC.decode_request(body)

    assert 1 == len(request.marks)
    assert body == ANTHROPIC.encode_request(request)
    assert b'{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}' == (
        ANTHROPIC.encode_request(replace(request, marks=()))
    )
