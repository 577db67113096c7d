"""A call that asks for nothing goes on byte for byte, and its answer comes back so, over all three protocols."""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest

from perdure.testing.doubles import (
    ANTHROPIC_HEADERS,
    AnthropicDouble,
    OpenAIDouble,
    Overloaded,
    RateLimited,
    answer,
    replies,
)

MODEL = "claude-sonnet-4-6"
RAW = b'{ "model":"claude-sonnet-4-6","messages": [{"role":"user", "content":"Hi \\u00e9"}],\n"max_tokens":10 }'


def test_bytes_go_up_and_come_down_as_they_are(front: Callable[..., Any]) -> None:
    double = AnthropicDouble(replies([answer("Hello.")]))
    made = front(double)

    response = httpx.post(f"{made.url}/v1/messages?beta=true", content=RAW, headers=ANTHROPIC_HEADERS)

    assert RAW == double.received[0].raw
    assert double.received[0].answer == response.json()
    assert 1 == made.gateway.metrics.of("verbatim_requests")


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_of_anthropic_talks_through_it(front: Callable[..., Any], stream: bool) -> None:
    made = front(AnthropicDouble(replies([answer("Hello there.")])))
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    if stream:
        with client.messages.stream(model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "Hi"}]) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "Hi"}])

    assert ["Hello there."] == [block.text for block in message.content if block.type == "text"]


def test_the_sdk_of_openai_talks_through_it_in_both_of_its_protocols(front: Callable[..., Any]) -> None:
    made = front(OpenAIDouble(lambda _: answer("Hello there.")), dialect="chat")
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)
    responses = front(OpenAIDouble(lambda _: answer("Hello there.")), dialect="responses")
    other: Any = openai.OpenAI(base_url=f"{responses.url}/v1", api_key="any", max_retries=0)

    chat = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}])
    chunks = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}], stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    response = other.responses.create(model="gpt-5", input="Hi")

    assert ["Hello there."] * 3 == [chat.choices[0].message.content, streamed, response.output_text]


def test_a_refusal_of_the_upstream_comes_back_as_it_is(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    double.faults.extend([RateLimited(retry_after=7), Overloaded()])
    made = front(double)

    limited, overloaded = (
        httpx.post(f"{made.url}/v1/messages", content=RAW, headers=ANTHROPIC_HEADERS) for _ in range(2)
    )

    assert (429, "7", 529) == (limited.status_code, limited.headers["retry-after"], overloaded.status_code)
    assert ["rate_limit_error", "overloaded_error"] == [one.json()["error"]["type"] for one in (limited, overloaded)]


def test_nothing_is_reached_without_the_key_and_no_upstream_sees_it(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    made = front(double, config={"key": "sesame"}, key="the upstream's key")
    wrong = httpx.post(f"{made.url}/v1/messages", content=RAW, headers={**ANTHROPIC_HEADERS, "x-api-key": "wrong"})

    right = httpx.post(f"{made.url}/v1/messages", content=RAW, headers={**ANTHROPIC_HEADERS, "x-api-key": "sesame"})

    assert (401, "authentication_error", 200) == (wrong.status_code, wrong.json()["error"]["type"], right.status_code)
    assert ["the upstream's key"] == [one.headers["x-api-key"] for one in double.received]


def test_the_callers_own_key_passes_where_the_route_has_none(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    made = front(double, config={"key": "sesame"})

    httpx.post(
        f"{made.url}/v1/messages",
        content=RAW,
        headers={**ANTHROPIC_HEADERS, "x-api-key": "my own", "perdure-key": "sesame"},
    )

    assert [("my own", False)] == [(one.headers["x-api-key"], "perdure-key" in one.headers) for one in double.received]


def test_a_body_that_is_too_large_is_refused_in_the_protocols_own_form(front: Callable[..., Any]) -> None:
    made = front(OpenAIDouble(), config={"max_body": 1_000}, dialect="chat")

    response = httpx.post(f"{made.url}/v1/chat/completions", content=b"x" * 2_000)

    assert (413, "invalid_request_error") == (response.status_code, response.json()["error"]["type"])


def test_it_says_that_it_lives_what_it_counts_and_which_models_there_are(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), model=MODEL, window=200_000, advertised_window=1_000_000)

    health, ready = httpx.get(f"{made.url}/healthz"), httpx.get(f"{made.url}/readyz")
    listed = anthropic.Anthropic(base_url=made.url, api_key="any").models.list()
    metrics = httpx.get(f"{made.url}/metrics").text

    assert (200, 200) == (health.status_code, ready.status_code)
    assert [(MODEL, 1_000_000)] == [(one.id, one.max_input_tokens) for one in listed.data]
    assert "perdure_upstream_requests_total 0" in metrics


def test_an_upstream_that_is_not_there_is_told_without_its_address(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble())
    config = made.gateway.config
    object.__setattr__(config.routes[0], "base_url", "http://127.0.0.1:1")

    response = httpx.post(f"{made.url}/v1/messages", content=RAW, headers=ANTHROPIC_HEADERS)

    assert 502 == response.status_code
    assert "127.0.0.1" not in response.text
    assert "error" == json.loads(response.content)["type"]
