"""The official OpenAI SDK talks to the double over loopback and understands everything it says."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from perdure.testing.doubles import (
    Call,
    Cut,
    ErrorInStream,
    Fault,
    OpenAIDouble,
    Overloaded,
    RateLimited,
    Say,
    ServerError,
    Think,
    Turn,
    serve,
)

MODEL = "gpt-5"
RICH = Turn(
    parts=(
        Think(text="Let me think about it, at some length, so that it comes in several pieces."),
        Say(text="I say so much that it comes in several pieces as well, one after the other."),
        Call(name="read", arguments={"path": "a/very/long/path/to/a/file.py", "lines": [1, 2, 3], "名前": "é"}),
    )
)
TOOL = {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}
CHAT_TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
HELLO = {"role": "user", "content": "Say hello."}


class Served:
    """A double behind a client."""

    def __init__(self, double: OpenAIDouble, url: str) -> None:
        self.double = double
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    double = OpenAIDouble(lambda _: RICH)
    with serve(double) as url:
        yield Served(double, url)


def create(served: Served, **more: Any) -> Any:
    settings: dict[str, Any] = {"model": MODEL, "input": [HELLO], "tools": [TOOL], **more}
    responses: Any = served.client.responses
    return responses.create(**settings)


def streamed(served: Served, **more: Any) -> Any:
    settings: dict[str, Any] = {"model": MODEL, "input": [HELLO], "tools": [TOOL], **more}
    with served.client.responses.stream(**settings) as events:
        events.until_done()
        return events.get_final_response()


def compact(served: Served, window: Any) -> Any:
    return served.client.responses.compact(model=MODEL, input=window)


def plain(response: Any) -> list[dict[str, Any]]:
    """Output items as they go back, without what the SDK adds for convenience."""
    items: list[dict[str, Any]] = [item.to_dict(warnings=False) for item in response.output]
    for item in items:
        item.pop("parsed_arguments", None)
        parts: list[dict[str, Any]] = item.get("content") or []
        for part in parts:
            part.pop("parsed", None)
    return items


def told(response: Any) -> list[dict[str, Any]]:
    items = plain(response)
    for item in items:
        for name in ("id", "call_id", "encrypted_content"):
            item.pop(name, None)
    return items


@pytest.mark.parametrize("include", [[], ["reasoning.encrypted_content"]])
def test_a_stream_says_what_the_whole_response_says(served: Served, include: list[str]) -> None:
    whole, stream = create(served, include=include), streamed(served, include=include)

    assert ["reasoning", "message", "function_call"] == [item.type for item in whole.output]
    assert told(whole) == told(stream)
    assert whole.usage == stream.usage
    assert bool(include) == bool(whole.output[0].encrypted_content)


@pytest.mark.parametrize("settings", [{"store": False, "include": ["reasoning.encrypted_content"]}, {"store": True}])
def test_the_output_is_accepted_back(served: Served, settings: dict[str, Any]) -> None:
    response = create(served, **settings)
    result = {"type": "function_call_output", "call_id": response.output[2].call_id, "output": "x"}

    assert "completed" == create(served, input=[HELLO, *plain(response), result], **settings).status


def test_a_stored_response_is_continued_by_its_id(served: Served) -> None:
    response = create(served)
    result = {"type": "function_call_output", "call_id": response.output[2].call_id, "output": "x"}

    again = create(served, input=[result], previous_response_id=response.id)

    assert again.usage.input_tokens > response.usage.input_tokens


def test_the_compacted_window_is_the_users_words_and_one_item(served: Served) -> None:
    response = create(served)
    result = {"type": "function_call_output", "call_id": response.output[2].call_id, "output": "word " * 5_000}
    compacted = compact(served, [HELLO, *plain(response), result])

    again = create(served, input=[*plain(compacted), HELLO])

    assert ["message", "compaction"] == [item.type for item in compacted.output]
    assert compacted.usage.input_tokens > 5_000 > again.usage.input_tokens


def test_a_response_compacts_itself_at_its_threshold(served: Served) -> None:
    long = {"role": "user", "content": "word " * 2_000}
    management = [{"type": "compaction", "compact_threshold": 1_000}]

    responses = [ask(served, input=[long], context_management=management) for ask in (create, streamed)]

    for response in responses:
        assert ["compaction", "reasoning", "message", "function_call"] == [item.type for item in response.output]
        result = {"type": "function_call_output", "call_id": response.output[3].call_id, "output": "x"}
        assert create(served, input=[*plain(response), result]).usage.input_tokens < 1_000


def test_a_trigger_at_the_end_compacts_and_says_nothing_else(served: Served) -> None:
    response = create(served, input=[HELLO, {"type": "compaction_trigger"}])

    assert ["compaction"] == [item.type for item in response.output]


def test_a_cut_response_is_incomplete(served: Served) -> None:
    response = create(served, max_output_tokens=20)

    assert ("incomplete", "max_output_tokens") == (response.status, response.incomplete_details.reason)
    assert 20 == response.usage.output_tokens


def chat(served: Served, **more: Any) -> Any:
    settings: dict[str, Any] = {"model": MODEL, "messages": [HELLO], "tools": [CHAT_TOOL], **more}
    completions: Any = served.client.chat.completions
    return completions.create(**settings)


def test_a_chat_stream_says_what_the_whole_completion_says(served: Served) -> None:
    whole = chat(served)
    chunks = list(chat(served, stream=True, stream_options={"include_usage": True}))

    choices: list[Any] = [chunk.choices[0] for chunk in chunks if chunk.choices]
    calls: list[list[Any]] = [choice.delta.tool_calls or [] for choice in choices]
    arguments: list[str] = [call.function.arguments for several in calls for call in several]
    assert whole.choices[0].message.content == "".join(choice.delta.content or "" for choice in choices)
    assert whole.choices[0].message.tool_calls[0].function.arguments == "".join(arguments)
    assert ("tool_calls", "tool_calls") == (whole.choices[0].finish_reason, choices[-1].finish_reason)
    assert whole.usage == chunks[-1].usage


def test_a_chat_message_is_accepted_back(served: Served) -> None:
    message = chat(served).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "x"}

    assert chat(served, messages=[HELLO, message, result]).choices[0].message.content


def test_models_are_listed(served: Served) -> None:
    assert MODEL in [model.id for model in served.client.models.list()]


@pytest.mark.parametrize("ask", [create, chat])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Overloaded(), openai.InternalServerError),
        (RateLimited(), openai.RateLimitError),
        (RateLimited(retry_after=None), openai.RateLimitError),
        (ServerError(), openai.InternalServerError),
        (ErrorInStream(), openai.InternalServerError),
        (Cut(), openai.APIConnectionError),
    ],
)
def test_a_fault_reaches_the_client_as_its_error(
    served: Served, ask: Any, fault: Fault, error: type[Exception]
) -> None:
    served.double.faults.append(fault)

    with pytest.raises(error):
        ask(served)


@pytest.mark.parametrize("fault", [ErrorInStream(after=4), Cut(after=4)])
@pytest.mark.parametrize("ask", [create, chat])
def test_a_stream_that_breaks_off_is_an_error(served: Served, ask: Any, fault: Fault) -> None:
    served.double.faults.append(fault)

    with pytest.raises(Exception, match=r"had an error|Connection error"):
        list(ask(served, stream=True))


def test_an_overflow_of_a_stream_comes_as_an_event(served: Served) -> None:
    long = {"role": "user", "content": "word " * 400_001}

    with pytest.raises(openai.APIError) as caught:
        list(create(served, input=[long], stream=True))

    assert "context_length_exceeded" == caught.value.code
