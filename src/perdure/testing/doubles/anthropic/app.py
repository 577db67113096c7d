"""The Anthropic double itself: endpoints, and the way from a request to an answer.

It knows the order of things: fault, transport, shape and rules, thinking, edits, compaction, cache, script. It must
never hold a rule, and it imports nothing of the kernel but the JSON encoder: agreement with the kernel means something
only because nothing is shared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from perdure.testing.doubles.anthropic.answer import Seed, Summed, iteration, room_of, sample, summed, usage
from perdure.testing.doubles.anthropic.asked import BINDING, ON_DEMAND, THREADS, Asked, Refused, coded, first_refusal
from perdure.testing.doubles.anthropic.cache import PromptCache
from perdure.testing.doubles.anthropic.compaction import (
    instructions_of,
    signed_block,
    threshold_block,
    trigger_of,
)
from perdure.testing.doubles.anthropic.diagnostics import Fingerprint, diagnose, fingerprint
from perdure.testing.doubles.anthropic.models import MODELS, Model, described, find
from perdure.testing.doubles.anthropic.prompt import Prompt, make_prompt, recompacted
from perdure.testing.doubles.anthropic.rules import RULES
from perdure.testing.doubles.anthropic.stream import PING, events, sse
from perdure.testing.doubles.anthropic.thinking import KINDS, mark_of_thinking, screen, walk
from perdure.testing.doubles.anthropic.threads import Threads
from perdure.testing.doubles.faults import (
    CompactionUnavailable,
    Cut,
    ErrorInStream,
    Fault,
    Overloaded,
    RateLimited,
    ServerError,
    Slow,
)
from perdure.testing.doubles.record import Received
from perdure.testing.doubles.script import Script, echo, summariser
from perdure.testing.doubles.shape import Body, Clock, Seal, bodies, digest
from perdure.testing.doubles.transport import MAX_BODY, CutResponse, EventStream, decode_body, json_response, read_body


class AnthropicDouble:
    """An ASGI application with the Messages API, count_tokens and the Models API.

    `received` holds every request, `faults` what goes wrong next (one per request to /v1/messages).
    """

    def __init__(
        self,
        script: Script = echo,
        *,
        summarise: Script = summariser,
        clock: Clock = lambda: 0.0,
        models: Mapping[str, Model] = MODELS,
        key: str = "a double's key",
        old_account: bool = False,
    ) -> None:
        """Set the model behind the API.

        Args:
            script: answers ordinary requests.
            summarise: answers compactions; its turn's text, or what stands in `<summary>`, is the summary.
            clock: Unix seconds; the cache and threads live by it.
            models: the models there are.
            key: signs thinking and compaction blocks; doubles with one key accept each other's.
            old_account: made before 2026-08-31, when some models did not yet check thinking for everybody.
        """
        self.received: list[Received] = []
        self.faults: deque[Fault] = deque()
        self._script, self._summarise, self._clock, self._models = script, summarise, clock, models
        self._seal, self._old_account = Seal(key), old_account
        self._cache, self._threads = PromptCache(), Threads()
        self._thinking_given: dict[str, tuple[str, ...]] = {}
        self._fingerprints: dict[str, Fingerprint] = {}
        self._serial = 0
        self._app = Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
                Route("/v1/models", self._list_models, methods=["GET"]),
                Route("/v1/models/{model}", self._show_model, methods=["GET"]),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request (ASGI)."""
        await self._app(scope, receive, send)

    async def _messages(self, request: Request) -> Response:
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, Slow):
            fault.wait()

        def reply(raw: bytes, started: float) -> tuple[Body, bool]:
            if (refusal := _refusal_of(fault)) is not None:
                raise refusal
            body = decode_message_body(raw)
            betas = _betas(request)
            full = self._threads.expand(body, started) if THREADS in betas else body
            message = self._answer(self._ask(request, full, counting=False), started)
            self._threads.hold(full, message, started)
            return message, body.get("stream") is True

        return await self._recorded(request, reply, fault)

    async def _count_tokens(self, request: Request) -> Response:
        def reply(raw: bytes, _started: float) -> tuple[Body, bool]:
            asked = self._ask(request, decode_message_body(raw), counting=True)
            prompt = make_prompt(asked, screen(asked))
            counted: Body = {"input_tokens": prompt.tokens}
            if asked.body.get("context_management") is not None:
                counted["context_management"] = {"original_input_tokens": prompt.original_tokens}
            return counted, False

        return await self._recorded(request, reply, None)

    async def _list_models(self, request: Request) -> Response:
        entries = [self._describe(request, model) for model in self._models.values()]
        ends = {"first_id": entries[0]["id"], "last_id": entries[-1]["id"]} if entries else {}
        return json_response({"data": entries, "has_more": False, **ends})

    async def _show_model(self, request: Request) -> Response:
        name = request.path_params["model"]
        model = find(self._models, name)
        if model is None:
            return _error_response(Refused(f"model: {name}", status=404), "req_model")
        return json_response(self._describe(request, model))

    def _describe(self, request: Request, model: Model) -> Body:
        return described(model, on_demand=ON_DEMAND in _betas(request))

    async def _recorded(
        self, request: Request, reply: Callable[[bytes, float], tuple[Body, bool]], fault: Fault | None
    ) -> Response:
        started = self._clock()
        raw = await read_body(request)
        self._serial += 1
        request_id = f"req_{digest(self._serial)[:24]}"
        status, streamed = 200, False
        try:
            if len(raw) > MAX_BODY:
                raise Refused("Request exceeds the maximum allowed number of bytes", status=413)
            answer, streamed = reply(raw, started)
        except Refused as refused:
            status, answer = refused.status, _error_body(refused, request_id)
            response = _error_response(refused, request_id)
        else:
            response = _stream(answer, request_id, fault) if streamed else _whole(answer, request_id, fault)
        self.received.append(
            Received(
                path=request.url.path,
                headers=dict(request.headers),
                raw=raw,
                body=decode_body(raw) or {},
                at=started,
                status=status,
                answer=answer,
            )
        )
        if isinstance(fault, RateLimited) and fault.retry_after is not None:
            response.headers["retry-after"] = str(fault.retry_after)
        return response

    def _ask(self, request: Request, body: Body, *, counting: bool) -> Asked:
        """Check everything about a request that can be checked without making its prompt.

        Raises:
            Refused: what the first broken rule says.
        """
        workspace = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if not workspace.strip():
            raise Refused("x-api-key header is required", status=401)
        if not request.headers.get("anthropic-version"):
            raise Refused("anthropic-version: header is required")
        if "model" not in body:
            raise Refused("model: Field required")
        model = find(self._models, body["model"])
        if model is None:
            raise Refused(f"model: {body['model']}", status=404)
        asked = Asked(
            body=body,
            model=model,
            betas=_betas(request),
            counting=counting,
            workspace=digest("workspace", workspace),
            seal=self._seal,
            thinking_given=self._thinking_given,
            old_account=self._old_account,
        )
        if (refusal := first_refusal(RULES, asked)) is not None:
            raise refusal
        return asked

    def _answer(self, asked: Asked, started: float) -> Body:
        prompt = make_prompt(asked, screen(asked))
        self._check_window(asked, prompt)
        if asked.compacting:
            message = self._compact_on_demand(asked, prompt, started)
        else:
            message = self._converse(asked, prompt, started)
        if asked.body.get("context_management") is not None:
            message["context_management"] = {"applied_edits": list(prompt.applied)}
        if BINDING in asked.betas:
            message["input_transformations"] = list(prompt.transformations)
        if asked.body.get("diagnostics") is not None:
            message["diagnostics"] = diagnose(asked, self._fingerprints)
            self._fingerprints[message["id"]] = fingerprint(asked)
        self._remember_thinking(bodies(message["content"]))
        return message

    def _check_window(self, asked: Asked, prompt: Prompt) -> None:
        window, limit = asked.model.window, int(asked.body["max_tokens"])
        if prompt.tokens > window:
            raise Refused(f"prompt is too long: {prompt.tokens} tokens > {window} maximum")
        if not asked.model.stops_at_window and prompt.tokens + limit > window:
            raise Refused(
                f"input length and `max_tokens` exceed context limit: {prompt.tokens} + {limit} > {window}, "
                "decrease input length or `max_tokens` and try again"
            )

    def _compact_on_demand(self, asked: Asked, prompt: Prompt, started: float) -> Body:
        result, entry = self._summary(asked, prompt, started)
        prefix = walk(asked)[1]
        content = [] if result.summary is None else [signed_block(asked, prefix, result.summary)]
        return self._message(asked, content, result.stop_reason, usage(asked, [entry], compacted=True))

    def _converse(self, asked: Asked, prompt: Prompt, started: float) -> Body:
        bound, prefix = walk(asked)
        content: list[Body] = []
        iterations: list[Body] = []
        trigger = trigger_of(asked)
        if trigger is not None and prompt.tokens >= trigger:
            result, entry = self._summary(asked, prompt, started)
            block = threshold_block(asked, prefix, result.summary)
            content.append(block)
            iterations.append(entry)
            if (asked.threshold_edit or {}).get("pause_after_compaction") is True:
                return self._message(asked, content, "compaction", usage(asked, iterations, compacted=True))
            if result.summary is not None:
                prompt = recompacted(asked, prompt, block)
        billed = self._cache.bill(asked.workspace, prompt, asked.model.cache_minimum, started)
        if asked.body["max_tokens"] == 0:
            iterations.append(iteration("message", billed, 0, asked.body["model"]))
            return self._message(asked, [], "max_tokens", usage(asked, iterations, compacted=False))
        turn = self._script({**asked.body, "messages": prompt.messages})
        thinking = tuple(mark_of_thinking(entry.block) for entry in bound)
        seed = Seed(prefix=prefix, thinking=thinking, serial=self._serial)
        sampled = sample(asked, turn, room_of(asked, prompt.tokens), seed)
        iterations.append(iteration("message", billed, sampled.output_tokens, asked.body["model"]))
        message = self._message(
            asked, [*content, *sampled.content], sampled.stop_reason, usage(asked, iterations, compacted=bool(content))
        )
        return {**message, "stop_sequence": sampled.stop_sequence}

    def _summary(self, asked: Asked, prompt: Prompt, started: float) -> tuple[Summed, Body]:
        billed = self._cache.bill(asked.workspace, prompt, asked.model.cache_minimum, started)
        body = {**asked.body, "messages": prompt.messages, "instructions": instructions_of(asked)}
        result = summed(self._summarise(body), room_of(asked, prompt.tokens))
        return result, iteration("compaction", billed, result.output_tokens)

    def _message(self, asked: Asked, content: list[Body], stop_reason: str, used: Body) -> Body:
        return {
            "id": f"msg_{digest('message', self._serial, asked.body.get('messages'))[:24]}",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": used,
        }

    def _remember_thinking(self, content: list[Body]) -> None:
        given = tuple(mark_of_thinking(block) for block in content if block.get("type") in KINDS)
        for block in content:
            if block.get("type") == "tool_use":
                self._thinking_given[str(block["id"])] = given


