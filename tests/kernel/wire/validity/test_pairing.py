"""Calls and results pair up, in the order that each dialect asks for."""

import pytest

from perdure.kernel.messages import Block, Message, Request, Text, ToolResult, ToolUse
from perdure.kernel.models import lookup
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity import check, check_messages

PROFILE = lookup("claude-opus-5")


def user(*blocks: Block) -> Message:
    return Message(id="", role="user", content=blocks, provenance="user")


def assistant(*blocks: Block) -> Message:
    return Message(id="", role="assistant", content=blocks, provenance="assistant")


def call(name: str) -> ToolUse:
    return ToolUse(id=name, name="read", input={})


def result(name: str) -> ToolResult:
    return ToolResult(tool_use_id=name, content="text")


HELLO = user(Text(text="hello"))
OK = Text(text="ok")


def kinds(*messages: Message, dialect: Dialect = "anthropic") -> list[tuple[str, str]]:
    return [(fault.kind, fault.where) for fault in check_messages(messages, PROFILE, dialect)]


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_parallel_calls_may_be_answered_in_any_order_and_in_several_messages(dialect: Dialect) -> None:
    calls = assistant(OK, call("a"), call("b"), call("c"))

    assert [] == kinds(HELLO, calls, user(result("c"), result("a")), user(result("b"), OK), dialect=dialect)


def test_consecutive_messages_of_the_assistant_are_one_turn_at_anthropic() -> None:
    messages = (HELLO, assistant(call("a")), assistant(OK, call("b")), user(result("a"), result("b")))

    assert [] == kinds(*messages)


def test_results_follow_the_very_message_that_called_in_chat_completions() -> None:
    messages = (HELLO, assistant(call("a")), assistant(OK), user(result("a")))

    assert [("unanswered_call", "messages.1.content.0"), ("orphan_result", "messages.3.content.0")] == kinds(
        *messages, dialect="chat"
    )


def test_an_output_may_come_anywhere_behind_its_call_in_responses() -> None:
    messages = (HELLO, assistant(call("a")), user(OK), assistant(OK), user(result("a")))

    assert [] == kinds(*messages, dialect="responses")


def test_text_between_a_call_and_its_result_is_refused() -> None:
    messages = (HELLO, assistant(call("a"), call("b")), user(result("a"), OK, result("b")))

    assert [("late_result", "messages.2.content.2")] == kinds(*messages)


def test_text_in_a_message_of_its_own_before_a_result_is_refused_too() -> None:
    messages = (HELLO, assistant(call("a"), call("b")), user(result("a")), user(OK), user(result("b")))

    assert [("late_result", "messages.4.content.0")] == kinds(*messages)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_a_call_that_the_next_turn_leaves_unanswered_is_named(dialect: Dialect) -> None:
    messages = (HELLO, assistant(call("a"), call("b")), user(result("a")), user(OK))

    assert [("unanswered_call", "messages.1.content.1")] == kinds(*messages, dialect=dialect)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_a_result_without_a_call_is_an_orphan(dialect: Dialect) -> None:
    assert [("orphan_result", "messages.0.content.0")] == kinds(user(result("a"), OK), dialect=dialect)


def test_a_result_two_turns_behind_its_call_is_an_orphan() -> None:
    messages = (HELLO, assistant(call("a")), user(OK), assistant(OK), user(result("a")))

    assert [("unanswered_call", "messages.1.content.0"), ("orphan_result", "messages.4.content.0")] == kinds(*messages)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_a_call_has_one_result(dialect: Dialect) -> None:
    messages = (HELLO, assistant(call("a")), user(result("a"), result("a")))

    assert [("duplicate_result", "messages.2.content.1")] == kinds(*messages, dialect=dialect)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_the_id_of_a_call_never_comes_again(dialect: Dialect) -> None:
    messages = (HELLO, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a")))

    assert [("duplicate_call", "messages.3.content.0")] == kinds(*messages, dialect=dialect)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
@pytest.mark.parametrize("replies", [(), (user(result("a")),)])
def test_an_open_round_at_the_end_is_a_fault_of_a_request_and_not_of_a_transcript(
    dialect: Dialect, replies: tuple[Message, ...]
) -> None:
    messages = (HELLO, assistant(call("a"), call("b")), *replies)
    request = Request(model="m", messages=messages)

    assert [] == kinds(*messages, dialect=dialect)
    assert "open_round" in [fault.kind for fault in check(request, PROFILE, dialect)]


def test_a_message_names_the_call_and_what_is_wrong() -> None:
    (fault,) = check_messages((HELLO, assistant(call("toolu_7")), user(OK)), PROFILE, "anthropic")

    assert "the call 'toolu_7' has no result in the turn that follows" == fault.message
