"""Thinking goes back whole and in place: against the originals, and against the request before."""

from dataclasses import replace

from perdure.kernel.messages import (
    Compaction,
    JsonObject,
    Message,
    Request,
    Text,
    Thinking,
    Tool,
    ToolResult,
    ToolUse,
)
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.wire.validity import check_against, check_following

BINDING = lookup("claude-opus-5-5")
FREE = lookup("claude-opus-5")
DROPS: JsonObject = {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}


def user(name: str) -> Message:
    return Message(id=name, role="user", content=(Text(text=f"do {name}"),), provenance="user")


def answer(name: str, *signatures: str) -> Message:
    thoughts = tuple(Thinking(thinking="", signature=signature) for signature in signatures)
    return Message(id=name, role="assistant", content=(*thoughts, Text(text=f"did {name}")), provenance="assistant")


def without_thinking(message: Message) -> Message:
    return replace(message, content=message.content[-1:])


CALL = Message(
    id="call",
    role="assistant",
    content=(Thinking(thinking="hm", signature="s5"), ToolUse(id="a", name="read", input={})),
    provenance="assistant",
)
RESULT = Message(id="result", role="user", content=(ToolResult(tool_use_id="a", content="long"),), provenance="tool")
HISTORY = (
    user("u0"),
    answer("a1", "s1", "s2"),
    user("u2"),
    answer("a3", "s3"),
    user("u4"),
    CALL,
    RESULT,
)


def against(
    *messages: Message, profile: ModelProfile = FREE, params: JsonObject | None = None
) -> list[tuple[str, str]]:
    request = Request(model="m", messages=messages, params=params or {})
    faults = check_against(HISTORY, request, profile)
    return [(fault.kind, fault.where) for fault in faults]


def following(before: tuple[Message, ...], after: tuple[Message, ...], *, tools: tuple[Tool, ...] = ()) -> list[str]:
    previous, request = Request(model="m", messages=before), Request(model="m", messages=after, tools=tools)
    return [fault.where for fault in check_following(previous, request, BINDING)]


def test_what_goes_back_as_it_came_is_valid() -> None:
    assert [] == against(*HISTORY)
    assert [] == against(*HISTORY, profile=BINDING)


def test_all_thinking_of_a_closed_turn_may_go() -> None:
    messages = (HISTORY[0], without_thinking(HISTORY[1]), *HISTORY[2:])

    assert [] == against(*messages, profile=BINDING)


def test_some_thinking_of_a_message_may_not_go_without_the_rest() -> None:
    part = replace(HISTORY[1], content=HISTORY[1].content[1:])

    assert [("thinking_partial", "messages.1")] == against(HISTORY[0], part, *HISTORY[2:])


def test_changed_thinking_is_found() -> None:
    changed = answer("a1", "s1", "other")

    assert [("thinking_changed", "messages.1")] == against(HISTORY[0], changed, *HISTORY[2:])


def test_the_running_loop_keeps_its_thinking() -> None:
    bare = without_thinking(CALL)

    assert [("thinking_missing", "messages.5")] == against(*HISTORY[:5], bare, RESULT)


def test_a_word_typed_behind_the_results_does_not_end_the_loop() -> None:
    bare = without_thinking(CALL)

    assert [("thinking_missing", "messages.5")] == against(*HISTORY[:5], bare, RESULT, user("u8"))


def test_a_model_that_binds_thinking_takes_no_hole_between() -> None:
    messages = (*HISTORY[:3], without_thinking(HISTORY[3]), *HISTORY[4:])

    assert [] == against(*messages)
    assert [("thinking_hole", "messages.3")] == against(*messages, profile=BINDING)
    assert [] == against(*messages, profile=BINDING, params=DROPS)


def test_an_edit_unbinds_the_thinking_behind_it() -> None:
    shorter = replace(RESULT, content=(ToolResult(tool_use_id="a", content="cleared"),))
    later = answer("a7", "s7")

    assert [] == following(HISTORY, (*HISTORY, later))
    assert ["messages.7"] == following((*HISTORY, later), (*HISTORY[:6], shorter, later))
    assert [] == following((*HISTORY, later), (*HISTORY[:6], shorter, without_thinking(later)))


def test_an_answer_is_bound_to_the_request_that_it_answered() -> None:
    shorter = replace(RESULT, content=(ToolResult(tool_use_id="a", content="cleared"),))

    assert ["messages.7"] == following(HISTORY, (*HISTORY[:6], shorter, answer("a7", "s7")))


def test_thinking_made_after_an_edit_stays_valid() -> None:
    shorter = replace(RESULT, content=(ToolResult(tool_use_id="a", content="cleared"),))
    edited = (*HISTORY[:6], shorter)

    assert [] == following(edited, (*edited, answer("a7", "s7")))


def test_another_list_of_tools_unbinds_everything() -> None:
    assert ["messages.1", "messages.3", "messages.5"] == following(HISTORY, HISTORY, tools=(Tool(name="new"),))


def test_a_signed_block_in_the_place_of_what_it_summarises_is_no_edit() -> None:
    block = Message(
        id="c", role="assistant", content=(Compaction(content="so far", signature="x"),), provenance="assistant"
    )

    assert [] == following(HISTORY, (block, *HISTORY[2:]))


def test_a_block_that_was_taken_out_is_not_put_back() -> None:
    bare = (HISTORY[0], without_thinking(HISTORY[1]), *HISTORY[2:])

    assert [] == following(HISTORY, bare)
    assert ["messages.1", "messages.3", "messages.5"] == following(bare, HISTORY)
