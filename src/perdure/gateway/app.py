"""The gateway: an ASGI application.

It knows addresses, callers and the order of checks: caller, body, route, call. It must never tell a client more about a
failure of its own than that there was one; the log names the exception and the request's id, and holds no content.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

import anyio
import httpx
from starlette.types import Message, Receive, Scope, Send

from perdure.gateway.audit import Audit, AuditFile, nobody
from perdure.gateway.call import Action, Call, checked
from perdure.gateway.callers import Caller, KeyStore, StaticKey, keys_in, same
from perdure.gateway.config import Config
from perdure.gateway.conversations import Conversations
from perdure.gateway.door import (
    Arrived,
    Reply,
    Watcher,
    address_of,
    again,
    answer,
    arrive,
    headers_of,
    json_reply,
    send_reply,
)
from perdure.gateway.doorman import Doorman
from perdure.gateway.grants import Grant
from perdure.gateway.keeper import Keeper
from perdure.gateway.keys import BookKeys
from perdure.gateway.limits import Room, check_depth, check_headers
from perdure.gateway.mcp_endpoint import MOST as MCP_MOST
from perdure.gateway.mcp_endpoint import PATH as MCP_PATH
from perdure.gateway.mcp_endpoint import McpEndpoint
from perdure.gateway.meter import Meter
from perdure.gateway.metrics import Metrics
from perdure.gateway.openapi import OPENAPI_PATH, document
from perdure.gateway.pages import (
    DOORS,
    OUT,
    PAGE,
    SHOWN,
    is_browser,
    key_shown,
    sessions_of,
    shown,
    signed_in,
    turned_away,
    went_in,
    went_out,
)
from perdure.gateway.proxy import Proxy
from perdure.gateway.quotas import Quotas, Ticket
from perdure.gateway.refusals import error_body
from perdure.gateway.seal import Seal
from perdure.gateway.sessions import LONGEST_FORM, Sessions
from perdure.gateway.state import StateStore
from perdure.gateway.stores import opened, signing_key, static
from perdure.gateway.tally import Tally, hold_of
from perdure.gateway.upstream import Upstreams
from perdure.guard import SecretGuard
from perdure.kernel.errors import CallRefused, InvalidSetting, MemoryFault, PerdureError, StoreUnreachable
from perdure.kernel.messages import Json, JsonObject, decode_object
from perdure.kernel.models import lookup
from perdure.kernel.value import record, value
from perdure.kernel.wire import Dialect
from perdure.memory import MemoryStore, Principal
from perdure.providers.edge import CONNECT, wall_clock

LOG = logging.getLogger("perdure.gateway")

CALLS: dict[str, tuple[Dialect, Action]] = {
    "/v1/messages": ("anthropic", "create"),
    "/v1/messages/count_tokens": ("anthropic", "count"),
    "/v1/responses": ("responses", "create"),
    "/v1/responses/compact": ("responses", "compact"),
    "/v1/chat/completions": ("chat", "create"),
}


OPEN = frozenset({"/healthz", "/readyz", OPENAPI_PATH})
"""What is answered without a key, and without a look at anything that belongs to somebody."""


_MOST = {MCP_PATH: MCP_MOST, **dict.fromkeys(OPEN | DOORS | SHOWN, LONGEST_FORM)}
"""Bytes of requests that never have many: who has no key fills no memory."""

SHARES = 4
"""Callers that together fill the room for bodies: one of several cannot do it alone."""

LAST_WORDS = 5.0
"""Seconds that calls whose time is over have to be counted before the stores are closed."""

IDLE = 3.0
"""Seconds that a connection upstream is kept for the next call: less than servers keep one (many 5), since a call that
meets its end fails, and cannot be made again as if nothing had been asked."""

BEAT = 20.0
"""Seconds between two signs that this replica is alive."""


@value
class Parts:
    """What a gateway is made of, where it is not what the configuration says."""

    keys: KeyStore | None = None
    state: StateStore | None = None
    meter: Meter | None = None
    memory: MemoryStore | None = None
    client: httpx.AsyncClient | None = None
    clock: Callable[[], float] = wall_clock
    pause: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits for some seconds before a caller without a key is refused."""
    audit: Audit | None = None


