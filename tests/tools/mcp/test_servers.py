"""Servers come late, go, come back and lie; a session is never delayed and its tools only grow."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from perdure.kernel.agent import Agent, AgentTool, Setup
from perdure.kernel.messages import Json, JsonObject, Tool, ToolReference, text_of
from perdure.testing.models import ScriptedModel
from perdure.tools.actions import CallServer, Harmless
from perdure.tools.failed import ToolFailed
from perdure.tools.mcp import (
    CALL,
    SEARCH,
    Connect,
    Connection,
    Notice,
    Pace,
    Server,
    ServerGone,
    Servers,
    StdioServer,
    offered,
    serving,
)
from perdure.tools.mcp.described import remotes_of
from perdure.tools.mcp.servers import CLOSE, QUOTED

T = TypeVar("T")
QUICK = Pace(connect=5.0, first=0.001, longest=0.002)
SERVER = StdioServer(name="shop", command="shop", cwd=Path("/"), seconds=5.0, secrets=("sesame",))


def tool(name: str, description: str = "") -> JsonObject:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


@dataclass
class Shop:
    """A server of which a test decides everything."""

    listed: list[JsonObject] = field(default_factory=lambda: [tool("price", "The price of a tea.")])
    answer: Callable[[str, JsonObject], Awaitable[JsonObject]] | None = None
    refuses: int = 0
    """How often it cannot be reached at first."""
    open: asyncio.Event = field(default_factory=asyncio.Event)
    reached: int = 0
    left: int = 0
    notice: Notice | None = None

    instructions: str = "Sells tea."

    async def tools(self) -> Sequence[JsonObject]:
        return self.listed

    async def call(self, name: str, arguments: JsonObject) -> JsonObject:
        if self.answer is not None:
            return await self.answer(name, arguments)
        return {"content": [{"type": "text", "text": f"{name} {arguments.get('tea', '')}".strip()}]}

    @asynccontextmanager
    async def connect(self, server: Server, notice: Notice) -> AsyncGenerator[Connection]:
        self.reached += 1
        if self.reached <= self.refuses:
            raise OSError(f"no way in for sesame at {server.name}")
        await self.open.wait()
        self.notice = notice
        try:
            yield self
        finally:
            self.left += 1


def servers_over(shop: Shop, pace: Pace = QUICK, server: Server = SERVER) -> Servers:
    return Servers([server], lambda: shop.connect, pace)


def played(act: Callable[[], Coroutine[None, None, T]]) -> T:
    return asyncio.run(act())


def with_shop(shop: Shop, act: Callable[[Servers], Coroutine[None, None, T]], *, server: Server = SERVER) -> T:
    """Do something with a server that is reached."""

    async def go() -> T:
        shop.open.set()
        async with serving(servers_over(shop, server=server)) as servers:
            await servers.settled(5)
            return await act(servers)

    return played(go)


async def use(servers: Servers, name: str, arguments: Json) -> str:
    """What the model reads of a call, or `Error:` and why not."""
    try:
        result = await run(servers, CALL, {"tool": name, "arguments": arguments})
    except ToolFailed as error:
        return f"Error: {error}"
    return result


async def search(servers: Servers, query: str) -> str:
    try:
        return await run(servers, SEARCH, {"query": query})
    except ToolFailed as error:
        return f"Error: {error}"


async def run(servers: Servers, name: str, given: JsonObject) -> str:
    (each,) = [each for each in offered(servers) if each.tool.definition.name == name]
    result = each.tool.run(given)
    blocks = result if isinstance(result, str | tuple) else await result
    return blocks if isinstance(blocks, str) else text_of(blocks)


async def changed(servers: Servers, until: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not until():
            await servers.changed.wait()
            servers.changed.clear()


def test_a_session_begins_while_its_servers_are_still_on_their_way() -> None:
    async def go() -> tuple[int, tuple[str, ...], list[str]]:
        shop = Shop()
        async with serving(servers_over(shop)) as servers:
            early = len(servers.remotes), servers.starting
            shop.open.set()
            await changed(servers, lambda: bool(servers.remotes))
            return *early, [each.definition.name for each in servers.remotes]

    assert (0, ("shop",), ["mcp__shop__price"]) == played(go)


def test_a_search_waits_for_a_server_that_is_on_its_way() -> None:
    async def go() -> str:
        shop = Shop()
        async with serving(servers_over(shop)) as servers, asyncio.TaskGroup() as group:
            asked = group.create_task(search(servers, "tea price"))
            group.create_task(asyncio.to_thread(lambda: None)).add_done_callback(lambda _: shop.open.set())
            return await asked

    assert played(go).startswith("mcp__shop__price: [of the MCP server shop] The price of a tea.\nArguments")


def test_a_server_that_comes_in_the_middle_of_a_run_is_used_and_moves_no_byte_of_the_tools() -> None:
    script = """
        call wait {}
        ---
        call tool_search {"query": "tea"}
        ---
        call tool_call {"tool": "mcp__shop__price", "arguments": {"tea": "Assam"}}
        ---
        say Done.
    """

    async def go() -> tuple[list[str], bool]:
        shop, model = Shop(), ScriptedModel(script)
        async with serving(servers_over(shop)) as servers:

            async def wait(_given: JsonObject) -> str:
                shop.open.set()
                return "It comes."

            definition = Tool(name="wait", schema={"type": "object"})
            found = tuple(each.tool for each in offered(servers))
            agent = Agent(model, Setup(tools=(AgentTool(definition=definition, run=wait), *found)))
            await agent.run("How much is Assam?")
        results = [text_of(message.content) for message in agent.transcript if message.tool_results]
        return [result[:21] for result in results], all(ask.tools == model.asked[0].tools for ask in model.asked)

    assert (["It comes.", "mcp__shop__price: [of", "price Assam"], True) == played(go)


def test_a_tool_that_a_search_found_can_be_called() -> None:
    assert "price Assam" == with_shop(Shop(), lambda servers: use(servers, "mcp__shop__price", {"tea": "Assam"}))


def test_arguments_that_a_model_wrote_as_text_are_read() -> None:
    assert "price Oolong" == with_shop(Shop(), lambda servers: use(servers, "mcp__shop__price", '{"tea": "Oolong"}'))


def test_tools_only_grow_and_keep_their_place_and_words() -> None:
    shop = Shop(listed=[tool("b", "first"), tool("z")])

    async def act(servers: Servers) -> list[str]:
        assert shop.notice is not None
        shop.listed = [tool("a"), tool("b", "another"), tool("c")]
        shop.notice.changed()
        await changed(servers, lambda: len(servers.remotes) == 4)
        return [f"{each.tool} {each.definition.description}" for each in servers.remotes]

    of = "[of the MCP server shop]"

    assert [f"b {of} first", f"z {of}", f"a {of}", f"c {of}"] == with_shop(shop, act)


def test_a_tool_that_vanished_fails_with_a_message_that_names_it() -> None:
    shop = Shop(listed=[tool("price"), tool("new")])

    async def act(servers: Servers) -> str:
        assert shop.notice is not None
        shop.listed = [tool("new")]
        shop.notice.changed()
        await changed(servers, lambda: servers.standings[0].tools == 1)
        return await use(servers, "mcp__shop__price", {})

    assert "Error: The MCP server 'shop' no longer offers 'price'" in with_shop(shop, act)


def test_definitions_are_deferred_so_that_they_cost_no_cached_byte() -> None:
    async def act(servers: Servers) -> list[tuple[str, bool]]:
        return [(each.name, each.deferred) for each in servers.definitions]

    assert [("mcp__shop__price", True)] == with_shop(Shop(), act)


def test_where_the_provider_loads_tools_by_name_a_search_answers_with_references() -> None:
    async def act(servers: Servers) -> object:
        found = offered(servers, lambda: {"mcp__shop__price"})[0].tool.run({"query": "select:mcp__shop__price"})
        return found if isinstance(found, str | tuple) else await found

    assert (ToolReference(tool_name="mcp__shop__price"),) == with_shop(Shop(), act)


def test_a_server_that_goes_during_a_call_is_reached_again_for_the_next_one() -> None:
    shop = Shop()

    async def gone(_name: str, _arguments: JsonObject) -> JsonObject:
        shop.answer = None
        raise ServerGone("connection closed, sesame")

    shop.answer = gone

    async def act(servers: Servers) -> tuple[str, str]:
        return await use(servers, "mcp__shop__price", {}), await use(servers, "mcp__shop__price", {"tea": "Assam"})

    first, second = with_shop(shop, act)

    assert "Error: The MCP server 'shop' went away before it answered (connection closed, [hidden])" in first
    assert ("price Assam", 2) == (second, shop.reached)


def test_a_server_that_refuses_at_first_is_tried_again() -> None:
    async def go() -> int:
        shop = Shop(refuses=3)
        shop.open.set()
        async with serving(servers_over(shop)) as servers:
            await changed(servers, lambda: servers.standings[0].state == "ready")
        return shop.reached

    assert 4 == played(go)


def test_a_server_that_never_comes_rests_and_is_tried_again_when_it_is_called() -> None:
    async def go() -> tuple[str, int, str]:
        shop = Shop(refuses=1_000)
        async with serving(servers_over(shop, Pace(first=0.0, longest=0.0, tries=3))) as servers:
            await changed(servers, lambda: servers.standings[0].state == "resting")
            rested = shop.reached
            with pytest.raises(ToolFailed) as caught:
                await servers.call(remotes_of("shop", [tool("price")])[0], {})
            return servers.standings[0].problem, shop.reached - rested, str(caught.value)

    problem, tried, said = played(go)

    assert ("OSError: no way in for [hidden] at shop", 1) == (problem, tried)
    assert "cannot be reached: OSError: no way in for [hidden] at shop" in said


def test_a_server_that_comes_and_falls_over_at_once_is_not_started_for_ever() -> None:
    async def go() -> int:
        shop = Shop()
        shop.open.set()
        async with serving(servers_over(shop, Pace(first=0.0, longest=0.0, tries=3))) as servers:
            while servers.standings[0].state != "resting":
                await servers.changed.wait()
                servers.changed.clear()
                if servers.standings[0].state == "ready" and shop.notice is not None:
                    shop.notice.lost()
        return shop.reached

    assert 4 == played(go)


def test_closing_does_not_wait_for_a_server_that_is_still_on_its_way() -> None:
    async def go() -> None:
        shop = Shop()
        async with asyncio.timeout(CLOSE / 2), serving(servers_over(shop, Pace(connect=60))) as servers:
            while not shop.reached:
                await asyncio.to_thread(lambda: None)
            assert ("shop",) == servers.starting

    played(go)


def test_a_call_that_takes_too_long_is_cancelled_and_says_so() -> None:
    shop, seen = Shop(), list[str]()

    async def slow(_name: str, _arguments: JsonObject) -> JsonObject:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return {}

    shop.answer = slow
    hasty = StdioServer(name="shop", command="shop", cwd=Path("/"), seconds=0.01)

    said = with_shop(shop, lambda servers: use(servers, "mcp__shop__price", {}), server=hasty)

    assert "did not answer within 0.01 seconds. The call was cancelled" in said
    assert ["cancelled"] == seen


def test_an_error_of_the_tool_is_an_error_for_the_model_without_secrets() -> None:
    shop = Shop()

    async def fail(_name: str, _arguments: JsonObject) -> JsonObject:
        return {"content": [{"type": "text", "text": "no tea today for sesame"}], "isError": True}

    shop.answer = fail

    assert "Error: no tea today for [hidden]" == with_shop(shop, lambda servers: use(servers, "mcp__shop__price", {}))


def test_an_unknown_tool_is_refused_with_what_is_like_it() -> None:
    said = with_shop(Shop(), lambda servers: use(servers, "price", {}))

    assert said.startswith("Error: There is no tool 'price'; there is: mcp__shop__price.")


def test_a_search_describes_as_many_tools_as_there_is_room_for_and_names_the_others() -> None:
    many = [tool(f"tea{n}", f"Brews tea. {'w' * 5_000}") for n in range(4)]
    for each in many:
        each["inputSchema"] = {"type": "object", "properties": {"kind": {"enum": ["x" * 300 for _ in range(12)]}}}

    said = with_shop(Shop(listed=many), lambda servers: search(servers, "tea"))

    assert [True, True, False, False] == [f"mcp__shop__tea{n}: [of" in said for n in range(4)]
    assert "mcp__shop__tea3: search for select:mcp__shop__tea3 to see it." in said


def test_a_search_that_finds_nothing_names_what_there_is() -> None:
    said = with_shop(Shop(), lambda servers: search(servers, "weather"))

    assert "Error: No tool fits 'weather'. There are: mcp__shop__price." == said


def test_permissions_are_told_which_server_and_tool_a_call_reaches() -> None:
    async def act(servers: Servers) -> list[object]:
        call = offered(servers)[1]
        direct = servers.offered()[0]
        return [
            call.actions({"tool": "mcp__shop__price"}),
            call.actions({"tool": "mcp__shop__nothing"}),
            call.actions({"tool": 7}),
            direct.actions({}),
        ]

    reaches = (CallServer(server="shop", tool="price"),)

    assert [reaches, (Harmless(),), (Harmless(),), reaches] == with_shop(Shop(), act)


def test_what_a_server_says_about_itself_is_an_overlay_that_says_whose_word_it_is() -> None:
    async def act(servers: Servers) -> Mapping[str, str]:
        return servers.instructions

    assert {"mcp shop": f"{QUOTED}\n\nSells tea."} == with_shop(Shop(), act)


def test_closing_leaves_every_connection() -> None:
    shop = Shop()

    async def act(servers: Servers) -> str:
        return servers.standings[0].state

    assert ("ready", 1) == (with_shop(shop, act), shop.left)


def test_without_the_sdk_a_server_says_what_to_install_and_nothing_breaks() -> None:
    def missing() -> Connect:
        raise ImportError("No module named 'mcp'")

    async def go() -> str:
        async with serving(Servers([SERVER], missing)) as servers:
            await servers.settled(5)
            return servers.standings[0].problem

    assert "pip install 'perdure[mcp]'" in played(go)


def test_the_sdk_is_not_imported_with_the_package() -> None:
    ask = "import sys, perdure.tools.mcp; print({'mcp', 'anyio', 'pydantic', 'httpx2'} & set(sys.modules))"

    assert "set()\n" == subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout


def test_without_a_server_the_sdk_is_not_loaded() -> None:
    def load() -> Connect:
        raise AssertionError("loaded")

    async def go() -> tuple[str, ...]:
        async with serving(Servers([], load)) as servers:
            await servers.settled(5)
            return servers.starting

    assert () == played(go)
