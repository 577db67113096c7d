"""A client of one protocol in front of an upstream of another, with the official SDKs."""

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest

from perdure.testing.doubles import AnthropicDouble, Call, Cut, OpenAIDouble, RateLimited, Say, Turn, answer, replies

MODEL = "claude-sonnet-4-6"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
READ: Any = {"name": "read", "description": "Read.", "input_schema": {"type": "object", "properties": {}}}
FUNCTION: Any = {"name": "read", "description": "Read.", "parameters": {"type": "object", "properties": {}}}
TURN = Turn(parts=(Say(text="I read it."), Call(name="read", arguments={"path": "a.py"})))
TALK: Any = [
    {"role": "user", "content": [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    ]},
    {"role": "assistant", "content": [
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "b.py"}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such file", "is_error": True},
        {"type": "text", "text": "Try a.py."},
    ]},
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_an_anthropic_client_talks_to_openai(front: Callable[..., Any], dialect: str, stream: bool) -> None:
    double = OpenAIDouble(replies([TURN]))
    made = front(double, dialect=dialect, upstream_model="gpt-4o")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    wish: Any = {"model": MODEL, "max_tokens": 300, "system": "You read.", "tools": [READ], "messages": TALK}

    if stream:
        with client.messages.stream(**wish, tool_choice={"type": "any"}) as events:
            message: Any = events.get_final_message()
    else:
        message = client.messages.create(**wish, tool_choice={"type": "any"})

    (received,) = double.received
    assert (200, "gpt-4o", "required") == (received.status, received.body["model"], received.body["tool_choice"])
    assert ("text", "tool_use") == tuple(block.type for block in message.content)
    assert ("I read it.", {"path": "a.py"}) == (message.content[0].text, message.content[1].input)
    assert ("tool_use", MODEL) == (message.stop_reason, message.model)
    assert message.usage.input_tokens > 0
    for said in ("You read.", "Look.", PICTURE, "One moment.", "no such file", "Try a.py."):
        assert said in received.raw.decode()


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_client_talks_to_anthropic(front: Callable[..., Any], stream: bool) -> None:
    double = AnthropicDouble(replies([TURN]))
    made = front(double, dialect="anthropic", upstream_model=MODEL)
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="my key", max_retries=0)
    call: Any = {"id": "toolu_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "b.py"}'}}
    wish: Any = {
        "model": "anything",
        "tools": [{"type": "function", "function": FUNCTION}],
        "max_completion_tokens": 300,
        "messages": [
            {"role": "system", "content": "You read."},
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "no such file"},
            {"role": "user", "content": "Try a.py."},
        ],
    }

    if stream:
        chunks: list[Any] = list(client.chat.completions.create(**wish, stream=True))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        calls: list[Any] = []
        for chunk in chunks:
            calls += chunk.choices[0].delta.tool_calls or [] if chunk.choices else []
        arguments, reason = "".join(one.function.arguments or "" for one in calls if one.function), "tool_calls"
    else:
        choice: Any = client.chat.completions.create(**wish).choices[0]
        text, reason = choice.message.content or "", choice.finish_reason
        arguments = str(choice.message.tool_calls[0].function.arguments)

    (received,) = double.received
    assert (200, "my key", 300) == (received.status, received.headers["x-api-key"], received.body["max_tokens"])
    assert ("I read it.", '{"path":"a.py"}', "tool_calls") == (text, str(arguments).replace(" ", ""), reason)
    assert "You read." in str(received.body["system"])


@pytest.mark.parametrize("stream", [False, True])
def test_a_responses_client_talks_to_anthropic(front: Callable[..., Any], stream: bool) -> None:
    double = AnthropicDouble(replies([TURN, answer("Done.")]))
    made = front(double, dialect="anthropic", upstream_model=MODEL)
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)
    wish: Any = {"model": "gpt-5", "tools": [{"type": "function", **FUNCTION}], "instructions": "You read."}

    def ask(items: Any) -> Any:
        if not stream:
            return client.responses.create(input=items, **wish)
        with client.responses.stream(input=items, **wish) as events:
            return events.get_final_response()

    first = ask([{"role": "user", "content": "Look."}])
    (call,) = [item for item in first.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "text of a.py"}
    sent_back: Any = [item.to_dict() for item in first.output]
    second = ask([{"role": "user", "content": "Look."}, *sent_back, result])

    assert ("I read it.", "Done.") == (first.output_text, second.output_text)
    assert [200, 200] == [one.status for one in double.received]
    assert "text of a.py" in double.received[-1].raw.decode()


