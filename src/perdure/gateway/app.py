"""The gateway: an ASGI application.

It knows addresses, callers and the order of checks: caller, body, route, call. It must never tell a client more about a
failure of its own than that there was one; the log names the exception and the request's id, and holds no content.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx
from starlette.types import Receive, Scope, Send

from perdure.gateway.call import Action, Call, checked
from perdure.gateway.callers import Caller, KeyStore, StaticKey
from perdure.gateway.config import Config
from perdure.gateway.conversations import Conversations
from perdure.gateway.door import Arrived, Reply, Watcher, answer, arrive, headers_of, json_reply, send_reply
from perdure.gateway.keeper import Keeper
from perdure.gateway.mcp_endpoint import PATH as MCP_PATH
from perdure.gateway.mcp_endpoint import McpEndpoint
from perdure.gateway.metrics import Metrics
from perdure.gateway.proxy import Proxy
from perdure.gateway.refusals import error_body
from perdure.gateway.seal import Seal
from perdure.gateway.sqlite_state import SqliteState
from perdure.gateway.state import MemoryState, StateStore
from perdure.gateway.upstream import Upstreams
from perdure.guard import SecretGuard
from perdure.kernel.errors import CallRefused, MemoryFault, PerdureError, UserError
from perdure.kernel.messages import Json, JsonObject, decode_object
from perdure.kernel.models import lookup
from perdure.kernel.wire import Dialect
from perdure.memory import FileStore, MemoryStore, Principal
from perdure.providers.edge import CONNECT, wall_clock

LOG = logging.getLogger("perdure.gateway")

CALLS: dict[str, tuple[Dialect, Action]] = {
    "/v1/messages": ("anthropic", "create"),
    "/v1/messages/count_tokens": ("anthropic", "count"),
    "/v1/responses": ("responses", "create"),
    "/v1/responses/compact": ("responses", "compact"),
    "/v1/chat/completions": ("chat", "create"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a gateway is made of, where it is not what the configuration says."""

    keys: KeyStore | None = None
    state: StateStore | None = None
    memory: MemoryStore | None = None
    client: httpx.AsyncClient | None = None
    clock: Callable[[], float] = wall_clock


