"""What the gateway adds to a request of half a megabyte, against `json.loads` of the same body here.

    .venv/bin/python bench/gateway.py

In the process, without sockets: the upstream answers at once through a transport of httpx. Each request extends the one
before it by a round, as an agent's do. Prints medians in milliseconds, and ratios to `json.loads`.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from perdure.gateway import Config, Gateway, Parts, Route
from perdure.kernel.messages import encode_json

BODY = 500_000
ROUNDS = 40
ANSWER = encode_json({
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 5},
})  # fmt: skip


def words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(["alpha", 'be"ta', "gam\nma", "x = 1", "def f():", "Zeile ü"]) for _ in range(count))


def bodies() -> list[bytes]:
    dice = random.Random(7)
    messages: list[Any] = [{"role": "user", "content": "Start."}]
    rounds: list[list[Any]] = []
    size = 0
    while size < BODY or len(rounds) < ROUNDS:
        name = f"toolu_{len(rounds)}"
        use = {"type": "tool_use", "id": name, "name": "bash", "input": {"command": words(dice, 5)}}
        result = {"type": "tool_result", "tool_use_id": name, "content": words(dice, 350)}
        said = [{"type": "text", "text": words(dice, 20)}, use]
        rounds.append([{"role": "assistant", "content": said}, {"role": "user", "content": [result]}])
        size += len(encode_json(rounds[-1]))
    fixed = {"model": "claude-sonnet-4-6", "max_tokens": 1_000, "system": "You work."}
    made: list[bytes] = []
    for count in range(len(rounds) - ROUNDS, len(rounds)):
        history = messages + [message for one in rounds[: count + 1] for message in one]
        made.append(encode_json({**fixed, "messages": history}))
    return made


async def through(gateway: Gateway, body: bytes) -> None:
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.sleep(60)
        sent = True
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise SystemExit(f"the gateway answered {message['status']}")

    headers = [(b"x-api-key", b"any"), (b"host", b"127.0.0.1"), (b"anthropic-version", b"2023-06-01")]
    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "query_string": b"", "headers": headers}
    await gateway(scope, receive, send)


Run = Callable[[bytes], Awaitable[None]]


async def measure(runs: dict[str, Run], given: list[bytes]) -> dict[str, tuple[float, float]]:
    """Medians of wall and CPU time; for each body all take their turn, so that a busy machine is busy for all."""
    walls: dict[str, list[float]] = {name: [] for name in runs}
    cpus: dict[str, list[float]] = {name: [] for name in runs}
    for body in given:
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            await run(body)
            walls[name].append((time.perf_counter() - wall) * 1_000)
            cpus[name].append((time.process_time() - cpu) * 1_000)
    return {name: (statistics.median(walls[name]), statistics.median(cpus[name])) for name in runs}


async def instant(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, stream=httpx.ByteStream(ANSWER), headers={"content-type": "application/json"})


async def loads(body: bytes) -> None:
    json.loads(body)


async def main() -> None:
    given = bodies()
    client = httpx.AsyncClient(transport=httpx.MockTransport(instant))

    async def direct(body: bytes) -> None:
        await client.post("http://upstream/v1/messages", content=body)

    runs: dict[str, Run] = {"json.loads": loads, "httpx alone": direct}
    routes = {"pass-through": Route(), "auto": Route(auto=True, window=1_000_000)}
    gateways = {
        name: Gateway(
            Config(open=True, routes=(route,)), Parts(client=httpx.AsyncClient(transport=httpx.MockTransport(instant)))
        )
        for name, route in routes.items()
    }
    for name, gateway in gateways.items():
        await through(gateway, given[0])
        runs[name] = lambda body, gateway=gateway: through(gateway, body)
    found = await measure(runs, given)
    unit = found["json.loads"]
    print(f"{len(given[-1]):,} bytes\n{'':<16}{'ms':>8}{'cpu ms':>9}{'x wall':>9}{'x cpu':>9}")
    for name, (wall, cpu) in found.items():
        print(f"{name:<16}{wall:>8.2f}{cpu:>9.2f}{wall / unit[0]:>9.2f}{cpu / unit[1]:>9.2f}")
    for gateway in gateways.values():
        await gateway.close()


if __name__ == "__main__":
    asyncio.run(main())