@record()
class Visit:
    """A request from its arrival to its end."""

    id: str
    began: float
    scope: Scope
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    caller: Caller | None = None
    route: str = ""
    status: int = 0
    """Of the answer; 0 while there is none."""
    sent: int = 0
    """Bytes of its body."""
    held: int = 0
    """Bytes of its body that take up room."""
    holder: Principal | None = None
    """In whose share: who signs in is nobody until the body is read."""
    ticket: Ticket | None = None
    """What it is counted under, once it was let in."""
    tally: Tally = field(default_factory=Tally)

    @property
    def path(self) -> str:
        """The address that is called."""
        return str(self.scope["path"])

    @property
    def owner(self) -> Principal | None:
        """Whose it is, as far as that is known."""
        return self.caller.principal if self.caller else None

    @property
    def dialect(self) -> Dialect:
        """The protocol in which a refusal is told."""
        return CALLS.get(self.path, ("anthropic", "create"))[0]

    def entry(self, now: float) -> JsonObject:
        """What the audit keeps of it."""
        caller = self.caller
        known = self.path in CALLS or self.path in OPEN | SHOWN | DOORS | {"/metrics", MCP_PATH}
        return {
            "time": round(self.began, 3),
            "request": self.id,
            "address": address_of(self.scope),
            "key": caller.key if caller else None,
            "tenant": caller.principal.tenant if caller else None,
            "user": caller.principal.user if caller else None,
            "path": self.path if known else "other",
            "route": self.route or None,
            "status": self.status or None,
            "tokens": self.tally.tokens,
            "usd": round(self.tally.usd, 6),
            "seconds": round(now - self.began, 3),
        }