class Gateway:
    """An ASGI application. To be closed with `close`, or by the end of its lifespan."""

    def __init__(self, config: Config, parts: Parts | None = None) -> None:
        """A gateway.

        Raises:
            InvalidSetting: the configuration cannot be served.
            StoreUnreachable: the state cannot be opened.
        """
        parts = parts or Parts()
        self.config = config.check()
        self.metrics = Metrics()
        principal = Principal(tenant=config.tenant, user=config.user)
        self.keys = parts.keys or StaticKey(key=config.key, principal=principal)
        self.state: StateStore = parts.state or (SqliteState(config.state) if config.state else MemoryState())
        self.memory = parts.memory or (FileStore(root=config.memory) if config.memory else None)
        client = parts.client or httpx.AsyncClient(
            timeout=httpx.Timeout(config.answer_seconds, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            follow_redirects=False,
            trust_env=False,
        )
        self._upstreams = Upstreams(client, lambda: self.metrics.add("upstream_requests"))
        conversations = Conversations(self.state, self.metrics)
        guard = SecretGuard()
        self._endpoint = McpEndpoint(state=self.state, memory=self.memory, guard=guard)
        self._proxy = Proxy(
            keeper=Keeper(conversations=conversations, metrics=self.metrics, clock=parts.clock),
            upstreams=self._upstreams,
            metrics=self.metrics,
            seal=Seal(key=(config.secret or secrets.token_hex(32)).encode()),
            memory=self.memory,
            guard=guard,
        )

    async def close(self) -> None:
        """Close connections and the state."""
        await self._upstreams.close()
        if isinstance(self.state, SqliteState):
            self.state.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        dialect = CALLS.get(scope["path"], ("anthropic", "create"))[0]
        name = secrets.token_hex(12)
        if scope["path"] == MCP_PATH:
            await self._mcp(scope, receive, send, name)
            return
        try:
            arrived = await arrive(scope, receive, most=self.config.max_body, seconds=self.config.body_seconds)
        except CallRefused as refused:
            self.metrics.add("requests", protocol=dialect, status=str(refused.status))
            await send_reply(_refusal(dialect, refused, name), send)
            return

        async def handle(arrived: Arrived) -> Reply:
            reply = await self._handle(arrived, dialect, name)
            self.metrics.add("requests", protocol=dialect, status=str(reply.status))
            return reply

        def failed(error: BaseException) -> None:
            LOG.warning("the answer to request %s broke off: %s at %s", name, type(error).__name__, _place(error))

        watcher = Watcher(left=lambda: self.metrics.add("disconnects"), failed=failed)
        await answer(arrived, receive, send, handle, watcher)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._endpoint.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _mcp(self, scope: Scope, receive: Receive, send: Send, name: str) -> None:
        headers = headers_of(scope)
        try:
            caller = await self._admitted(headers)
            if not await self._endpoint.handle(scope, receive, send, caller):
                raise CallRefused("the endpoint is not running", status=503)
        except CallRefused as refused:
            await send_reply(_refusal("anthropic", refused, name), send)

    async def _admitted(self, headers: Mapping[str, str]) -> Caller:
        """Who calls.

        Raises:
            CallRefused: nobody who may.
        """
        if self.config.key is None and not _from_here(headers):
            raise CallRefused("without a key this gateway serves programs of its own machine alone", status=403)
        caller = await self.keys.caller(headers)
        if caller is None:
            raise CallRefused("a valid key is needed", status=401)
        return caller

    async def _handle(self, arrived: Arrived, dialect: Dialect, name: str) -> Reply:
        try:
            return await self._answer(arrived, name)
        except CallRefused as refused:
            return _refusal(dialect, refused, name)
        except MemoryFault as fault:
            LOG.warning("request %s: %s", name, type(fault).__name__)
            return _refusal(dialect, CallRefused("the store of this gateway does not answer", status=503), name)
        except UserError as error:
            return _refusal(dialect, CallRefused(str(error)), name)
        except PerdureError as error:
            return _refusal(dialect, CallRefused(str(error), status=400), name)
        # Whatever else goes wrong is ours: the client learns that much, and the log which exception it was.
        except Exception as error:  # noqa: BLE001
            LOG.error("request %s failed: %s at %s", name, type(error).__name__, _place(error))
            return _refusal(dialect, CallRefused("the gateway failed; the log has the request's id", status=500), name)

    async def _answer(self, arrived: Arrived, name: str) -> Reply:
        match arrived.method, arrived.path:
            case "GET" | "HEAD", "/healthz" | "/":
                return json_reply({"status": "ok"})
            case "GET", "/readyz":
                ready = await self.state.ready()
                return json_reply({"state": "ok" if ready else "unreachable"}, status=200 if ready else 503)
            case _:
                pass
        caller = await self._admitted(arrived.headers)
        match arrived.method, arrived.path:
            case "GET", "/metrics":
                return Reply(headers={"content-type": "text/plain; version=0.0.4"}, body=self.metrics.text().encode())
            case "GET", path if path == "/v1/models" or path.startswith("/v1/models/"):
                return self._models(path.removeprefix("/v1/models").strip("/"), arrived)
            case "POST", path if path in CALLS:
                return await self._call(arrived, caller, name)
            case _, path if path in CALLS:
                raise CallRefused("this is to be called with POST", status=405)
            case _:
                raise CallRefused("there is nothing here", status=404)

    async def _call(self, arrived: Arrived, caller: Caller, name: str) -> Reply:
        dialect, action = CALLS[arrived.path]
        if arrived.headers.get("content-encoding", "identity") != "identity":
            raise CallRefused("content-encoding: send the body as it is", status=415)
        body = checked(decode_object(arrived.body))
        route = self.config.route_for(str(body["model"]))
        if route is None:
            raise CallRefused("model: no route of this gateway takes it", status=404)
        call = Call(
            id=name,
            dialect=dialect,
            action=action,
            headers=arrived.headers,
            query=arrived.query,
            raw=arrived.body,
            body=body,
            caller=caller,
            route=route,
        )
        match action:
            case "create":
                return await self._proxy.create(call)
            case "count":
                return await self._proxy.count(call)
            case "compact":
                return await self._proxy.compact(call)

    def _models(self, wanted: str, arrived: Arrived) -> Reply:
        """The models that routes name without a pattern, in the form that the client's SDK knows."""
        anthropic = "anthropic-version" in arrived.headers
        entries: list[JsonObject] = []
        for route in self.config.routes:
            if not set(route.model) & set("*?["):
                profile = lookup(route.model_for(route.model))
                window = route.advertised_window or route.window or profile.window.tokens
                entries.append(_model(route.model, window, profile.window.max_output, anthropic))
        if not wanted:
            ends: JsonObject = {"first_id": entries[0]["id"], "last_id": entries[-1]["id"]} if entries else {}
            more: JsonObject = {"has_more": False, **ends} if anthropic else {"object": "list"}
            data: list[Json] = [*entries]
            return json_reply({"data": data, **more})
        found = next((entry for entry in entries if entry["id"] == wanted), None)
        if found is None:
            raise CallRefused("model: no route of this gateway names it", status=404)
        return json_reply(found)


def _model(name: str, window: int | None, output: int | None, anthropic: bool) -> JsonObject:
    if anthropic:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "1970-01-01T00:00:00Z",
            "max_input_tokens": window,
            "max_tokens": output,
        }
    return {"id": name, "object": "model", "created": 0, "owned_by": "perdure", "context_length": window}


def _refusal(dialect: Dialect, refused: CallRefused, name: str) -> Reply:
    headers = {"request-id": f"req_{name}"}
    if refused.status in (400, 404, 405, 413):
        headers["x-should-retry"] = "false"
    return json_reply(error_body(dialect, refused, f"req_{name}"), status=refused.status, headers=headers)


def _from_here(headers: Mapping[str, str]) -> bool:
    """Whether no page of a browser sent this: one that a hostile name was bound to this machine for, or of another
    origin. A gateway without a key has nothing else to tell them by."""
    named = [headers.get("host", ""), headers.get("origin", "").partition("://")[2]]
    hosts = [re.sub(r":\d+$", "", name).strip("[]") for name in named if name]
    return all(host in ("127.0.0.1", "localhost", "::1") for host in hosts)


def _place(error: BaseException) -> str:
    """Where it was raised, without a word of what was held there."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}" if trace else "nowhere"
