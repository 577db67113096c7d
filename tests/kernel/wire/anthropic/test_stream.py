"""A stream tells what the same response says without streaming."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import Json, Text, ToolUse, freeze_object
from perdure.kernel.wire import ANTHROPIC, BlockDone, BlockGrew, BlockStarted, Delta
from perdure.kernel.wire.anthropic.stream import AnthropicStream

Wire: TypeAlias = Mapping[str, object]

CALL: Wire = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
SEARCH: Wire = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
START: Wire = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 1},
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """The events of one block, and the block that the same response has without streaming."""

    name: str
    start: Wire
    deltas: list[Wire] = field(default_factory=list[Wire])
    block: Wire


CASES = [
    Case(
        name="text in pieces",
        start={"type": "text", "text": ""},
        deltas=[{"type": "text_delta", "text": "Good "}, {"type": "text_delta", "text": "day"}],
        block={"type": "text", "text": "Good day"},
    ),
    Case(
        name="text with citations",
        start={"type": "text", "text": "", "citations": []},
        deltas=[
            {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "a"}},
            {"type": "text_delta", "text": "said"},
            {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "b"}},
        ],
        block={
            "type": "text",
            "text": "said",
            "citations": [
                {"type": "char_location", "cited_text": "a"},
                {"type": "char_location", "cited_text": "b"},
            ],
        },
    ),
    Case(
        name="thinking and its signature",
        start={"type": "thinking", "thinking": "", "signature": ""},
        deltas=[
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "sig=="},
        ],
        block={"type": "thinking", "thinking": "hmm", "signature": "sig=="},
    ),
    Case(
        name="thinking that is not shown",
        start={"type": "thinking", "thinking": "", "signature": ""},
        deltas=[{"type": "signature_delta", "signature": "sig=="}],
        block={"type": "thinking", "thinking": "", "signature": "sig=="},
    ),
    Case(
        name="redacted thinking, whole",
        start={"type": "redacted_thinking", "data": "xyz"},
        block={"type": "redacted_thinking", "data": "xyz"},
    ),
    Case(
        name="a call in pieces",
        start={"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        deltas=[
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"path": "a'},
            {"type": "input_json_delta", "partial_json": '.py"}'},
        ],
        block={"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}},
    ),
    Case(
        name="a call without arguments",
        start={"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
        deltas=[{"type": "input_json_delta", "partial_json": ""}],
        block={"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
    ),
    Case(
        name="a call of the provider's",
        start={"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        deltas=[{"type": "input_json_delta", "partial_json": '{"query":"x"}'}],
        block={"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    ),
    Case(
        name="the provider's own result, whole",
        start={"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "new"}]},
        block={"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "new"}]},
    ),
    Case(
        name="threshold compaction, in one delta",
        start={"type": "compaction", "content": None, "encrypted_content": None},
        deltas=[{"type": "compaction_delta", "content": "Summary.", "encrypted_content": "e=="}],
        block={"type": "compaction", "content": "Summary.", "encrypted_content": "e=="},
    ),
    Case(
        name="a compaction that failed",
        start={"type": "compaction", "content": None, "encrypted_content": None},
        deltas=[{"type": "compaction_delta", "content": None, "encrypted_content": None}],
        block={"type": "compaction", "content": None, "encrypted_content": None},
    ),
    Case(
        name="compaction on demand, whole",
        start={"type": "compaction", "content": "Summary.", "signature": "s==", "tool_changes": []},
        block={"type": "compaction", "content": "Summary.", "signature": "s==", "tool_changes": []},
    ),
    Case(
        name="a block of tomorrow with a delta of tomorrow",
        start={"type": "sketch", "strokes": "", "scale": 1},
        deltas=[
            {"type": "sketch_delta", "strokes": "ab"},
            {"type": "sketch_delta", "strokes": "cd", "scale": 2},
        ],
        block={"type": "sketch", "strokes": "abcd", "scale": 2},
    ),
]


def events_of(case: Case) -> list[Wire]:
    return [
        {"type": "message_start", "message": START},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": case.start},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in case.deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 20, "cache_read_input_tokens": None},
        },
        {"type": "event_of_tomorrow", "value": 1},
        {"type": "message_stop"},
    ]


def fed(events: Sequence[Wire]) -> tuple[AnthropicStream, list[Delta]]:
    stream = ANTHROPIC.stream()
    deltas = [delta for event in events for delta in stream.feed(freeze_object(event))]
    return stream, deltas


def started(block: Wire) -> list[Wire]:
    return [
        {"type": "message_start", "message": START},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_streamed_response_equals_the_same_one_unstreamed(case: Case) -> None:
    stream, _ = fed(events_of(case))
    usage = {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 20}

    assert stream.complete
    assert (
        ANTHROPIC.decode_response({**START, "content": [case.block], "stop_reason": "end_turn", "usage": usage})
        == stream.response()
    )
    assert usage == getattr(stream.response().message.usage, "raw", None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_last_delta_of_a_block_is_the_block_of_the_message(case: Case) -> None:
    stream, deltas = fed(events_of(case))

    assert BlockDone(index=0, block=stream.response().message.content[0]) == deltas[-1]


def test_a_screen_hears_of_each_piece_of_text() -> None:
    _, deltas = fed(events_of(CASES[0]))

    assert [
        BlockStarted(index=0, block=Text(text="")),
        BlockGrew(index=0, kind="text", piece="Good "),
        BlockGrew(index=0, kind="text", piece="day"),
        BlockDone(index=0, block=Text(text="Good day")),
    ] == deltas


def test_what_context_editing_did_arrives_with_the_end() -> None:
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3}]}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}, "context_management": edits}
    stream, _ = fed([{"type": "message_start", "message": START}, end])

    assert edits == stream.response().params["context_management"]


def test_a_container_from_the_start_survives_an_end_that_says_null() -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "container": None}, "usage": {}}
    stream, _ = fed([{"type": "message_start", "message": {**START, "container": {"id": "c"}}}, end])

    assert {"id": "c"} == stream.response().params["container"]


def test_after_a_fallback_the_response_names_the_model_that_served_it() -> None:
    hop = {"type": "fallback", "from": {"model": "claude"}, "to": {"model": "claude-smaller"}}
    stream, _ = fed(started(hop))

    assert "claude-smaller" == stream.response().message.model


@pytest.mark.parametrize("text", ['{"path": "a', "nonsense", '"text"', "[1]", '{"a": NaN}'])
def test_arguments_that_are_no_object_stay_as_the_text_they_are(text: str) -> None:
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
    stream, _ = fed([*started(CALL), piece, {"type": "content_block_stop", "index": 0}])

    assert (ToolUse(id="toolu_1", name="read", input={}, raw_input=text),) == stream.response().message.content


def test_a_call_that_was_cut_off_before_its_arguments_does_not_look_whole() -> None:
    stream, _ = fed(started(CALL))

    assert not stream.complete
    assert "" == stream.response().message.tool_uses[0].raw_input


def test_broken_arguments_of_a_call_of_the_providers_are_carried_as_text() -> None:
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}}
    stream, _ = fed([*started(SEARCH), piece])

    assert (
        ANTHROPIC.decode_messages([{"role": "assistant", "content": [{**SEARCH, "input": "{"}]}])[0].content
        == stream.response().message.content
    )


def test_an_error_in_the_stream_is_kept_and_what_arrived_stays() -> None:
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}
    error: dict[str, Json] = {"type": "overloaded_error", "message": "Overloaded"}
    stream, _ = fed([*started({"type": "text", "text": ""}), piece, {"type": "error", "error": error}])

    assert error == stream.error
    assert (Text(text="half"),) == stream.response().message.content
    assert not stream.complete


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}],
        [{"type": "message_stop"}],
        [{"type": "message_start", "message": START}, {"type": "message_start", "message": START}],
        [{"type": "message_start"}],
        [*started({"type": "text", "text": ""}), {"type": "content_block_stop", "index": 1}],
        [*started({"type": "text", "text": ""}), *started({"type": "text", "text": ""})[1:]],
        [
            *started({"type": "text", "text": ""}),
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "late"}},
        ],
        [
            *started({"type": "text", "text": ""}),
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
        ],
    ],
)
def test_events_out_of_order_are_refused(events: Sequence[Wire]) -> None:
    with pytest.raises(InvalidMessage):
        fed(events)


def test_a_stream_that_has_not_begun_has_no_response() -> None:
    with pytest.raises(InvalidMessage, match="message_start"):
        ANTHROPIC.stream().response()


def test_the_events_of_a_call_that_was_cut_off_tell_it_cut_off() -> None:
    response = ANTHROPIC.decode_response({**START, "stop_reason": "max_tokens"})
    call = ToolUse(id="toolu_1", name="read", input={}, raw_input='{"path')
    cut_off = replace(response, message=replace(response.message, content=(call,)))
    stream = ANTHROPIC.stream()
    for event in ANTHROPIC.encode_events(cut_off):
        stream.feed(event)

    assert cut_off == stream.response()
