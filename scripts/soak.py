"""A gateway under load for some minutes: whether its memory stays flat, and nobody gets what is somebody else's.

    python scripts/soak.py --tenants 200 --conversations 50 --minutes 10

It starts `perdure serve` with keys and conversations in SQLite (or on a server, with --store), in front of an upstream
on loopback that answers with a word of its request. Each tenant has a key and conversations that grow and begin anew.
Printed are the resident memory of the gateway over time, and what went wrong. Linux alone: memory is read in /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from perdure.gateway.grants import Grant, Limits
from perdure.gateway.keys import issued
from perdure.gateway.sqlite_keys import SqliteKeys
from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.memory import Principal
from perdure.providers.edge import wall_clock

MODEL = "claude-sonnet-4-6"
ROUNDS = 24
"""Of a conversation, before it begins anew."""

LINES = 60
"""Of each tool result: some 800 tokens, so that a window of 16,000 is full before a conversation ends."""

WINDOW = 16_000
READ: JsonObject = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
CANARY = re.compile(rb"canary-\d+")


async def upstream(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the first canary of the request."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    found = CANARY.search(body)
    answer = encode_json({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": found[0].decode() if found else "nobody"}],
        "usage": {"input_tokens": len(body) // 4, "output_tokens": 5},
    })  # fmt: skip
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


def talk(canary: str, conversation: int, count: int) -> list[Json]:
    """The messages of a conversation after so many rounds."""
    messages: list[Json] = [{"role": "user", "content": f"Read the files of {canary}, {conversation}."}]
    for number in range(count):
        use: JsonObject = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{canary} {conversation} {number}:{line} = {line * number}" for line in range(LINES))
        result: JsonObject = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        said: list[Json] = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        messages += said
    return messages


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, url: str, keys: list[str], gateway: int) -> None:
        self.options, self.url, self.keys, self.gateway = options, url, keys, gateway
        self.counts: Counter[str] = Counter()
        self.sizes: list[tuple[float, int]] = []
        # Each is somewhere on its way from the start, so that the load is the same all the time.
        dice = Random(0)
        self.grown = [[dice.randrange(ROUNDS) for _ in range(options.conversations)] for _ in keys]
        self.ends = time.monotonic() + options.minutes * 60
        self.began = time.monotonic()

    async def run(self) -> None:
        """Ask until the time is over."""
        limits = httpx.Limits(max_connections=self.options.workers)
        async with httpx.AsyncClient(base_url=self.url, timeout=60, limits=limits, trust_env=False) as client:
            workers = [self.ask(client, Random(number)) for number in range(self.options.workers)]
            await asyncio.gather(self.watch(), *workers)

    async def ask(self, client: httpx.AsyncClient, dice: Random) -> None:
        """One worker: any tenant, any of its conversations, the next round."""
        while time.monotonic() < self.ends:
            tenant, place = dice.randrange(len(self.keys)), dice.randrange(self.options.conversations)
            count = self.grown[tenant][place] = (self.grown[tenant][place] + 1) % ROUNDS
            canary = f"canary-{tenant}"
            messages, tools = talk(canary, place, count), list[Json]([READ])
            body: JsonObject = {"model": MODEL, "max_tokens": 200, "tools": tools, "messages": messages}
            try:
                headers = {"x-api-key": self.keys[tenant]}
                answer = await client.post("/v1/messages", content=encode_json(body), headers=headers)
            except httpx.HTTPError as error:
                self.counts[type(error).__name__] += 1
                continue
            self.counts[str(answer.status_code)] += 1
            said = set(CANARY.findall(answer.content))
            if answer.status_code == 200 and said != {canary.encode()}:
                self.counts["WRONG TENANT"] += 1

    async def watch(self) -> None:
        """The gateway's memory, each few seconds."""
        while time.monotonic() < self.ends:
            told = await asyncio.to_thread(Path(f"/proc/{self.gateway}/status").read_text, "utf-8")
            found = re.search(r"VmRSS:\s+(\d+)", told)
            now = time.monotonic() - self.began
            self.sizes.append((now, int(found[1]) if found else 0))
            calls = sum(self.counts.values())
            print(f"{now:7.0f} s  {self.sizes[-1][1] / 1024:7.1f} MiB  {calls:7d} calls", flush=True)
            await asyncio.sleep(self.options.every)


@contextmanager
def served() -> Generator[str]:
    """The upstream, on a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        server = uvicorn.Server(
            uvicorn.Config(upstream, log_level="error", access_log=False, lifespan="off", timeout_keep_alive=60)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def made_keys(file: Path, count: int) -> list[str]:
    """A key for each tenant, with limits that are counted and never reached."""
    book, keys = SqliteKeys(file), list[str]()
    limits = Limits(requests_per_minute=1_000_000, tokens_per_day=10**12, concurrent=10_000)
    for number in range(count):
        key, record = issued(Principal(tenant=f"tenant-{number}", user="u"), Grant(limits=limits), "", wall_clock())
        book.add(record)
        keys.append(key)
    book.close()
    return keys


@contextmanager
def gateway(folder: Path, origin: str, store: str | None) -> Generator[tuple[str, int]]:
    """A gateway of its own process."""
    port = free_port()
    place = f'state = "{folder}/state.sqlite3"'
    if store:
        place = 'store = "env:SOAK_STORE"\nstore_key = "env:PERDURE_STORE_KEY"'
    (folder / "gateway.toml").write_text(
        f'port = {port}\nkeys = "{folder}/keys.sqlite3"\naudit = "{folder}/audit.jsonl"\n{place}\n'
        f'[[route]]\nbase_url = "{origin}"\nauto = true\nwindow = {WINDOW}\nkey = "env:SOAK_UPSTREAM"\n',
        encoding="utf-8",
    )
    environment = {**os.environ, "SOAK_UPSTREAM": "none", "SOAK_STORE": store or ""}
    command = [sys.executable, "-m", "perdure", "serve", "--config", str(folder / "gateway.toml")]
    process = subprocess.Popen(command, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        # As soon as it listens it answers; until then connections are refused, and tried again.
        transport = httpx.HTTPTransport(retries=12)
        with httpx.Client(transport=transport, timeout=60, trust_env=False) as client:
            client.get(f"{url}/readyz").raise_for_status()
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(60)


def main() -> int:
    """Soak, and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--conversations", type=int, default=50, help="of each tenant")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=16, help="calls at one time")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two looks at the memory")
    parser.add_argument("--store", help="a PostgreSQL server for the conversations; its key in PERDURE_STORE_KEY")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, served() as origin:
        folder = Path(name)
        keys = made_keys(folder / "keys.sqlite3", options.tenants)
        with gateway(folder, origin, options.store) as (url, process):
            soak = Soak(options, url, keys, process)
            asyncio.run(soak.run())
    third = max(1, len(soak.sizes) // 3)
    parts = (soak.sizes[third : 2 * third], soak.sizes[-third:])
    middle, last = (statistics.median(size for _, size in part or [(0.0, 0)]) for part in parts)
    print(f"calls by outcome: {dict(soak.counts)}")
    print(f"resident memory: {middle / 1024:.1f} MiB in the second third of the time, {last / 1024:.1f} in the last")
    flat, right = last < middle * 1.1, set(soak.counts) <= {"200"}
    print("flat;" if flat else "IT GREW;", "nothing went wrong" if right else "SOMETHING WENT WRONG")
    return 0 if flat and right else 1


if __name__ == "__main__":
    sys.exit(main())
