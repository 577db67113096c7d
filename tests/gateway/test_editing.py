"""Context editing with Anthropic's parameters, by the gateway: sticky, told in the reply, counted."""

from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from perdure.testing.doubles import AnthropicDouble, answer

MODEL = "claude-sonnet-4-6"
BETA = "context-management-2025-06-27"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
CLEAR: Any = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 5_000},
    "keep": {"type": "tool_uses", "value": 2},
}


def rounds(count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Read the files."}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"line {number} of it\n" * 200}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def ask(url: str, messages: list[Any], stream: bool = False) -> Any:
    client: Any = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
    wish: Any = {
        "model": MODEL,
        "max_tokens": 100,
        "tools": [READ],
        "messages": messages,
        "betas": [BETA],
        "context_management": {"edits": [CLEAR]},
    }
    if not stream:
        return client.beta.messages.create(**wish)
    opened: Any = client.beta.messages
    with opened.stream(**wish) as events:
        return events.get_final_message()


def results(body: dict[str, Any]) -> list[str]:
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    return [str(block["content"]) for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("stream", [False, True])
def test_old_results_are_cleared_and_the_reply_says_so(front: Callable[..., Any], stream: bool) -> None:
    double = AnthropicDouble(lambda _: answer("Done."))
    made = front(double, native="never")

    message = ask(made.url, rounds(6), stream)

    (applied,) = message.context_management.applied_edits
    kept = [text for text in results(double.received[0].body) if text.startswith("line")]
    assert ("clear_tool_uses_20250919", 4) == (applied.type, applied.cleared_tool_uses)
    assert 2 == len(kept)
    assert applied.cleared_input_tokens > 1_000
    assert "context_management" not in double.received[0].body


def test_what_was_cleared_once_stays_so_and_the_prefix_stands(front: Callable[..., Any]) -> None:
    double = AnthropicDouble(lambda _: answer("Done."))
    made = front(double, native="never")

    for count in (6, 7, 7):
        ask(made.url, rounds(count))

    first, second, third = (one.body["messages"] for one in double.received)
    assert first == second[: len(first)]
    assert second == third


def test_a_count_tells_what_it_would_be_without_edits(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), native="never")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    counted = client.beta.messages.count_tokens(
        model=MODEL, tools=[READ], messages=rounds(6), betas=[BETA], context_management={"edits": [CLEAR]}
    )

    assert counted.context_management is not None
    assert counted.input_tokens + 1_000 < counted.context_management.original_input_tokens


def test_where_the_upstream_has_it_itself_the_request_goes_on_as_it_is(front: Callable[..., Any]) -> None:
    double = AnthropicDouble(lambda _: answer("Done."))
    made = front(double, native="prefer")

    message = ask(made.url, rounds(6))

    assert [CLEAR] == double.received[0].body["context_management"]["edits"]
    assert 4 == message.context_management.applied_edits[0].cleared_tool_uses


@pytest.mark.parametrize(
    "edits",
    [
        [CLEAR, {"type": "clear_thinking_20251015"}],
        [{"type": "clear_everything"}],
        [{**CLEAR, "keep": {"type": "input_tokens", "value": 3}}],
    ],
)
def test_edits_that_the_provider_refuses_are_refused(front: Callable[..., Any], edits: list[Any]) -> None:
    made = front(AnthropicDouble(), native="never")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    with pytest.raises(anthropic.BadRequestError):
        client.beta.messages.create(
            model=MODEL,
            max_tokens=9,
            messages=rounds(1),
            tools=[READ],
            betas=[BETA],
            context_management={"edits": edits},
        )
