"""Two replicas behind a balancer, on a real PostgreSQL: one is killed in the middle of streams, one is drained, the
database starts again. Nobody gets what is somebody else's, nothing that was acknowledged is lost, and who has no key
reaches nothing."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway.grants import Grant, Limits
from perdure.gateway.keys import issued
from perdure.gateway.postgres_keys import PostgresKeys
from perdure.gateway.postgres_pool import Pool
from perdure.kernel.messages import encode_json
from perdure.memory import Principal
from perdure.testing.doubles import serve

MODEL = "claude-sonnet-4-6"
TENANTS = 4
PATIENCE = 90
"""Seconds that anything may take on a machine that has other things to do; most take less than one."""
LONGEST = 14
"""Rounds: more than the window holds."""
STORE_KEY = "made-up-key-of-the-store-0123456789"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
CANARY = re.compile(r"canary-of-\d+")
SETTINGS = """
port = {port}
store = "env:STORE"
store_key = "env:STORE_KEY"
drain_notice = 0.5
[[route]]
model = "claude-*"
base_url = "{upstream}"
key = "env:UPSTREAM_KEY"
auto = true
window = 9000
[[route]]
model = "none"
base_url = "{upstream}"
memory = true
"""


class Upstream:
    """Answers with the canaries of the request, in pieces; keeps what came."""

    def __init__(self) -> None:
        self.received: list[tuple[list[str], Any]] = []
        self.streaming = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw, more = b"", True
        while more:
            message = await receive()
            raw, more = raw + message.get("body", b""), message.get("more_body", False)
        body = json.loads(raw)
        found = sorted(set(CANARY.findall(raw.decode())))
        self.received.append((found, body))
        pieces = [*found, "and", "so", "on"]
        if body.get("stream"):
            await self._stream(pieces, send)
            return
        answer = encode_json({
            "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn",
            "stop_sequence": None, "content": [{"type": "text", "text": " ".join(pieces)}],
            "usage": {"input_tokens": len(raw) // 4, "output_tokens": 5},
        })  # fmt: skip
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _stream(self, pieces: list[str], send: Send) -> None:
        message: Any = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 900, "output_tokens": 1},
        }  # fmt: skip
        events: list[Any] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{piece} "}}
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        self.streaming += 1
        try:
            headers = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            for event in events:
                raw = b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encode_json(event))
                await send({"type": "http.response.body", "body": raw, "more_body": True})
                # Long enough to be in the middle of: a model takes its time.
                await asyncio.sleep(0.03)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.streaming -= 1


class Replica:
    """A gateway in a process of its own."""

    def __init__(self, folder: Path, upstream: str, store: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.file = folder / f"{self.port}.toml"
        self.file.write_text(SETTINGS.format(port=self.port, upstream=upstream))
        self.environment = {**os.environ, "STORE": store, "STORE_KEY": STORE_KEY, "UPSTREAM_KEY": "up"}
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "perdure", "serve", "--config", str(self.file)]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ready(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        with suppress(OSError), closing(writer):
            writer.write(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            return (await reader.read()).startswith(b"HTTP/1.1 200")
        return False

    async def gone(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE)


class Balancer:
    """Connections, each to a replica that says that it is ready, in turn."""

    def __init__(self, replicas: list[Replica]) -> None:
        self.replicas, self.turn = replicas, 0
        self.up: dict[int, bool] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        async with server, asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch())
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            for replica in self.replicas:
                self.up[replica.port] = await replica.ready()
            await asyncio.sleep(0.2)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            found = await self._replica()
            if found is not None:
                await asyncio.gather(_pumped(reader, found[1]), _pumped(found[0], writer))

    async def _replica(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in range(2):
            self.turn += 1
            replica = self.replicas[self.turn % 2]
            if self.up.get(replica.port):
                with suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", replica.port)
        return None


async def _pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with closing(writer), suppress(OSError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()


def asking(canary: str, count: int) -> Any:
    return {"model": MODEL, "max_tokens": 200, "tools": [READ], "messages": talk(canary, count)}


def talk(canary: str, count: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": f"Read. {canary}"}]
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
        text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def whole_results(body: Any) -> set[str]:
    """Calls whose results stand in a request as they were."""
    said = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    results = [block for content in said for block in content if block["type"] == "tool_result"]
    return {block["tool_use_id"] for block in results if "value = " in str(block["content"])}


class Tenant:
    """One that asks as long as it may, and again where it was not answered."""

    def __init__(self, number: int, key: str, url: str) -> None:
        self.canary, self.key, self.url = f"canary-of-{number}", key, url
        self.count = self.answered = self.broken = 0
        self.wrong: list[str] = []
        self.noted: list[str] = []

    async def run(self, over: asyncio.Event) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE, headers={"x-api-key": self.key}) as client:
            while not over.is_set():
                done = await self._asked(client, stream=self.answered % 2 == 0)
                if done:
                    self.count = min(self.count + 1, LONGEST)
                    self.answered += 1
                    await self._note(client)
                    # They read what they got.
                    await asyncio.sleep(0.05)
                else:
                    self.broken += 1
                    await asyncio.sleep(0.05)

    async def _asked(self, client: httpx.AsyncClient, *, stream: bool) -> bool:
        body = {
            "model": MODEL,
            "max_tokens": 200,
            "tools": [READ],
            "messages": talk(self.canary, self.count),
            "stream": stream,
        }
        try:
            answer = await client.post(f"{self.url}/v1/messages", json=body, headers={"connection": "close"})
        except httpx.HTTPError:
            return False
        if answer.status_code >= 500:
            return False
        text = answer.text
        if answer.status_code != 200 or set(CANARY.findall(text)) != {self.canary}:
            self.wrong.append(f"{answer.status_code} {text[:200]}")
        return not stream or "message_stop" in text

    async def _note(self, client: httpx.AsyncClient) -> None:
        """Write something down; it is acknowledged, or it is not."""
        path = f"notes/{self.answered}.md"
        arguments = {"command": "create", "path": f"/memories/{path}", "file_text": self.canary}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory", "arguments": arguments}}
        headers = {"accept": "application/json, text/event-stream", "connection": "close"}
        with suppress(httpx.HTTPError):
            answer = await client.post(f"{self.url}/mcp", json=call, headers=headers)
            if "File created successfully" in answer.text:
                self.noted.append(path)


async def strangers(url: str, over: asyncio.Event, told: list[int]) -> None:
    """Ask without a key, and with made-up ones."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        while not over.is_set():
            for shown in ({}, {"x-api-key": f"pdk_0000000000000000_{'A' * 43}"}):
                body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "stranger"}]}
                with suppress(httpx.HTTPError):
                    told.append((await client.post(f"{url}/v1/messages", json=body, headers=shown)).status_code)


