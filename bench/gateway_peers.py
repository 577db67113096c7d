"""The gateway beside LiteLLM's proxy and headroom's, before the same upstream, in one run.

    for NAME in litellm headroom: python -m venv .cache/gateway-peers/NAME
    .cache/gateway-peers/litellm/bin/pip install 'litellm[proxy]'
    .cache/gateway-peers/headroom/bin/pip install 'headroom-ai[proxy]'
    .venv/bin/python -m bench gateway

Each is a process of its own behind the same client. Requests of 500 kB, each of which extends the one before it by a
round: at a fixed rate, and as many streams at once. All take their turn, round after round, so that a busy machine is
busy for all. Times of the processor are those of the whole process tree; what a direct request takes is taken off.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.gateway_wire import Client
from bench.measure import Figure, Missing, Row, once
from perdure.kernel.messages import encode_json

PEERS = Path(__file__).resolve().parent.parent / ".cache" / "gateway-peers"
BODY = 500_000
PER_SECOND, REQUESTS = 20, 30
STREAMS = 50
ROUNDS = 2
FIFTH, THIRD = 5.0, 3.0
"""How many times less time than a peer: the goals."""
LITELLM = """
model_list:
  - model_name: claude-sonnet-4-6
    litellm_params: {model: anthropic/claude-sonnet-4-6, api_base: "http://127.0.0.1:UPSTREAM", api_key: any}
