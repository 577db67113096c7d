"""Auto mode: clients that ask for nothing, conversations several times as long as the window."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import httpx
import openai
import pytest

from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Say, Think, Turn, answer
from perdure.testing.doubles.anthropic import MODELS
from perdure.testing.doubles.openai import OPENAI_MODELS

MODEL = "claude-sonnet-4-6"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
WINDOWS = [8_192, 32_768, 200_000]


def small(window: int) -> AnthropicDouble:
    models = {MODEL: replace(MODELS[MODEL], window=window)}
    return AnthropicDouble(calling(), models=models)


def calling() -> Callable[[dict[str, Any]], Turn]:
    """A model that reads one file after the other."""
    count = 0

    def script(body: dict[str, Any]) -> Turn:
        nonlocal count
        count += 1
        if not body.get("tools"):
            return answer("<summary>## Goal\n- Read the files.</summary>")
        return Turn(parts=(Say(text=f"Step {count}."), Call(name="read", arguments={"path": f"src/f{count}.py"})))

    return script


def text_of(number: int, tokens: int) -> str:
    return "\n".join(f"{number}:{line}: value_{line} = compute({line * number})" for line in range(tokens // 14))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_conversation_five_times_as_long_as_the_window_goes_through(front: Callable[..., Any], window: int) -> None:
    double = small(window)
    made = front(double, auto=True, window=window, recall=True)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "Read all the files, and remember: never touch gen/."}]
    size = window // 6

    for number in range(5 * window // size):
        with client.messages.stream(
            model=MODEL, max_tokens=1_000, system="You read files.", tools=[READ], messages=messages
        ) as events:
            message = events.get_final_message()
        (use,) = [block for block in message.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": use.id, "content": text_of(number, size)}
        messages += [
            {"role": "assistant", "content": [block.to_dict() for block in message.content]},
            {"role": "user", "content": [result]},
        ]

    assert [] == [one.answer["error"]["message"] for one in double.received if one.status != 200]
    assert "never touch gen/" in double.received[-1].raw.decode()
    assert 0 == made.gateway.metrics.of("overflows_recovered")


def test_the_same_over_chat_completions(front: Callable[..., Any]) -> None:
    window = 16_000
    models = {"gpt-4o": replace(OPENAI_MODELS["gpt-4o"], window=window, max_output=8_000)}
    double = OpenAIDouble(calling(), models=models)
    made = front(double, dialect="chat", auto=True, window=window)
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)
    tool: Any = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    messages: list[Any] = [
        {"role": "system", "content": "You read files."},
        {"role": "user", "content": "Read all, and never touch gen/."},
    ]

    for number in range(21):
        reply = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
        said = reply.choices[0].message
        assert said.tool_calls is not None
        messages.append(said.to_dict())
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": text_of(number, 3_900)} for call in said.tool_calls
        ]

    assert [] == [one.answer["error"]["message"] for one in double.received if one.status != 200]
    assert "never touch gen/" in double.received[-1].raw.decode()


def test_the_same_over_responses(front: Callable[..., Any]) -> None:
    window = 16_000
    models = {"gpt-5": replace(OPENAI_MODELS["gpt-5"], window=window, max_output=8_000)}
    double = OpenAIDouble(calling(), models=models)
    made = front(double, dialect="responses", auto=True, window=window)
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)
    tool: Any = {"type": "function", "name": "read", "parameters": {"type": "object"}}
    items: list[Any] = [{"role": "user", "content": "Read all, and never touch gen/."}]

    for number in range(21):
        reply = client.responses.create(model="gpt-5", input=items, tools=[tool], store=False)
        items += [item.to_dict() for item in reply.output]
        items += [
            {"type": "function_call_output", "call_id": item.call_id, "output": text_of(number, 3_900)}
            for item in reply.output
            if item.type == "function_call"
        ]

    assert [] == [one.answer["error"]["message"] for one in double.received if one.status != 200]
    assert "never touch gen/" in double.received[-1].raw.decode()


def test_an_overflow_that_nobody_foresaw_is_resolved_and_the_client_hears_nothing(front: Callable[..., Any]) -> None:
    double = small(12_000)
    made = front(double, auto=True, window=40_000)
    messages: list[Any] = [{"role": "user", "content": "Read."}]
    for number in range(8):
        use: Any = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text_of(number, 2_000)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    message = client.messages.create(model=MODEL, max_tokens=500, tools=[READ], messages=messages)

    assert "tool_use" == message.stop_reason
    assert 1 == made.gateway.metrics.of("overflows_recovered")


def test_what_cannot_fit_is_said_once_in_words_that_no_client_takes_for_an_overflow(front: Callable[..., Any]) -> None:
    double = small(8_192)
    made = front(double, auto=True, window=8_192)
    body = {
        "model": MODEL,
        "max_tokens": 9,
        "system": "word " * 20_000,
        "messages": [{"role": "user", "content": "Hi"}],
    }

    response = httpx.post(f"{made.url}/v1/messages", json=body, headers={"x-api-key": "any"})

    error = response.json()["error"]
    assert (400, "request_cannot_fit") == (response.status_code, error["details"]["error_code"])
    assert "too long" not in error["message"]
    assert [] == double.received


def test_a_retry_is_sent_as_the_same_bytes_and_edits_nothing_twice(front: Callable[..., Any]) -> None:
    double = small(8_192)
    made = front(double, auto=True, window=8_192)
    messages: list[Any] = [{"role": "user", "content": "Read."}]
    for number in range(12):
        use: Any = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text_of(number, 1_000)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    for _ in range(3):
        client.messages.create(model=MODEL, max_tokens=500, tools=[READ], messages=messages)

    sent = [one.raw for one in double.received if b'"stream"' not in one.raw and b"Harness request" not in one.raw]
    assert [sent[0]] * len(sent) == sent


def test_marks_and_the_form_of_text_make_no_other_conversation(front: Callable[..., Any]) -> None:
    double = small(32_768)
    made = front(double, auto=True, window=32_768)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    mark: Any = {"type": "ephemeral"}
    first: Any = [{"role": "user", "content": [{"type": "text", "text": "Read.", "cache_control": mark}]}]
    reply = client.messages.create(model=MODEL, max_tokens=500, tools=[READ], messages=first)
    (use,) = [block for block in reply.content if block.type == "tool_use"]
    result: Any = {"type": "tool_result", "tool_use_id": use.id, "content": "ok", "cache_control": mark}
    second: Any = [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [block.to_dict() for block in reply.content]},
        {"role": "user", "content": [result]},
    ]

    client.messages.create(model=MODEL, max_tokens=500, tools=[READ], messages=second)

    state: Any = made.gateway.state
    assert 1 == len(state.records)
    assert mark == double.received[-1].body["messages"][-1]["content"][0]["cache_control"]


def test_the_budget_of_thinking_stays_and_a_mark_is_left_where_no_edit_comes(front: Callable[..., Any]) -> None:
    turn = Turn(parts=(Think(text="Hm."), Call(name="read")))
    double = AnthropicDouble(lambda _: turn, models={MODEL: replace(MODELS[MODEL], window=32_768)})
    made = front(double, auto=True, window=32_768)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    mark: Any = {"type": "ephemeral"}
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Read.", "cache_control": mark}]}]
    for number in range(10):
        thinking: Any = {"type": "enabled", "budget_tokens": 30_000}
        reply = client.messages.create(
            model=MODEL, max_tokens=32_000, tools=[READ], thinking=thinking, messages=messages, timeout=60
        )
        (use,) = [block for block in reply.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": use.id, "content": text_of(number, 1_500)}
        plain = [{**one, "content": unmarked(one["content"])} for one in messages]
        said = {"role": "assistant", "content": [block.to_dict() for block in reply.content]}
        messages = [*plain, said, {"role": "user", "content": [{**result, "cache_control": mark}]}]

    bodies = [one.body for one in double.received if "Harness request" not in str(one.body["messages"][-1])]
    assert [] == [one.answer for one in double.received if one.status != 200]
    assert {8_192} == {body["thinking"]["budget_tokens"] for body in bodies}
    assert [1, 2] == sorted({str(body["messages"]).count("cache_control") for body in bodies})


def unmarked(content: list[Any]) -> list[Any]:
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in content]
