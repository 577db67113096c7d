"""Real servers over real pipes and sockets: some written with the official SDK, some that keep no rule."""

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from perdure.kernel.messages import Block, Json, JsonObject, Text, text_of
from perdure.kernel.messages import Image as Picture
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp import Pace, Servers, official, pipe, sdk, servers_of, serving

T = TypeVar("T")

WITH_SDK = """
import asyncio, os, sys
from mcp.server.mcpserver import MCPServer, Context
app = MCPServer("shop", instructions="Sells tea.")

@app.tool()
def price(tea: str) -> str:
    '''The price of a tea.'''
    return f"{tea}: 3 EUR"

@app.tool()
async def slow() -> str:
    try:
        await asyncio.sleep(600)
    finally:
        print("the sale was called off", file=sys.stderr, flush=True)

@app.tool()
def fail() -> str:
    raise ValueError("no tea today")

@app.tool()
async def grow(ctx: Context) -> str:
    app.add_tool(lambda: "new", name="new", description="A new tool.")
    app.remove_tool("price")
    await ctx.notify_tools_changed()
    return "grown"

app.run("stdio")
"""

WITHOUT_RULES = """
import json, os, signal, subprocess, sys
how = sys.argv[1]
out = sys.stdout.buffer

def say(message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"); out.flush()

if how == "mute":
    sys.stdin.read()
if how == "stillborn":
    sys.exit("there is no tea in this house")
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    with open(sys.argv[2], "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
if how == "chatty":
    sys.stderr.write("tea " * 1_000_000); sys.stderr.flush()
tools = [{"name": "price", "inputSchema": {"type": "object"}}]
asked = 0
while line := sys.stdin.readline():
    request = json.loads(line)
    name, id = request.get("method"), request.get("id")
    if how == "noisy":
        out.write(b"Welcome!\\n{\\n[1, 2\\n\\xff\\xfe\\n\\n")
        say({"id": "another", "result": 1})
    if name == "initialize":
        say({"id": id, "result": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "raw", "version": "1"},
                                  "capabilities": {"tools": {"listChanged": True}}}})
    elif name == "tools/list":
        asked += 1
        more = {"nextCursor": str(asked)} if how == "endless list" else {}
        many = [{"name": f"t{asked}", "inputSchema": {"type": "object"}}] if how == "endless list" else tools
        say({"id": id, "result": {"tools": many, **more}})
    elif name == "tools/call":
        if how == "crash":
            os._exit(3)
        if how == "endless line":
            out.write(b"x" * int(sys.argv[2])); out.flush()
            continue
        if how == "vanish":
            tools = []
            say({"method": "notifications/tools/list_changed"})
        if how == "no result":
            say({"id": id, "result": {"content": "tea"}})
            continue
        say({"id": id, "result": {"content": [{"type": "text", "text": "3 EUR"}]}})
    elif id is not None:
        say({"id": id, "error": {"code": -32601, "message": "no such method"}})
if how == "stubborn":
    import time
    time.sleep(600)
"""


class Tea:
    """Servers under test, and what a model would read of a call."""

    def __init__(self, servers: Servers, logs: Path) -> None:
        self.servers, self.logs = servers, logs

    async def use(self, tool: str, arguments: JsonObject | None = None) -> str:
        try:
            return text_of(await self.blocks(tool, arguments))
        except ToolFailed as error:
            return f"Error: {error}"

    async def blocks(self, tool: str, arguments: JsonObject | None = None) -> tuple[Block, ...]:
        remote = next(each for each in self.servers.remotes if each.tool == tool)
        return await self.servers.call(remote, arguments or {})

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not reached():
                await self.servers.changed.wait()
                self.servers.changed.clear()

    @property
    def names(self) -> list[str]:
        return [remote.tool for remote in self.servers.remotes]

    def log(self) -> str:
        return (self.logs / "mcp-shop.log").read_text(encoding="utf-8")


def with_server(given: Json, logs: Path, act: Callable[[Tea], Coroutine[None, None, T]], pace: Pace | None = None) -> T:
    """Do something with a server that is reached, or could not be."""

    async def go() -> T:
        found = servers_of({"shop": given}, dict(os.environ), logs)
        servers = Servers(found, sdk(logs), pace or Pace(first=0.01))
        async with asyncio.timeout(60), serving(servers):
            await servers.settled(30)
            return await act(Tea(servers, logs))

    return asyncio.run(go())


def raw(how: str, *more: str, **settings: Json) -> JsonObject:
    return {"command": sys.executable, "args": ["-S", "-c", WITHOUT_RULES, how, *more], **settings}


async def problem_of(tea: Tea) -> str:
    return tea.servers.standings[0].problem


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for somebody to notice does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