def test_a_refusal_is_told_in_the_clients_own_form(front: Callable[..., Any]) -> None:
    double = OpenAIDouble()
    double.faults.append(RateLimited(retry_after=3))
    made = front(double, dialect="chat", upstream_model="gpt-4o")
    body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}

    response = httpx.post(f"{made.url}/v1/messages", json=body, headers={"x-api-key": "any"})

    assert (429, "3") == (response.status_code, response.headers["retry-after"])
    assert "rate_limit_error" == response.json()["error"]["type"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("container", "c_1"), ("mcp_servers", [{"type": "url", "url": "https://x", "name": "x"}])],
)
def test_what_the_other_protocol_has_no_word_for_is_refused_and_not_dropped(
    front: Callable[..., Any], field: str, value: Any
) -> None:
    double = OpenAIDouble()
    made = front(double, dialect="chat", upstream_model="gpt-4o")
    body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], field: value}

    response = httpx.post(f"{made.url}/v1/messages", json=body, headers={"x-api-key": "any"})

    assert 400 == response.status_code
    assert field in response.json()["error"]["message"]
    assert [] == double.received


def test_a_tool_of_the_providers_own_is_refused(front: Callable[..., Any]) -> None:
    double = OpenAIDouble()
    made = front(double, dialect="chat", upstream_model="gpt-4o")
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], "tools": tools}

    response = httpx.post(f"{made.url}/v1/messages", json=body, headers={"x-api-key": "any"})

    assert (400, []) == (response.status_code, double.received)
    assert "web_search" in response.json()["error"]["message"]


def test_counting_works_without_an_upstream_that_counts(front: Callable[..., Any]) -> None:
    made = front(OpenAIDouble(), dialect="chat", upstream_model="gpt-4o")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    counted = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "word " * 1_000}])

    assert 800 < counted.input_tokens < 1_500


BOTH = Turn(
    parts=(
        Say(text="I read two files, and say so at some length, so that it comes in pieces."),
        Call(name="read", arguments={"path": "a.py"}),
        Call(name="read", arguments={}),
    )
)


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_a_translated_stream_comes_in_pieces_with_parallel_calls_one_after_the_other(
    front: Callable[..., Any], dialect: str
) -> None:
    made = front(OpenAIDouble(replies([BOTH])), dialect=dialect, upstream_model="gpt-4o")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    with client.messages.stream(
        model=MODEL, max_tokens=300, tools=[READ], messages=[{"role": "user", "content": "Hi"}]
    ) as stream:
        events = list(stream)
        message = stream.get_final_message()

    order = [
        (event.type, event.index) for event in events if event.type in ("content_block_start", "content_block_stop")
    ]
    wanted = [(f"content_block_{what}", place) for place in range(3) for what in ("start", "stop")]
    assert wanted == order
    assert sum(event.type == "text" for event in events) > 1
    assert [{"path": "a.py"}, {}] == [block.input for block in message.content[1:]]


def test_parallel_calls_of_anthropic_reach_a_chat_client_with_usage_when_asked_for(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(replies([BOTH])), dialect="anthropic", upstream_model=MODEL)
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)

    with client.chat.completions.stream(
        model="any",
        messages=[{"role": "user", "content": "Hi"}],
        tools=[{"type": "function", "function": FUNCTION}],
        stream_options={"include_usage": True},
    ) as stream:
        done = stream.get_final_completion()

    calls = done.choices[0].message.tool_calls
    assert ['{"path":"a.py"}', "{}"] == [call.function.arguments.replace(" ", "") for call in calls]
    assert done.usage.prompt_tokens > 0


def test_a_translated_stream_that_breaks_off_has_no_end(front: Callable[..., Any]) -> None:
    double = OpenAIDouble(lambda _: answer("word " * 50))
    double.faults.append(Cut(after=3))
    made = front(double, dialect="chat", upstream_model="gpt-4o")
    body = {"model": MODEL, "max_tokens": 99, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

    text = httpx.post(f"{made.url}/v1/messages", json=body, headers={"x-api-key": "any"}).text

    assert "event: error" in text
    assert "message_stop" not in text