class Gateway:
    """An ASGI application. To be closed with `close`, or by the end of its lifespan."""

    def __init__(self, config: Config, parts: Parts | None = None) -> None:
        """A gateway.

        Raises:
            InvalidSetting: the configuration cannot be served.
            StoreUnreachable: the state or the keys cannot be opened.
            UnreadableFile: the audit's file cannot be written.
        """
        parts = parts or Parts()
        self.config: Config = config.check()
        self.metrics = Metrics()
        self.draining = False
        """Whether it is about to end: it still answers, and tells balancers to go elsewhere."""
        self._clock = parts.clock
        self._under_way = 0
        self._idle: anyio.Event | None = None
        """Told, once it is waited for, when no call is under way any more."""
        self._signing = signing_key(config)
        stores = opened(config, parts.clock)
        self._closing = [*stores.closing]
        self.keys, self.state = parts.keys or stores.keys, parts.state or stores.state
        several = not isinstance(self.keys, StaticKey)
        self._room = Room(most=config.max_bodies, share=config.max_bodies // (SHARES if several else 1))
        self.memory, meter = parts.memory or stores.memory, parts.meter or stores.meter
        self._quotas = Quotas(meter=meter, state=self.state, metrics=self.metrics, clock=parts.clock)
        self._audit = parts.audit or self._opened_audit()
        self._doorman = Doorman(clock=parts.clock, pause=parts.pause)
        client = parts.client or httpx.AsyncClient(
            timeout=httpx.Timeout(config.answer_seconds, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=IDLE),
            follow_redirects=False,
            trust_env=False,
        )
        self._client = client
        self._upstreams = Upstreams(client, lambda: self.metrics.add("upstream_requests"))
        conversations = Conversations(self.state, self.metrics)
        guard = SecretGuard()
        self._endpoint = McpEndpoint(state=self.state, memory=self.memory, guard=guard)
        self._proxy = Proxy(
            keeper=Keeper(conversations=conversations, metrics=self.metrics, clock=parts.clock),
            upstreams=self._upstreams,
            metrics=self.metrics,
            seal=Seal(key=self._signing),
            memory=self.memory,
            guard=guard,
        )

    def _opened_audit(self) -> Audit:
        if self.config.audit is None:
            return nobody
        audit = AuditFile(self.config.audit)
        self._closing.append(audit.close)
        return audit

    def reload(self, config: Config) -> None:
        """Go on with another configuration; calls under way end with the one that they began with.

        Raises:
            InvalidSetting: it needs a restart, or cannot be served; then the former one goes on.
        """
        config = config.following(self.config)
        if self.memory is None and any(route.memory for route in config.routes):
            raise InvalidSetting("no memory was open when it began: restart it to turn it on")
        self.config = config
        if isinstance(self.keys, StaticKey):
            self.keys = static(config)
        if isinstance(self.keys, BookKeys):
            self.keys.known.clear()
        self._client.timeout = httpx.Timeout(config.answer_seconds, connect=CONNECT)

    async def close(self) -> None:
        """Close connections and stores."""
        await self._upstreams.close()
        while self._closing:
            self._closing.pop()()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        visit = Visit(id=secrets.token_hex(12), began=self._clock(), scope=scope)
        self._under_way += 1
        try:
            await self._visited(visit, receive, send)
        finally:
            self._room.give(visit.holder, visit.held)
            spent = visit.tally.settled(visit.sent)
            if visit.ticket is not None:
                # Also where the client has left and everything is being cancelled.
                with anyio.CancelScope(shield=True):
                    await self._quotas.leave(visit.ticket, spent)
            self._under_way -= 1
            if self._idle is not None and not self._under_way:
                self._idle.set()
            self.metrics.add("requests", protocol=visit.dialect, status=str(visit.status))
            self._audit(visit.entry(self._clock()))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._endpoint.running(), anyio.create_task_group() as group:
            group.start_soon(self._beat)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            group.cancel_scope.cancel()
        if self._under_way:
            self._idle = anyio.Event()
            with anyio.move_on_after(LAST_WORDS):
                await self._idle.wait()
        await self._quotas.settle()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _beat(self) -> None:
        """Tell the other replicas that this one is alive, and count what could not be counted."""
        while True:
            try:
                await self._quotas.meter.beat(self._clock())
                await self._quotas.settle()
            except StoreUnreachable:
                self.metrics.add("state_failures")
            await anyio.sleep(BEAT)

    async def _visited(self, visit: Visit, receive: Receive, send: Send) -> None:
        """Who calls is known before a byte of the body is read."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                if self.draining:
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            else:
                visit.sent += len(message.get("body", b""))
            await send(message)

        def hold(size: int) -> None:
            visit.holder = visit.owner
            self._room.take(visit.holder, size)
            visit.held += size

        config = self.config
        try:
            check_headers(visit.scope["headers"], config.max_headers)
            visit.headers = headers_of(visit.scope)
            if visit.path not in OPEN | DOORS:
                visit.caller = await self._admitted(visit)
                if visit.caller is None:
                    await send_reply(turned_away(), told)
                    return
            most = min(config.max_body, _MOST.get(visit.path, config.max_body))
            arrived = await arrive(visit.scope, receive, most=most, seconds=config.body_seconds, hold=hold)
            if visit.path == MCP_PATH and visit.caller is not None:
                await self._mcp(visit, visit.caller, again(arrived.body, receive), told)
                return
        # Without a caller nothing was done yet, and a store that fails lets nobody in.
        except (CallRefused, MemoryFault) as error:
            await send_reply(_refusal(visit, error), told)
            return

        def failed(error: BaseException) -> None:
            LOG.warning("the answer to request %s broke off: %s at %s", visit.id, type(error).__name__, _place(error))

        async def handle(arrived: Arrived) -> Reply:
            return await self._handle(visit, arrived)

        watcher = Watcher(left=lambda: self.metrics.add("disconnects"), failed=failed)
        with anyio.move_on_after(config.call_seconds) as limit:
            await answer(arrived, receive, told, handle, watcher)
        if limit.cancelled_caught and not visit.status:
            await send_reply(_refusal(visit, CallRefused("the call took too long", status=504)), told)

    async def _mcp(self, visit: Visit, caller: Caller, receive: Receive, send: Send) -> None:
        if not await self._endpoint.handle(visit.scope, receive, send, caller):
            raise CallRefused("the endpoint is not running", status=503)

    async def _admitted(self, visit: Visit) -> Caller | None:
        """Who calls; None for a browser that shows nothing, which is asked for a key and is no guesser.

        Raises:
            CallRefused: nobody who may.
            StoreUnreachable: nobody knows.
        """
        if self.config.open and not _from_here(visit.headers):
            raise CallRefused("without a key this gateway serves programs of its own machine alone", status=403)
        if visit.path == "/metrics" and self._is_operator(visit.headers):
            return Caller(principal=Principal(tenant="operator", user="metrics"), operator=True)
        caller = await self.keys.caller(visit.headers)
        if caller is None and visit.path in SHOWN and not keys_in(visit.headers):
            caller = await signed_in(self._sessions, self.keys, visit.headers, self._clock())
            if caller is None and visit.path == PAGE and is_browser(visit.headers):
                return None
        if caller is None:
            self.metrics.add("unknown_callers")
            raise await self._doorman.refuse(address_of(visit.scope))
        return caller

    def _is_operator(self, headers: Mapping[str, str]) -> bool:
        wanted = self.config.metrics_key
        return bool(wanted) and any(same(shown, wanted) for shown in keys_in(headers).values())

    async def _handle(self, visit: Visit, arrived: Arrived) -> Reply:
        try:
            return await self._answer(visit, arrived)
        except (PerdureError, MemoryFault) as error:
            if isinstance(error, MemoryFault):
                LOG.warning("request %s: %s", visit.id, type(error).__name__)
            return _refusal(visit, error)
        # Whatever else goes wrong is ours: the client learns that much, and the log which exception it was.
        except Exception as error:  # noqa: BLE001
            LOG.error("request %s failed: %s at %s", visit.id, type(error).__name__, _place(error))
            return _refusal(visit, CallRefused("the gateway failed; the log has the request's id", status=500))

    async def _answer(self, visit: Visit, arrived: Arrived) -> Reply:
        match arrived.method, arrived.path:
            case "GET" | "HEAD", "/healthz":
                return json_reply({"status": "ok"})
            case "GET" | "HEAD", path if path in SHOWN and visit.caller is not None:
                return await shown(arrived, visit.caller, self.state, self._clock())
            case _, path if path in DOORS:
                return await self._through(visit, arrived)
            case "GET" | "HEAD", "/readyz":
                if self.draining:
                    return json_reply({"state": "draining"}, status=503)
                ready = await self.state.ready()
                return json_reply({"state": "ok" if ready else "unreachable"}, status=200 if ready else 503)
            case "GET" | "HEAD", path if path == OPENAPI_PATH:
                return Reply(headers={"content-type": "application/json"}, body=document())
            case "GET", "/metrics":
                if visit.caller is None or not visit.caller.operator:
                    raise CallRefused("this counts for all tenants together: it needs the operator's key", status=403)
                return Reply(headers={"content-type": "text/plain; version=0.0.4"}, body=self.metrics.text().encode())
            case "GET", path if path == "/v1/models" or path.startswith("/v1/models/"):
                return self._models(path.removeprefix("/v1/models").strip("/"), arrived, visit.caller)
            case "POST", path if path in CALLS and visit.caller is not None:
                return await self._call(visit, arrived, visit.caller)
            case _, path if path in CALLS:
                raise CallRefused("this is to be called with POST", status=405)
            case _:
                raise CallRefused("there is nothing here", status=404)

    async def _through(self, visit: Visit, arrived: Arrived) -> Reply:
        """In, with a key that a browser shows; or out."""
        secure = visit.scope.get("scheme") == "https"
        if arrived.path == OUT:
            return went_out(arrived, secure=secure)
        caller = await key_shown(self.keys, arrived)
        if caller is None:
            self.metrics.add("unknown_callers")
            refused = await self._doorman.refuse(address_of(visit.scope))
            return turned_away("That is no key of this gateway.", status=refused.status)
        visit.caller = caller
        return went_in(self._sessions, caller, self._clock(), secure=secure)

    @property
    def _sessions(self) -> Sessions:
        return sessions_of(self._signing, self.config.key)

    async def _call(self, visit: Visit, arrived: Arrived, caller: Caller) -> Reply:
        dialect, action = CALLS[arrived.path]
        if arrived.headers.get("content-encoding", "identity") != "identity":
            raise CallRefused("content-encoding: send the body as it is", status=415)
        body = checked(decode_object(arrived.body))
        check_depth(body, self.config.max_depth)
        route = self.config.route_for(str(body["model"]))
        if route is None:
            raise CallRefused("model: no route of this gateway takes it", status=404)
        if not caller.grant.covers(route.called, str(body["model"])):
            raise CallRefused("model: this key is not good for it", status=403)
        visit.route = route.called
        call = Call(
            id=visit.id,
            dialect=dialect,
            action=action,
            headers=arrived.headers,
            query=arrived.query,
            raw=arrived.body,
            body=body,
            caller=caller,
            route=route,
            tally=visit.tally,
        )
        visit.ticket = await self._quotas.enter(caller, hold_of(call.profile, body, len(arrived.body)))
        match action:
            case "create":
                return await self._proxy.create(call)
            case "count":
                return await self._proxy.count(call)
            case "compact":
                return await self._proxy.compact(call)

    def _models(self, wanted: str, arrived: Arrived, caller: Caller | None) -> Reply:
        """The models that routes name without a pattern, in the form that the client's SDK knows."""
        anthropic = "anthropic-version" in arrived.headers
        entries: list[JsonObject] = []
        grant = caller.grant if caller else Grant()
        for route in self.config.routes:
            if not set(route.model) & set("*?[") and grant.covers(route.called, route.model):
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


def _refusal(visit: Visit, error: Exception) -> Reply:
    """A failure in the form of the client's protocol, with no more of it than is the client's."""
    match error:
        case CallRefused():
            refused = error
        case MemoryFault():
            refused = CallRefused("the store of this gateway does not answer", status=503)
        case _:
            refused = CallRefused(str(error))
    name = f"req_{visit.id}"
    headers = {"request-id": name}
    if refused.status in (400, 404, 405, 413):
        headers["x-should-retry"] = "false"
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    return json_reply(error_body(visit.dialect, refused, name), status=refused.status, headers=headers)


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