def test_a_server_of_the_sdk_is_listed_called_cancelled_and_grows(tmp_path: Path) -> None:
    async def act(tea: Tea) -> list[str]:
        said = [await tea.use("price", {"tea": "Assam"}), await tea.use("fail")]
        async with asyncio.TaskGroup() as group:
            running = group.create_task(tea.use("slow"))
            said.append(await tea.use("price", {"tea": "Oolong"}))
            running.cancel()
        said.append(await tea.use("grow"))
        await tea.until(lambda: "new" in tea.names)
        while "the sale was called off" not in tea.log():
            await tea.use("fail")
        return [*said, await tea.use("new"), await tea.use("price", {"tea": "Assam"}), *tea.names]

    said = with_server({"command": sys.executable, "args": ["-c", WITH_SDK]}, tmp_path, act)

    assert [
        "Assam: 3 EUR",
        "Error: Error executing tool fail",
        "Oolong: 3 EUR",
        "grown",
        "new",
        "Error: The MCP server 'shop' no longer offers 'price'. Do not call it again; search for another tool, "
        "or do without.",
        "fail",
        "grow",
        "price",
        "slow",
        "new",
    ] == said


def test_lines_that_are_no_messages_are_passed_over(tmp_path: Path) -> None:
    assert "3 EUR" == with_server(raw("noisy"), tmp_path, lambda tea: tea.use("price"))


def test_a_server_that_crashes_in_a_call_fails_that_call_and_comes_back(tmp_path: Path) -> None:
    async def act(tea: Tea) -> tuple[str, list[str], str]:
        first = await tea.use("price")
        await tea.until(lambda: tea.servers.standings[0].state == "ready")
        return first, tea.names, tea.servers.standings[0].state

    said, names, state = with_server(raw("crash"), tmp_path, act)

    assert "went away before it answered" in said
    assert (["price"], "ready") == (names, state)


def test_a_line_without_an_end_ends_the_connection_and_fills_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe, "LINE", 1_000_000)

    assert "went away before it answered" in with_server(
        raw("endless line", "3000000"), tmp_path, lambda tea: tea.use("price")
    )


def test_a_list_without_an_end_is_read_so_far(tmp_path: Path) -> None:
    async def act(tea: Tea) -> int:
        return len(tea.names)

    assert official.PAGES == with_server(raw("endless list"), tmp_path, act)


def test_a_tool_that_vanishes_says_so(tmp_path: Path) -> None:
    async def act(tea: Tea) -> list[str]:
        first = await tea.use("price")
        await tea.until(lambda: tea.servers.standings[0].tools == 0)
        return [first, (await tea.use("price"))[:60]]

    assert ["3 EUR", "Error: The MCP server 'shop' no longer offers 'price'. Do no"] == with_server(
        raw("vanish"), tmp_path, act
    )


def test_an_answer_that_is_no_result_is_an_error(tmp_path: Path) -> None:
    assert "Error: " == with_server(raw("no result"), tmp_path, lambda tea: tea.use("price"))[:7]


def test_a_server_that_says_nothing_is_given_up_in_time(tmp_path: Path) -> None:
    pace = Pace(connect=0.2, first=30.0)

    assert "it did not answer in time" == with_server(raw("mute"), tmp_path, problem_of, pace)


def test_a_server_that_ends_at_once_is_quoted_without_its_secrets(tmp_path: Path) -> None:
    said = with_server(raw("stillborn", env={"KEY": "house-of-tea"}), tmp_path, problem_of, Pace(first=30.0))

    assert "its last words: there is no tea in this house" in said


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = with_server({"command": "no-such-tea"}, tmp_path, problem_of, Pace(first=30.0))

    assert "FileNotFoundError: [Errno 2] No such file or directory: 'no-such-tea'" == said


def test_what_a_server_mutters_goes_to_a_bounded_file_and_never_to_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "3 EUR" == with_server(raw("chatty"), tmp_path, lambda tea: tea.use("price"))
    assert (pipe.KEPT, 0o600) == (
        (tmp_path / "mcp-shop.log").stat().st_size,
        (tmp_path / "mcp-shop.log").stat().st_mode & 0o777,
    )
    assert ("", "") == tuple(capfd.readouterr())


def test_a_server_that_will_not_end_is_killed_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe, "PATIENCE", 0.1)
    numbers = tmp_path / "numbers"

    assert "3 EUR" == with_server(raw("stubborn", str(numbers)), tmp_path, lambda tea: tea.use("price"))
    assert [False, False] == [alive(int(pid)) for pid in numbers.read_text(encoding="utf-8").split()]


def test_a_session_that_is_cancelled_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "PATIENCE", 0.1)
    numbers = tmp_path / "numbers"

    async def act(_tea: Tea) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        with_server(raw("stubborn", str(numbers)), tmp_path, act)

    assert [False, False] == [alive(int(pid)) for pid in numbers.read_text(encoding="utf-8").split()]


