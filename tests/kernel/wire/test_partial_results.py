"""Results that a host hands over one by one, as each comes in, make requests that are as valid and as steady as those
of a host that waits for all."""

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from perdure.kernel.context.context import Context
from perdure.kernel.messages import JsonObject, encode_json
from perdure.kernel.models import lookup
from perdure.kernel.wire import CHAT, RESPONSES, Dialect
from perdure.kernel.wire.validity import check


def groups(dialect: Dialect, dice: random.Random) -> Iterator[list[JsonObject]]:
    """What is said, then calls and their results in turns."""
    yield [{"role": "user", "content": "Do it all."}]
    for number in range(20):
        names = [f"call_{number}_{index}" for index in range(dice.choice((1, 2, 4)))]
        texts = [f"line of words and more {number}\n" * dice.choice((3, 100, 400)) for _ in names]
        if dialect == "chat":
            function: JsonObject = {"name": "read", "arguments": "{}"}
            calls: list[JsonObject] = [{"id": name, "type": "function", "function": function} for name in names]
            yield [{"role": "assistant", "content": None, "tool_calls": [*calls]}]
            yield [
                {"role": "tool", "tool_call_id": name, "content": text} for name, text in zip(names, texts, strict=True)
            ]
        else:
            yield [{"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"} for name in names]
            yield [
                {"type": "function_call_output", "call_id": name, "output": text}
                for name, text in zip(names, texts, strict=True)
            ]


def sent(dialect: Dialect, seed: int, *, one_by_one: bool) -> list[list[JsonObject]]:
    """What goes out each time that every call has its result."""
    context = Context("gpt-4.1" if dialect == "chat" else "gpt-5", dialect=dialect, window=16_000)
    items: list[JsonObject] = []
    requests: list[list[JsonObject]] = []
    for number, group in enumerate(groups(dialect, random.Random(seed))):
        for item in group:
            items.append(item)
            if one_by_one and number and number % 2 == 0:
                context.project(items)
        if number % 2 == 0:
            requests.append(context.project(items).messages)
    return requests


def rewrites(requests: list[list[JsonObject]]) -> int:
    """How often a request did not extend the one before."""
    bodies = [encode_json([*messages])[:-1] for messages in requests]
    return sum(not after.startswith(before) for before, after in pairwise(bodies))


@pytest.mark.parametrize("dialect", ["chat", "responses"])
@pytest.mark.parametrize("seed", range(3))
def test_results_one_by_one_make_valid_requests_that_move_no_more_often(dialect: Dialect, seed: int) -> None:
    codec, name = (CHAT, "gpt-4.1") if dialect == "chat" else (RESPONSES, "gpt-5")
    key = "messages" if dialect == "chat" else "input"
    partial, whole = (sent(dialect, seed, one_by_one=one_by_one) for one_by_one in (True, False))
    faults = [
        fault
        for messages in partial
        for fault in check(codec.decode_request({"model": name, key: messages}), lookup(name), dialect)
    ]

    assert [] == faults
    assert rewrites(partial) <= rewrites(whole) + 1