def decode_message_body(raw: bytes) -> Body:
    """The request body.

    Raises:
        Refused: it is not JSON, or not an object.
    """
    body = decode_body(raw)
    if body is None:
        raise Refused("The request body is not valid JSON.")
    return body


def _betas(request: Request) -> frozenset[str]:
    listed = ",".join(request.headers.getlist("anthropic-beta"))
    return frozenset(beta.strip() for beta in listed.split(",") if beta.strip())


def _refusal_of(fault: Fault | None) -> Refused | None:
    match fault:
        case Overloaded():
            return Refused("Overloaded", status=529)
        case RateLimited():
            return Refused("This request would exceed your organization's rate limit.", status=429)
        case ServerError():
            return Refused("Internal server error", status=500)
        case CompactionUnavailable():
            return coded(
                "compaction_unavailable", "compaction is temporarily unavailable; retry the request", status=529
            )
        case _:
            return None


def _error_body(refused: Refused, request_id: str) -> Body:
    error: Body = {"type": refused.kind, "message": refused.message}
    if refused.details:
        error["details"] = refused.details
    return {"type": "error", "error": error, "request_id": request_id}


def _error_response(refused: Refused, request_id: str) -> Response:
    if refused.status == 413:
        # It comes from the edge, before the API, and is not the API's JSON (Anthropic, errors page, 2026-08).
        page = "<html><head><title>413 Request Entity Too Large</title></head><body>cloudflare</body></html>"
        return Response(page, status_code=413, media_type="text/html")
    response = json_response(_error_body(refused, request_id), status=refused.status)
    response.headers["request-id"] = request_id
    if refused.status == 400:
        response.headers["x-should-retry"] = "false"
    return response


def _whole(message: Body, request_id: str, fault: Fault | None) -> Response:
    if isinstance(fault, ErrorInStream):
        return _error_response(Refused("Overloaded", status=529), request_id)
    response = json_response(message)
    response.headers["request-id"] = request_id
    return CutResponse(response.body) if isinstance(fault, Cut) else response


def _stream(message: Body, request_id: str, fault: Fault | None) -> Response:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(fault.pings if isinstance(fault, Slow) else 0):
            yield sse(PING)
        for sent, event in enumerate(events(message)):
            if isinstance(fault, ErrorInStream) and sent == fault.after:
                yield sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
                return
            yield sse(event)

    after = fault.after if isinstance(fault, Cut) else None
    return EventStream(body(), headers={"request-id": request_id}, cut_after=after)