def shop(began: threading.Event | None = None, ended: threading.Event | None = None) -> MCPServer:
    app = MCPServer("shop")

    @app.tool()
    async def slow() -> str:
        if began is not None:
            began.set()
        try:
            await asyncio.Event().wait()
        finally:
            if ended is not None:
                ended.set()
        return ""

    @app.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @app.tool()
    def picture() -> Image:
        return Image(data=b"\x89PNG made up", format="png")

    @app.tool()
    def giant() -> str:
        return "tea " * 1_000_000

    @app.tool()
    async def grow(ctx: Context) -> str:
        app.add_tool(lambda: "new", name="new")
        await ctx.notify_tools_changed()
        return "grown"

    for each in (add, slow, picture, giant, grow):
        assert callable(each)
    return app


class Door:
    """The application, with what came through it and whether it lets anybody in."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.open, self.keys = app, True, set[bytes]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.keys |= {value for name, value in scope["headers"] if name == b"authorization"}
            if not self.open:
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self.app(scope, receive, send)


@asynccontextmanager
async def web(door: Door, listener: socket.socket) -> AsyncGenerator[None]:
    config = uvicorn.Config(
        door, loop="asyncio", http="h11", ws="none", log_config=None, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    # uvicorn takes the signals of the process, which are the test's own.
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, 10)


def over_http(door: Door, logs: Path, act: Callable[[Tea], Coroutine[None, None, T]]) -> T:
    async def go() -> T:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            given: JsonObject = {"url": url, "headers": {"Authorization": "Bearer ${TEA}"}, "timeout": 10}
            servers = Servers(servers_of({"shop": given}, {"TEA": "open-sesame"}, logs), sdk(logs), Pace(first=0.01))
            async with asyncio.timeout(60), web(door, listener), serving(servers):
                await servers.settled(30)
                return await act(Tea(servers, logs))

    return asyncio.run(go())


def test_over_http_tools_are_called_with_the_headers_and_answers_keep_their_kind(tmp_path: Path) -> None:
    door = Door(shop().streamable_http_app())

    async def act(tea: Tea) -> tuple[str, list[str], int]:
        total = await tea.use("add", {"a": 1, "b": 2})
        (picture,) = await tea.blocks("picture")
        (text,) = await tea.blocks("giant")
        assert isinstance(picture, Picture)
        assert isinstance(text, Text)
        return total, [str(picture.source["media_type"])], len(text.text)

    total, kinds, length = over_http(door, tmp_path, act)

    assert ("3", ["image/png"], True, {b"Bearer open-sesame"}) == (total, kinds, length < 300_000, door.keys)


def test_over_http_a_call_that_is_interrupted_ends_at_the_server(tmp_path: Path) -> None:
    began, ended = threading.Event(), threading.Event()

    async def act(tea: Tea) -> bool:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(tea.use("slow"))
            await asyncio.to_thread(began.wait, 20)
            running.cancel()
        return await asyncio.to_thread(ended.wait, 20)

    assert over_http(Door(shop(began, ended).streamable_http_app()), tmp_path, act) is True


def test_over_http_a_server_that_was_started_anew_is_asked_for_its_tools_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(official, "AGAIN", 0.0)
    another = MCPServer("another")
    another.add_tool(lambda: "brewed", name="brew")

    async def go() -> str:
        with socket.create_server(("127.0.0.1", 0)) as first:
            place = first.getsockname()
            given: JsonObject = {"url": f"http://127.0.0.1:{place[1]}/mcp"}
            servers = Servers(servers_of({"shop": given}, {}, tmp_path), sdk(tmp_path), Pace(first=0.01, tries=1_000))
            async with asyncio.timeout(60), serving(servers):
                tea = Tea(servers, tmp_path)
                async with web(Door(shop().streamable_http_app()), first):
                    await servers.settled(30)
                with socket.create_server(place) as second:
                    async with web(Door(another.streamable_http_app()), second):
                        await tea.until(lambda: "brew" in tea.names)
                        return await tea.use("brew")

    assert "brewed" == asyncio.run(go())


def test_over_http_an_answer_that_is_too_long_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "LINE", 1_000_000)

    said = over_http(Door(shop().streamable_http_app(json_response=True)), tmp_path, lambda tea: tea.use("giant"))

    assert "the answer is longer than 1,000,000 bytes" in said


def test_over_http_tools_grow_as_well(tmp_path: Path) -> None:
    async def act(tea: Tea) -> str:
        await tea.use("grow")
        await tea.until(lambda: "new" in tea.names)
        return await tea.use("new")

    assert "new" == over_http(Door(shop().streamable_http_app()), tmp_path, act)


def test_a_server_that_no_longer_lets_us_in_fails_without_telling_the_key(tmp_path: Path) -> None:
    door = Door(shop().streamable_http_app())

    async def act(tea: Tea) -> str:
        door.open = False
        return await tea.use("add", {"a": 1, "b": 2})

    said = over_http(door, tmp_path, act)

    assert ("Error: ", False) == (said[:7], "sesame" in said)


def test_an_address_where_nobody_listens_delays_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    began = time.monotonic()

    said = with_server({"url": f"http://127.0.0.1:{port}/mcp"}, tmp_path, problem_of, Pace(first=30.0))

    assert ("ConnectError: All connection attempts failed", True) == (said, time.monotonic() - began < 15)