@pytest.fixture
def replicas(database: Any, tmp_path: Path) -> Iterator[tuple[Upstream, list[Replica]]]:
    with ExitStack() as stack:
        upstream = Upstream()
        address = stack.enter_context(serve(upstream))
        made = [Replica(tmp_path, address, database.application) for _ in range(2)]
        yield upstream, made
        for replica in made:
            replica.process.kill()
            replica.process.wait(10)


def keys_for(owner: str) -> list[str]:
    pool, keys = Pool(conninfo=owner, key=b""), list[str]()
    grant = Grant(limits=Limits(concurrent=50, tokens_per_day=10**9))
    for number in range(TENANTS):
        key, record = issued(Principal(tenant=f"tenant-{number}", user="u"), grant, "", 1.0)
        PostgresKeys(pool).add(record)
        keys.append(key)
    pool.close()
    return keys


async def until(true: Callable[[], bool | Awaitable[bool]], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while True:
            found = true()
            if found is True or (not isinstance(found, bool) and await found):
                return
            await asyncio.sleep(0.02)


class Run:
    """What is done to the replicas while tenants ask."""

    def __init__(self, database: Any, upstream: Upstream, replicas: list[Replica]) -> None:
        self.database, self.upstream, self.replicas = database, upstream, replicas
        self.tenants: list[Tenant] = []
        self.turned_away: list[int] = []
        self.lost_by_draining = -1
        self.ended = -1
        self.outage = (0, 0)
        """The first request of the time in which the database was gone, and the first behind it."""

    async def run(self, keys: list[str]) -> None:
        over = asyncio.Event()
        for replica in self.replicas:
            await until(replica.ready)
        async with Balancer(self.replicas).serving() as url, asyncio.TaskGroup() as group:
            self.tenants = [Tenant(number, key, url) for number, key in enumerate(keys)]
            for tenant in self.tenants:
                group.create_task(tenant.run(over))
            stranger = group.create_task(strangers(url, over, self.turned_away))
            await self._disturb()
            over.set()
            stranger.cancel()

    async def _disturb(self) -> None:
        one, two = self.replicas
        await self._more(8)
        first = len(self.upstream.received)
        await asyncio.to_thread(self.database.stop)
        await asyncio.to_thread(self.database.start)
        for replica in self.replicas:
            await until(replica.ready)
        # What was asked in between may still be under way: one call of each.
        self.outage = (first, len(self.upstream.received) + TENANTS)
        await self._more(12)
        before = sum(tenant.broken for tenant in self.tenants)
        one.process.send_signal(signal.SIGTERM)
        self.ended = await one.gone()
        self.lost_by_draining = sum(tenant.broken for tenant in self.tenants) - before
        one.start()
        await until(one.ready)
        await self._more(8)
        await until(lambda: self.upstream.streaming >= 2)
        two.process.send_signal(signal.SIGKILL)
        await two.gone()
        await self._more(16)

    async def _more(self, count: int) -> None:
        wanted = sum(tenant.answered for tenant in self.tenants) + count
        await until(lambda: sum(tenant.answered for tenant in self.tenants) >= wanted)


@pytest.mark.timeout(400)
def test_replicas_that_are_killed_drained_and_cut_off_lose_nothing_and_mix_nothing_up(
    database: Any, replicas: tuple[Upstream, list[Replica]], front: Callable[..., Any]
) -> None:
    upstream, made = replicas
    keys = keys_for(database.owner)
    run = Run(database, upstream, made)
    asyncio.run(run.run(keys))
    # A third replica, which has never seen any of it, decides what the one decides that is left.
    store: dict[str, Any] = {"store": database.application, "store_key": STORE_KEY}
    third = front(upstream, auto=True, window=9_000, key="up", config=store)
    for tenant in run.tenants:
        for url in (made[0].url, third.url):
            answer = httpx.post(
                f"{url}/v1/messages", json=asking(tenant.canary, LONGEST), headers={"x-api-key": tenant.key}
            )
            assert 200 == answer.status_code
    last = [body["messages"] for _, body in upstream.received[-2 * TENANTS :]]
    with psycopg.connect(database.owner) as connection:
        rows = connection.execute("select tenant, path, body from perdure.memory_file").fetchall()
    kept = {(str(tenant), str(path)): str(body) for tenant, path, body in rows}
    noted = [(f"tenant-{place}", path) for place, tenant in enumerate(run.tenants) for path in tenant.noted]

    assert [] == [wrong for tenant in run.tenants for wrong in tenant.wrong]
    assert {1} == {len(found) for found, _ in upstream.received}
    assert {401, 503} >= set(run.turned_away) >= {401}
    assert [] == [body for _, body in upstream.received if "stranger" in str(body)]
    assert len(noted) > TENANTS
    assert [] == [note for note in noted if kept.get(note) != f"canary-of-{note[0][-1]}"]
    assert (0, 0) == (run.lost_by_draining, run.ended)
    assert sum(tenant.broken for tenant in run.tenants) > 0
    assert last[::2] == last[1::2]
    assert all(len(whole_results({"messages": messages})) < LONGEST for messages in last)
    assert [] == brought_back(upstream, run.outage)


def brought_back(upstream: Upstream, outage: tuple[int, int]) -> list[str]:
    """Results that were cleared in one request and stood whole in a later one of the same tenant: a decision was lost.
    While the database is gone, a replica that does not hold a conversation sends it as it came."""
    lost: list[str] = []
    seen: dict[str, set[str]] = {}
    gone: dict[str, set[str]] = {}
    for place, (found, body) in enumerate(upstream.received):
        if outage[0] <= place < outage[1] or "Harness request" in str(body["messages"][-1]):
            continue
        name, whole = found[0], whole_results(body)
        lost += [f"{place} {name} {one}" for one in whole & gone.get(name, set())]
        gone.setdefault(name, set()).update(seen.get(name, set()) - whole)
        seen.setdefault(name, set()).update(whole)
    return lost
