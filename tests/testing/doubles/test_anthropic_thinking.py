"""Thinking blocks: what may be changed around them, and what happens when something else is."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from perdure.testing.doubles import (
    ANTHROPIC_HEADERS,
    Answered,
    AnthropicDouble,
    Call,
    Say,
    Think,
    Turn,
    answer,
    post,
    replies,
)

Body = dict[str, Any]
BINDING = "thinking-binding-controls-2026-08-01"
READ: Body = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


class Talk:
    """A conversation of two tool rounds and an answer, each with thinking, as a client would hold it."""

    def __init__(self, model: str = "claude-opus-5-5", *, old_account: bool = False) -> None:
        rounds = [
            Turn(parts=(Think(text=f"Thought {i}."), Call(name="read", arguments={"path": f"{i}.py"}))) for i in (1, 2)
        ]
        said = Turn(parts=(Think(text="Thought 3."), Say(text="Both are empty.")))
        self.double = AnthropicDouble(replies([*rounds, said], then=lambda _: answer("Yes.")), old_account=old_account)
        self.body: Body = {
            "model": model,
            "max_tokens": 2_000,
            "system": "You read files.",
            "tools": [dict(READ)],
            "thinking": {"type": "adaptive"},
            "messages": [{"role": "user", "content": "Read 1.py and 2.py."}],
        }

    @property
    def messages(self) -> list[Body]:
        return self.body["messages"]

    def ask(self, *betas: str) -> Answered:
        headers = {**ANTHROPIC_HEADERS, "anthropic-beta": ",".join(betas)}
        return post(self.double, "/v1/messages", self.body, headers)

    def go_on(self) -> "Talk":
        """Ask, and append the answer with what comes next."""
        answered = self.ask()
        assert 200 == answered.status, answered.body
        content: list[Body] = answered.body["content"]
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "(empty)"}
            for block in content
            if block["type"] == "tool_use"
        ]
        following = results or [{"type": "text", "text": "Sure?"}]
        self.messages.extend([{"role": "assistant", "content": content}, {"role": "user", "content": following}])
        return self

    def finished(self) -> "Talk":
        """Everything said, and a last question open."""
        return self.go_on().go_on().go_on()


def edit_system(body: Body) -> None:
    body["system"] = "You read many files."


def edit_tools(body: Body) -> None:
    body["tools"].append({**READ, "name": "write"})


def edit_result(body: Body) -> None:
    body["messages"][2]["content"][0]["content"] = "[cleared]"


def edit_call(body: Body) -> None:
    body["messages"][1]["content"][1]["input"] = {"path": "3.py"}


def edit_user(body: Body) -> None:
    body["messages"][0]["content"] = [{"type": "text", "text": "Read 1.py and 2.py."}, {"type": "text", "text": "Now."}]


def drop_first_round(body: Body) -> None:
    del body["messages"][1:3]


def drop_middle_thinking(body: Body) -> None:
    del body["messages"][3]["content"][0]


# Each with the first thinking block behind the change.
EDITS = [
    pytest.param(edit_system, "messages.1.content.0", id="the system text"),
    pytest.param(edit_tools, "messages.1.content.0", id="the tools"),
    pytest.param(edit_user, "messages.1.content.0", id="a text block more"),
    pytest.param(edit_call, "messages.3.content.0", id="an earlier call"),
    pytest.param(edit_result, "messages.3.content.0", id="an earlier result"),
    pytest.param(drop_first_round, "messages.1.content.0", id="a round less"),
    pytest.param(drop_middle_thinking, "messages.5.content.0", id="thinking removed from the middle"),
]


@pytest.mark.parametrize(("edit", "path"), EDITS)
def test_an_edit_before_a_thinking_block_is_refused(edit: Callable[[Body], None], path: str) -> None:
    talk = Talk().finished()
    edit(talk.body)

    answered = talk.ask()

    expected = (
        f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
        'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    assert (400, expected) == (answered.status, answered.body["error"]["message"])


@pytest.mark.parametrize(("edit", "path"), EDITS)
def test_drop_block_drops_the_block_and_all_later_thinking(edit: Callable[[Body], None], path: str) -> None:
    talk = Talk().finished()
    edit(talk.body)
    talk.body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}

    answered = talk.ask(BINDING)

    thoughts = [
        f"messages.{i}.content.{j}"
        for i, message in enumerate(talk.messages)
        for j, block in enumerate(message["content"])
        if message["role"] == "assistant" and block["type"] == "thinking"
    ]
    assert thoughts[thoughts.index(path) :] == [note["path"] for note in answered.body["input_transformations"]]
    assert {("thinking_dropped", "prefix_binding_mismatch")} == {
        (note["type"], note["reason"]) for note in answered.body["input_transformations"]
    }


def strip_first_thinking(body: Body) -> None:
    del body["messages"][1]["content"][0]


def strip_last_thinking(body: Body) -> None:
    del body["messages"][5]["content"][0]


def strip_all_thinking(body: Body) -> None:
    for message in body["messages"]:
        if message["role"] == "assistant":
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


def mark_everything(body: Body) -> None:
    body["tools"][0]["cache_control"] = {"type": "ephemeral"}
    body["messages"][2]["content"][0]["cache_control"] = {"type": "ephemeral"}


def defer_another_tool(body: Body) -> None:
    body["tools"].append({**READ, "name": "write", "defer_loading": True})


def turn_keys_round(body: Body) -> None:
    body["messages"][1] = dict(reversed(body["messages"][1].items()))


def other_settings(body: Body) -> None:
    body |= {"max_tokens": 500, "tool_choice": {"type": "none"}, "output_config": {"effort": "low"}}


@pytest.mark.parametrize(
    "change",
    [
        strip_first_thinking,
        strip_last_thinking,
        strip_all_thinking,
        mark_everything,
        defer_another_tool,
        turn_keys_round,
        other_settings,
    ],
)
def test_what_is_no_edit_leaves_thinking_valid(change: Callable[[Body], None]) -> None:
    talk = Talk().finished()
    change(talk.body)

    answered = talk.ask(BINDING)

    assert (200, []) == (answered.status, answered.body.get("input_transformations"))


def test_thinking_that_was_removed_cannot_be_put_back() -> None:
    talk = Talk().go_on().go_on()
    whole = copy.deepcopy(talk.messages)
    strip_first_thinking(talk.body)
    talk.go_on()
    talk.messages[1] = whole[1]

    answered = talk.ask()

    assert answered.body["error"]["message"].startswith(
        "messages.5.content.0: Invalid `signature` in `thinking` block."
    )


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-5", "claude-mythos-5-1"])
def test_models_without_the_check_accept_an_edited_prefix(model: str) -> None:
    talk = Talk(model).finished()
    edit_result(talk.body)

    assert 200 == talk.ask().status


def test_an_old_account_on_fable_is_told_and_not_refused() -> None:
    talk = Talk("claude-fable-5-1", old_account=True).finished()
    edit_result(talk.body)

    notes = talk.ask(BINDING).body["input_transformations"]

    assert [
        ("thinking_mismatch_allowed", "messages.3.content.0"),
        ("thinking_mismatch_allowed", "messages.5.content.0"),
    ] == [(note["type"], note["path"]) for note in notes]


def test_thinking_of_a_later_model_is_dropped_in_silence() -> None:
    talk = Talk().finished()
    talk.body["model"] = "claude-opus-4-8"

    notes = talk.ask(BINDING).body["input_transformations"]

    assert ["model_binding_mismatch"] * 3 == [note["reason"] for note in notes]


def test_thinking_of_an_earlier_model_is_read() -> None:
    talk = Talk("claude-opus-5").finished()
    talk.body["model"] = "claude-opus-5-5"

    assert [] == talk.ask(BINDING).body["input_transformations"]


@pytest.mark.parametrize("change", ["edit", "omit", "add"])
def test_thinking_of_the_open_tool_round_is_whole(change: str) -> None:
    talk = Talk("claude-opus-4-8").go_on().go_on()
    content = talk.messages[-2]["content"]
    match change:
        case "edit":
            content[0]["thinking"] = "Thought"
        case "omit":
            del content[0]
        case _:
            content.insert(1, talk.messages[1]["content"][0])

    answered = talk.ask()

    place = 1 if change == "add" else 0
    assert (400, f"messages.3.content.{place}: {MODIFIED}") == (answered.status, answered.body["error"]["message"])


def test_an_edited_thought_further_back_has_an_invalid_signature() -> None:
    talk = Talk("claude-opus-4-8").finished()
    talk.messages[1]["content"][0]["thinking"] = "Thought"

    expected = "messages.1.content.0: Invalid `signature` in `thinking` block"
    assert expected == talk.ask().body["error"]["message"]


def test_omitted_thinking_comes_without_text_and_still_goes_back() -> None:
    talk = Talk()
    talk.body["thinking"]["display"] = "omitted"

    talk.finished()

    assert ["", "", ""] == [message["content"][0]["thinking"] for message in talk.messages[1::2]]
    assert 200 == talk.ask().status


def test_thinking_of_earlier_turns_is_not_billed_on_models_that_keep_the_last_turn_only() -> None:
    kept, stripped = Talk("claude-opus-4-6"), Talk("claude-sonnet-4-5")
    stripped.body["thinking"] = {"type": "enabled", "budget_tokens": 1_024}
    for talk in (kept, stripped):
        talk.finished()

    kept_tokens, stripped_tokens = (talk.ask().body["usage"]["input_tokens"] for talk in (kept, stripped))

    assert kept_tokens > stripped_tokens
