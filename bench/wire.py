"""The speed of the codecs: encoding a long request whose last message alone is new, and decoding it.

Run `python bench/wire.py`. It prints and never fails: the figures are of this machine, in one run, best of several.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from time import perf_counter

from perdure.kernel.messages import JsonObject, Mark, Request, encode_json, freeze_object
from perdure.kernel.wire import ANTHROPIC

MESSAGES = 10_000
WORDS = (
    "def",
    "return",
    "value",
    "the",
    "request",
    "src/app/main.py",
    "12:",
    "error",
    "assert",
    "\n",
    "    ",
    "(self)",
)
ROUNDS = 9


def main() -> None:
    body = encode_json(make_request(random.Random(7)))
    parsed = best(lambda: json.loads(body))
    decoded = best(lambda: ANTHROPIC.decode_request(body))
    print(f"request: {len(body):,} bytes, {MESSAGES:,} messages")
    print(f"decode:  {decoded:6.2f} ms, json.loads {parsed:6.2f} ms: {decoded / parsed:.2f} x (at most 3)")
    request = ANTHROPIC.decode_request(body)
    assert ANTHROPIC.encode_request(request) == body
    copied = best(lambda: bytes(bytearray(body)))
    encoded = min(encode_grown(request, turn) for turn in range(ROUNDS))
    print(f"encode:  {encoded:6.2f} ms with a new last message and 3 marks; two copies of the bytes {copied:.2f} ms")
    print(f"fresh:   {best(lambda: encode_json(json.loads(body))) - parsed:6.2f} ms for the whole body at once")


def encode_grown(request: Request, turn: int) -> float:
    last = request.messages[-2]
    grown = Request(
        model=request.model,
        system=request.system,
        tools=request.tools,
        messages=(*request.messages, ANTHROPIC.decode_messages([{"role": "user", "content": f"go on {turn}"}])[0]),
        marks=(
            Mark(part="system", index=0, ttl="1h"),
            Mark(part="messages", index=MESSAGES - 2, block=len(last.content) - 1),
            Mark(part="messages", index=MESSAGES),
        ),
        params=request.params,
    )
    start = perf_counter()
    ANTHROPIC.encode_request(grown)
    return (perf_counter() - start) * 1000


def best(work: Callable[[], object]) -> float:
    """Milliseconds of the quickest round."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times) * 1000


def make_request(chance: random.Random) -> JsonObject:
    """About a million tokens: 300 bytes a message, as many calls and short results as long outputs make."""
    messages: list[object] = []
    for turn in range(MESSAGES // 2):
        call = f"toolu_{turn:06}"
        said = {"type": "text", "text": prose(chance, 12)}
        asked = {"type": "tool_use", "id": call, "name": "read", "input": {"path": f"src/app/{turn}.py"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": prose(chance, 60)}
        messages.append({"role": "assistant", "content": [said, asked]})
        messages.append({"role": "user", "content": [result]})
    tool = {"name": "read", "description": prose(chance, 200), "input_schema": {"type": "object"}}
    system = [{"type": "text", "text": prose(chance, 2000)}]
    return freeze_object(
        {"model": "claude", "tools": [tool], "system": system, "messages": messages, "max_tokens": 8000}
    )


def prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


if __name__ == "__main__":
    main()
