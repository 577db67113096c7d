"""The prompt cache of the OpenAI double: steps, routes, lifetimes, breakpoints."""

from typing import Any

import pytest

from perdure.testing.doubles import OPENAI_HEADERS, OpenAIDouble, post

Body = dict[str, Any]


class Client:
    """A client with a clock to jump."""

    def __init__(self, model: str = "gpt-5") -> None:
        self.now, self.model = 1_000.0, model
        self.double = OpenAIDouble(clock=lambda: self.now)

    def usage(self, *texts: str, **more: Any) -> Body:
        items = [{"role": "user", "content": text} for text in texts]
        body = {"model": self.model, "input": items, "store": False, **more}
        answered = post(self.double, "/v1/responses", body, OPENAI_HEADERS)
        assert 200 == answered.status, answered.body
        return answered.body["usage"]

    def cached(self, *texts: str, **more: Any) -> int:
        return self.usage(*texts, **more)["input_tokens_details"]["cached_tokens"]


def words(count: int) -> str:
    return "word " * count


@pytest.mark.parametrize(
    ("size", "expected"), [(900, 0), (1_050, 1_024), (1_140, 1_024), (1_170, 1_152), (5_000, 4_992)]
)
def test_a_repeated_prompt_is_cached_in_steps_of_128_from_1024(size: int, expected: int) -> None:
    client = Client()

    assert [0, expected] == [client.cached(words(size)), client.cached(words(size))]


def test_cached_tokens_are_inside_the_input_tokens() -> None:
    client = Client()
    usages = [client.usage(words(2_000)) for _ in range(2)]

    assert usages[0]["input_tokens"] == usages[1]["input_tokens"]
    assert usages[1]["input_tokens_details"]["cached_tokens"] < usages[1]["input_tokens"]
    assert usages[0]["total_tokens"] == usages[0]["input_tokens"] + usages[0]["output_tokens"]


def test_only_the_prefix_that_is_the_same_is_read() -> None:
    client = Client()
    client.usage(words(1_500), words(3_000))

    assert 1_408 == client.cached(words(1_500), "other", words(3_000))


@pytest.mark.parametrize(
    ("model", "more", "pause", "kept"),
    [
        ("gpt-5", {}, 299.0, True),
        ("gpt-5", {}, 300.0, False),
        ("gpt-5", {"prompt_cache_retention": "24h"}, 86_399.0, True),
        ("gpt-5.5", {}, 86_399.0, True),
        ("gpt-5.6", {}, 1_799.0, True),
        ("gpt-5.6", {}, 1_800.0, False),
        ("gpt-5.6", {"prompt_cache_options": {"ttl": "12h"}}, 43_199.0, True),
    ],
)
def test_a_prefix_lives_as_long_as_its_retention(model: str, more: Body, pause: float, *, kept: bool) -> None:
    client = Client(model)
    client.usage(words(2_000), **more)
    client.now += pause

    assert kept == (client.cached(words(2_000), **more) > 0)


def test_another_cache_key_leads_to_another_machine() -> None:
    client = Client()
    client.usage(words(2_000), prompt_cache_key="one")

    assert [0, 1_920] == [
        client.cached(words(2_000), prompt_cache_key="two"),
        client.cached(words(2_000), prompt_cache_key="one"),
    ]


def test_from_5_6_on_the_end_of_each_prompt_is_written_and_billed() -> None:
    client = Client("gpt-5.6")

    first = client.usage(words(2_000))
    second = client.usage(words(2_000), words(1_500))

    written = [usage["input_tokens_details"]["cache_write_tokens"] for usage in (first, second)]
    assert [first["input_tokens"], second["input_tokens"] - first["input_tokens"]] == written
    assert first["input_tokens"] == second["input_tokens_details"]["cached_tokens"]


def test_explicit_breakpoints_are_the_only_ones_in_explicit_mode() -> None:
    client = Client("gpt-5.6")
    marked: Body = {"type": "input_text", "text": words(2_000), "prompt_cache_breakpoint": {}}
    items: list[Body] = [{"role": "user", "content": [marked]}, {"role": "user", "content": words(1_500)}]

    details = client.usage(input=items, prompt_cache_options={"mode": "explicit"})["input_tokens_details"]

    assert 2_000 < details["cache_write_tokens"] < 2_010


def test_chat_completions_share_the_rules() -> None:
    double = OpenAIDouble()
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": words(2_000)}]}

    usages = [post(double, "/v1/chat/completions", body, OPENAI_HEADERS).body["usage"] for _ in range(2)]

    assert [0, 1_920] == [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
