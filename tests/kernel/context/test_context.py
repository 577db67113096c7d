"""The engine for programs that hold dicts of a provider's API."""

import re
from typing import cast

import pytest

from perdure.kernel.context import Context, Settings
from perdure.kernel.context.strategies.tool_results import CLEARED
from perdure.kernel.errors import InvalidMessage, InvalidSetting
from perdure.kernel.messages import decode_json, encode_json, freeze
from perdure.testing.talk import LINE

EARLY = Settings(clear_growth=2_000, fold_growth=None, batch_floor=500)


def anthropic(rounds: int) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [{"role": "user", "content": "go on"}]
    for number in range(rounds):
        use = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{number}: {LINE * 40}"}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [result]})
    return messages


def chat(rounds: int) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [{"role": "user", "content": "go on"}]
    for number in range(rounds):
        function = {"name": "read", "arguments": f'{{"path":"{number}.py"}}'}
        call = {"id": f"t{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"t{number}", "content": f"{number}: {LINE * 40}"})
    return messages


def responses(rounds: int) -> list[dict[str, object]]:
    items: list[dict[str, object]] = [{"role": "user", "content": "go on"}]
    for number in range(rounds):
        arguments = f'{{"path":"{number}.py"}}'
        items.append({"type": "function_call", "call_id": f"t{number}", "name": "read", "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": f"t{number}", "output": f"{number}: {LINE * 40}"})
    return items


def test_what_needs_no_edit_comes_back_as_it_went_in() -> None:
    assert anthropic(2) == Context("claude-sonnet-4-6").project(anthropic(2)).messages
    assert chat(2) == Context("gpt-5", dialect="chat").project(chat(2)).messages
    assert responses(2) == Context("gpt-5", dialect="responses").project(responses(2)).messages


def test_each_dialect_is_made_smaller_and_stays_whole() -> None:
    for context, given in (
        (Context("claude-sonnet-4-6", settings=EARLY), anthropic(20)),
        (Context("gpt-5", dialect="chat", settings=EARLY), chat(20)),
        (Context("gpt-5", dialect="responses", settings=EARLY), responses(20)),
    ):
        sent = context.project(given)

        assert len(given) == len(sent.messages)
        assert len(str(sent.messages)) < len(str(given)) * 0.7
        assert given[-1] == sent.messages[-1]


def test_the_list_handed_in_stays_as_it_was() -> None:
    given = anthropic(20)

    Context("claude-sonnet-4-6", settings=EARLY).project(given)

    assert anthropic(20) == given


def test_a_conversation_that_does_not_extend_the_last_one_is_refused() -> None:
    context = Context("claude-sonnet-4-6")
    context.project(anthropic(3))

    for other in (anthropic(2), [*anthropic(3)[:-1], {"role": "user", "content": "other"}]):
        with pytest.raises(InvalidMessage, match="extend the one of the call before"):
            context.project(other)


def test_what_left_is_recalled_whole() -> None:
    context = Context("claude-sonnet-4-6", settings=EARLY, recall_tool="see")

    sent = context.project(anthropic(20))

    assert f"0: {LINE * 40}" == context.recall(sent.lost[0].handle)
    assert f"see {sent.lost[0].handle}" in str(sent.messages)
    assert context.recall("h0") is None


def test_arguments_that_left_are_recalled_whole() -> None:
    settings = Settings(clear_growth=2_000, fold_growth=None, batch_floor=500, clear_inputs=True)
    given: list[dict[str, object]] = [{"role": "user", "content": "go on"}]
    for number in range(20):
        use = {"type": "tool_use", "id": f"t{number}", "name": "write", "input": {"text": f"{number}: {LINE * 40}"}}
        given.append({"role": "assistant", "content": [use]})
        given.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}"}]})
    light, folding = Context("claude-sonnet-4-6", settings=settings), Context("claude-sonnet-4-6", window=8_000)

    recalled = [
        str(light.recall(light.project(given).lost[0].handle)),
        str(folding.recall(folding.compact(given).lost[0].handle)),
    ]

    assert [True, True] == [f"0: {LINE * 40}".strip() in text.replace("\\n", "\n") for text in recalled]


def test_a_lone_surrogate_in_the_id_of_a_call_stops_nothing() -> None:
    odd = [*anthropic(20), {"role": "assistant", "content": "done"}, {"role": "user", "content": "more"}]
    given = decode_json(re.sub(rb'"t(?=\d)', rb'"\\ud800', encode_json(freeze(odd))))
    context = Context("claude-sonnet-4-6", settings=EARLY)

    sent = context.project(cast("list[dict[str, object]]", given))

    assert f"0: {LINE * 40}" == context.recall(sent.lost[0].handle)


def test_an_output_that_begins_like_a_placeholder_is_cleared_like_any_other() -> None:
    given = anthropic(20)
    for message in given[2::2]:
        message["content"] = [
            {**result, "content": f"{CLEARED} {result['content']}"}
            for result in cast("list[dict[str, object]]", message["content"])
        ]

    sent = Context("claude-sonnet-4-6", settings=EARLY).project(given)

    assert len(str(sent.messages)) < len(str(given)) * 0.7


def test_an_argument_that_is_called_like_the_note_keeps_no_arguments_in_the_view() -> None:
    use = {"type": "tool_use", "id": "t", "name": "write", "input": {"cleared": "no", "text": LINE * 4_000}}
    given: list[dict[str, object]] = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "written"}]},
    ]

    sent = Context("claude-sonnet-4-6", window=20_000).project(given)

    assert [given[0], given[2]] == [sent.messages[0], sent.messages[-1]]


def test_without_a_tool_to_recall_with_no_handle_is_offered() -> None:
    context = Context("claude-sonnet-4-6", settings=EARLY)

    sent = context.project(anthropic(20))

    assert sent.lost
    assert not any(lost.handle in str(sent.messages) for lost in sent.lost)


def test_the_providers_count_is_believed() -> None:
    context = Context("claude-sonnet-4-6")
    context.project(anthropic(2))

    sent = context.project(anthropic(3), prompt_tokens=50_000)

    assert 50_000 < sent.tokens < 52_000


def test_tools_and_system_count_as_overhead() -> None:
    plain = Context("claude-sonnet-4-6").project(anthropic(1)).tokens
    request = {"system": LINE * 100, "tools": [{"name": "read", "input_schema": {"type": "object"}}]}

    assert Context("claude-sonnet-4-6", request=request).project(anthropic(1)).tokens > plain + 2_000


def test_a_summarizer_that_raises_is_a_failure_and_the_next_rung_runs() -> None:
    context = Context("claude-sonnet-4-6", window=32_000)

    def fails(_: list[dict[str, object]], __: str) -> str:
        raise TimeoutError

    # A caller may write his dicts as they come.
    context.summarize = fails  # pyright: ignore[reportAttributeAccessIssue]
    sent = context.compact(anthropic(20))

    assert "extractive" == sent.projection.strategy
    assert ["the summarizer raised TimeoutError"] == [step.note for step in sent.projection.steps if step.note]


def test_a_summarizer_without_text_is_a_failure_and_the_next_rung_runs() -> None:
    context = Context("claude-sonnet-4-6", window=32_000)
    context.summarize = lambda _, __: None

    sent = context.compact(anthropic(20))

    assert "extractive" == sent.projection.strategy
    assert ["the summarizer gave no text"] == [step.note for step in sent.projection.steps if step.note]


def test_an_unknown_dialect_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidSetting, match="anthropic, chat, responses"):
        # The wrong name is the point.
        Context("claude-sonnet-4-6", dialect="soap")  # pyright: ignore[reportArgumentType]