"""
QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOG": "ERROR",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    "HF_HUB_OFFLINE": "1",
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_TELEMETRY": "off",
    "DO_NOT_TRACK": "1",
}


@dataclass(slots=True)
class Contender:
    """One of those that are compared."""

    name: str
    client: Client
    process: subprocess.Popen[bytes] | None
    """None for the upstream itself."""
    rate: list[float] = field(default_factory=list[float])
    streams: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    """Milliseconds of the processor for each request, by phase."""


def figures() -> Iterator[Row]:
    """Ratios to the peers, and what is added beside `json.loads`."""
    with ExitStack() as stack:
        contenders = [*_started(stack)]
        asyncio.run(_measured(contenders))
        yield from _rows({one.name: one for one in contenders})


def _rows(found: Mapping[str, Contender]) -> Iterator[Row]:
    parsed = once(lambda: json.loads(_talk(random.Random(1), "Start.", 1)[0]))
    for ours in ("auto", "pass-through"):
        mine = found[ours]
        added = _p50(mine.rate) - _p50(found["direct"].rate)
        yield Figure(what=f"{ours}: added at {PER_SECOND}/s, p50", ours=added, most=3 * parsed.wall)
        for peer in ("litellm", "headroom"):
            if peer not in found:
                yield Missing(what=f"{peer}: its environment is not in .cache/gateway-peers")
                continue
            yield from _against(ours, mine, found[peer], found["direct"])


def _against(name: str, mine: Contender, peer: Contender, direct: Contender) -> Iterator[Figure]:
    yield Figure(what=f"{name}: processor for a request", ours=median(mine.cpu), peer=peer.name,
                 theirs=median(peer.cpu), faster=FIFTH)  # fmt: skip
    for kind in ("rate", "streams"):
        what = f"at {PER_SECOND}/s" if kind == "rate" else f"at {STREAMS} streams"
        for point, of in (("p50", _p50), ("p99", _p99)):
            one, other, base = (of(getattr(each, kind)) for each in (mine, peer, direct))
            yield Figure(what=f"{name}: added {what}, {point}", ours=one - base, peer=peer.name,
                         theirs=other - base, faster=THIRD)  # fmt: skip


def _p50(values: Sequence[float]) -> float:
    return median(values)


def _p99(values: Sequence[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]


async def _measured(contenders: Sequence[Contender]) -> None:
    streams = [_talk(random.Random(n), f"Stream {n}.", 2, stream=True) for n in range(STREAMS)]
    for number in range(ROUNDS):
        talk = _talk(random.Random(number), f"Start {number}.", REQUESTS + 2)
        for one in [*contenders[number:], *contenders[:number]]:
            for body in talk[:2]:
                await one.client.ask(body)
            await _phase(one, _at_a_rate(one, talk[2:]), REQUESTS)
        for one in [*contenders[number:], *contenders[:number]]:
            if number == 0:
                for first, _ in streams:
                    await one.client.ask(first)
            await _phase(one, _at_once(one, [last for _, last in streams]), STREAMS)
    for one in contenders:
        await one.client.close()


async def _phase(one: Contender, work: Any, count: int) -> None:
    before = _cpu(one.process)
    await work
    one.cpu.append((_cpu(one.process) - before) / count)


async def _at_a_rate(one: Contender, bodies: Sequence[bytes]) -> None:
    async with asyncio.TaskGroup() as group:
        began = time.perf_counter()
        for number, body in enumerate(bodies):
            await asyncio.sleep(max(0.0, began + number / PER_SECOND - time.perf_counter()))
            group.create_task(_noted(one, body, one.rate))


async def _at_once(one: Contender, bodies: Sequence[bytes]) -> None:
    async with asyncio.TaskGroup() as group:
        for body in bodies:
            group.create_task(_noted(one, body, one.streams))


async def _noted(one: Contender, body: bytes, into: list[float]) -> None:
    into.append(await one.client.ask(body))


def _cpu(process: subprocess.Popen[bytes] | None) -> float:
    """Milliseconds of the processor that a process and all below it have taken."""
    if process is None:
        return 0.0
    parents: dict[int, list[int]] = {}
    taken: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
        taken[int(entry.name)] = int(fields[11]) + int(fields[12])
    ticks, waiting = 0, [process.pid]
    while waiting:
        one = waiting.pop()
        ticks += taken.get(one, 0)
        waiting.extend(parents.get(one, ()))
    return 1_000 * ticks / os.sysconf("SC_CLK_TCK")


def _words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(["alpha", 'be"ta', "gam\nma", "x = 1", "def f():", "Zeile ü"]) for _ in range(count))


def _talk(dice: random.Random, first: str, count: int, *, stream: bool = False) -> list[bytes]:
    """The last bodies of a conversation, the first of which has 500 kB."""
    messages: list[Any] = [{"role": "user", "content": first}]
    fixed = {"model": "claude-sonnet-4-6", "max_tokens": 1_000, "system": "You work."} | (
        {"stream": True} if stream else {}
    )
    size, made = 0, list[bytes]()
    while len(made) < count:
        name = f"toolu_{len(messages)}"
        use = {"type": "tool_use", "id": name, "name": "bash", "input": {"command": _words(dice, 5)}}
        result = {"type": "tool_result", "tool_use_id": name, "content": _words(dice, 350)}
        said = [{"type": "text", "text": _words(dice, 20)}, use]
        fresh: list[Any] = [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
        messages += fresh
        size += len(encode_json(fresh))
        if size >= BODY:
            made.append(encode_json({**fixed, "messages": messages}))
    return made


def _started(stack: ExitStack) -> Iterator[Contender]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    upstream = _free()
    stack.enter_context(_running([sys.executable, "-m", "bench.gateway_wire", str(upstream)], upstream, folder))
    yield Contender("direct", Client(upstream), None)
    url = f"http://127.0.0.1:{upstream}"
    (folder / "litellm.yaml").write_text(LITELLM.replace("UPSTREAM", str(upstream)), encoding="utf-8")
    serve = [sys.executable, "-m", "perdure.cli", "serve", "--open", "--upstream", url]
    commands = {
        "pass-through": [*serve, "--state", str(folder / "one.sqlite3"), "--port"],
        "auto": [*serve, "--auto", "--window", "1000000", "--state", str(folder / "two.sqlite3"), "--port"],
        "litellm": [str(PEERS / "litellm/bin/litellm"), "--config", str(folder / "litellm.yaml"), "--port"],
        "headroom": [str(PEERS / "headroom/bin/headroom"), "proxy", "--no-rate-limit", "--no-http2", "--port"],
    }
    for name, command in commands.items():
        if not Path(command[0]).exists():
            continue
        port = _free()
        environment = {"ANTHROPIC_TARGET_API_URL": url, "HOME": str(folder), "PERDURE_HOME": str(folder / "home")}
        process = stack.enter_context(_running([*command, str(port)], port, folder, environment))
        yield Contender(name, Client(port), process)


@contextmanager
def _running(
    command: Sequence[str], port: int, folder: Path, more: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """A server, once it takes connections."""
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, **QUIET, "PYTHONPATH": root, **(more or {})}
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            _await_port(process, port, folder / f"{port}.log")
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _await_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            pass
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
            raise SystemExit(f"it ended: {log.read_text(encoding='utf-8')[-2_000:]}")
    raise SystemExit(f"nothing listens: {log.read_text(encoding='utf-8')[-2_000:]}")


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
