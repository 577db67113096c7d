"""Which blocks and which order of messages Anthropic's API takes."""

from dataclasses import replace

import pytest

from perdure.kernel.messages import (
    Block,
    Compaction,
    Image,
    Message,
    RedactedThinking,
    Request,
    Role,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import check, check_messages

PROFILE = lookup("claude-opus-5")
OK = Text(text="ok")
CALL = ToolUse(id="a", name="read", input={})
RESULT = ToolResult(tool_use_id="a", content="")
THOUGHT = Thinking(thinking="", signature="sig")
SEARCH = ServerToolUse(kind="server_tool_use", id="s", name="web_search", input={})
FOUND = ServerToolResult(kind="web_search_tool_result", tool_use_id="s", content=[])
SIGNED = Compaction(content="so far", signature="sig")
THRESHOLD = Compaction(content="so far")


def say(role: Role, *blocks: Block) -> Message:
    return Message(id="", role=role, content=blocks, provenance="user")


def kinds(*messages: Message) -> list[str]:
    return [fault.kind for fault in check_messages(messages, PROFILE, "anthropic")]


def kinds_of_request(*messages: Message, model: str = "claude-opus-5") -> list[str]:
    return [fault.kind for fault in check(Request(model=model, messages=messages), lookup(model), "anthropic")]


def test_a_plain_conversation_is_valid() -> None:
    messages = (
        say("user", OK),
        say("assistant", THOUGHT, OK, CALL),
        say("user", RESULT, OK),
        say("assistant", RedactedThinking(data="x"), OK),
        say("user", OK),
    )

    assert [] == kinds_of_request(*messages)


@pytest.mark.parametrize(
    ("kind", "messages"),
    [
        ("first_not_user", [say("assistant", OK)]),
        ("role_unknown", [say("user", OK), say("developer", OK)]),
        ("empty_message", [say("user")]),
        ("empty_text", [say("user", Text(text=""))]),
        ("empty_text", [say("user", OK, Text(text=" \n"))]),
        (
            "empty_text",
            [say("user", OK), say("assistant", CALL), say("user", replace(RESULT, content=(Text(text=""),)))],
        ),
        ("block_in_wrong_role", [say("user", OK, THOUGHT)]),
        ("block_in_wrong_role", [say("user", OK), say("assistant", Image(source={}))]),
        (
            "block_in_wrong_role",
            [say("user", OK), say("assistant", CALL), say("user", replace(RESULT, content=(CALL,)))],
        ),
        ("thinking_unsigned", [say("user", OK), say("assistant", Thinking(thinking="hm"), OK)]),
        ("thinking_last", [say("user", OK), say("assistant", OK, THOUGHT), say("user", OK)]),
        (
            "thinking_after_call",
            [say("user", OK), say("assistant", CALL, THOUGHT, replace(CALL, id="b")), say("user", RESULT)],
        ),
        ("compaction_empty", [say("user", OK), say("assistant", Compaction(content=""), OK)]),
        ("orphan_result", [say("user", OK), say("assistant", FOUND, OK)]),
    ],
)
def test_what_the_provider_refuses_is_found(kind: str, messages: list[Message]) -> None:
    assert kind in kinds(*messages)


def test_thinking_between_server_tools_and_text_is_in_its_place() -> None:
    assert [] == kinds(say("user", OK), say("assistant", THOUGHT, SEARCH, FOUND, THOUGHT, OK))


def test_a_request_ends_with_the_user_where_the_model_takes_no_prefill() -> None:
    messages = (say("user", OK), say("assistant", OK))

    assert ["prefill_refused"] == kinds_of_request(*messages)
    assert [] == kinds_of_request(*messages, model="claude-sonnet-4-5")


def test_a_paused_answer_goes_back_as_the_last_message() -> None:
    assert [] == kinds_of_request(say("user", OK), say("assistant", SEARCH, FOUND))
    assert [] == kinds_of_request(say("user", OK), say("assistant", THRESHOLD))


def test_a_request_without_messages_is_refused() -> None:
    assert ["no_messages"] == kinds_of_request()


def test_a_system_message_stands_behind_a_user_turn_and_before_the_assistant() -> None:
    assert [] == kinds(say("user", OK), say("system", OK), say("assistant", OK))
    assert [] == kinds(say("user", OK), say("assistant", SEARCH, FOUND), say("system", OK))


@pytest.mark.parametrize(
    "messages",
    [
        [say("system", OK)],
        [say("user", OK), say("assistant", OK), say("system", OK)],
        [say("user", OK), say("system", OK), say("user", OK)],
        [say("user", OK), say("assistant", CALL), say("system", OK), say("assistant", OK)],
    ],
)
def test_a_system_message_elsewhere_is_misplaced(messages: list[Message]) -> None:
    assert "system_misplaced" in kinds(*messages)


def test_some_models_take_no_system_message_at_all() -> None:
    messages = (say("user", OK), say("system", OK))

    assert ["system_refused"] == kinds_of_request(*messages, model="claude-sonnet-5")


def test_a_signed_compaction_block_opens_the_history() -> None:
    assert [] == kinds(say("assistant", SIGNED), say("assistant", OK), say("user", OK))
    assert [] == kinds(say("user", SIGNED, OK))
    assert ["compaction_misplaced"] == kinds(say("user", OK), say("assistant", SIGNED, OK))


def test_only_one_signed_compaction_block_is_carried() -> None:
    found = kinds(say("assistant", SIGNED), say("user", OK), say("assistant", SIGNED, OK))

    assert ["compaction_misplaced", "compaction_ambiguous"] == found


def test_a_compaction_block_of_the_threshold_kind_stands_anywhere() -> None:
    assert [] == kinds(say("user", OK), say("assistant", THRESHOLD, OK), say("user", OK), say("assistant", THRESHOLD))


def test_a_checked_message_is_not_looked_at_again() -> None:
    message = say("user", Text(text=""))

    assert kinds(message) == kinds(message)
    assert ["messages.1.content.0"] == [
        fault.where for fault in check_messages((say("user", OK), message), PROFILE, "anthropic")
    ]
