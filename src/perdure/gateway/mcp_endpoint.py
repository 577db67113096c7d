"""`/mcp`: memory and recall for any client of the Model Context Protocol, over streamable HTTP.

It knows the protocol's official SDK, and that a request says who calls. It must never keep a session: whatever a call
needs comes with it, so that any replica answers any request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import field

import anyio.to_thread
import mcp_types
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from perdure.gateway.callers import Caller
from perdure.gateway.own_tools import RECALL_TOOL, recall
from perdure.gateway.state import StateStore
from perdure.guard import Guard
from perdure.kernel.errors import InvalidJson, StoreUnreachable
from perdure.kernel.messages import Tool, ToolResult, ToolUse, freeze_object, text_of
from perdure.kernel.value import record
from perdure.memory import Commands, MemoryStore
from perdure.tools.memory import FOR_ANY_MODEL, MemoryTool

PATH = "/mcp"

MOST = 4 * 1024 * 1024
"""Bytes of a request: a file of memory has 256 KiB at the most."""

CALLER = "perdure.caller"
"""Where the scope of a request holds who sent it."""

EVERY_FAMILY = ""
"""A client of this protocol has no conversation of its own here: it recalls from all of its user's."""


@record()
class McpEndpoint:
    """The endpoint; it answers while `running` lasts."""

    state: StateStore
    memory: MemoryStore | None
    guard: Guard
    _manager: StreamableHTTPSessionManager | None = field(default=None, init=False)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Answer requests while this lasts."""
        server: Server[dict[str, object]] = Server(
            "perdure",
            instructions="Notes that outlive a session, and what left the conversations that a gateway keeps.",
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            # The gateway has looked at host and origin already, for all of its addresses.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=MOST,
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def handle(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> bool:
        """Answer a request; False where the endpoint does not run."""
        if self._manager is None:
            return False
        scope[CALLER] = caller
        await self._manager.handle_request(scope, receive, send)
        return True

    async def _list(
        self, context: ServerRequestContext[dict[str, object]], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        tools = (*((FOR_ANY_MODEL,) if self.memory is not None else ()), RECALL_TOOL)
        return mcp_types.ListToolsResult(tools=[_described(tool) for tool in tools])

    async def _call(
        self, context: ServerRequestContext[dict[str, object]], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        caller = _caller_of(context.request)
        try:
            use = ToolUse(id="mcp", name=params.name, input=freeze_object(params.arguments or {}))
            result = await self._result(use, caller)
        except (InvalidJson, StoreUnreachable) as error:
            result = ToolResult(tool_use_id="mcp", content=f"Error: {error}", is_error=True)
        content = mcp_types.TextContent(type="text", text=text_of(result.content))
        return mcp_types.CallToolResult(content=[content], is_error=bool(result.is_error))

    async def _result(self, use: ToolUse, caller: Caller | None) -> ToolResult:
        if caller is None:
            return ToolResult(tool_use_id=use.id, content="Error: nobody is known to call", is_error=True)
        if use.name == RECALL_TOOL.name:
            text = await recall(self.state, caller.principal, EVERY_FAMILY, use)
            return ToolResult(tool_use_id=use.id, content=text)
        if use.name == FOR_ANY_MODEL.name and self.memory is not None:
            commands = Commands(store=self.memory, principal=caller.principal, guard=self.guard)
            return await anyio.to_thread.run_sync(MemoryTool(commands=commands).call, use)
        return ToolResult(tool_use_id=use.id, content="Error: there is no such tool", is_error=True)


def _described(tool: Tool) -> mcp_types.Tool:
    return mcp_types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema or {}))


def _caller_of(request: object) -> Caller | None:
    found: object = request.scope.get(CALLER) if isinstance(request, Request) else None
    return found if isinstance(found, Caller) else None
