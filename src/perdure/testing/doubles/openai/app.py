"""The OpenAI double itself: endpoints, and the way from a request to an answer.

It knows the order of things: fault, transport, rules, stored history, compaction, cache, script. It must never hold a
rule, and it imports nothing of the kernel but the JSON encoder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from perdure.kernel.value import value
from perdure.testing.doubles.faults import Cut, ErrorInStream, Fault, Overloaded, RateLimited, ServerError, Slow
from perdure.testing.doubles.openai.answer import (
    Spent,
    chat_completion,
    compacted_user,
    compaction_item,
    fit,
    response_items,
    response_object,
    summary_of,
)
from perdure.testing.doubles.openai.asked import Asked, OpenAIRefused, Rule, first_refusal, kind_of, missing
from perdure.testing.doubles.openai.cache import Cached, PromptCache, Tokens
from perdure.testing.doubles.openai.chat_rules import CHAT_RULES
from perdure.testing.doubles.openai.models import OPENAI_MODELS, OpenAIModel, find
from perdure.testing.doubles.openai.prompt import chat_prompt, response_prompt, visible_items
from perdure.testing.doubles.openai.responses_rules import COMPACT_RULES, RESPONSES_RULES
from perdure.testing.doubles.openai.stream import (
    DONE,
    chat_chunks,
    chunk,
    failed_event,
    named,
    overflow_events,
    response_events,
)
from perdure.testing.doubles.record import Received
from perdure.testing.doubles.script import Script, echo, summariser
from perdure.testing.doubles.shape import Body, Clock, Seal, bodies, body_of, digest, number
from perdure.testing.doubles.transport import CutResponse, EventStream, decode_body, json_response, read_body

_NOTHING = Spent(input=0, cached=Cached(read=0, written=0), output=0, reasoning=0)


@value
class _Reply:
    """An answer, and how it goes out."""

    body: Body
    wire: Iterator[bytes] | None = None
    """Its events, where a stream was asked for."""


class OpenAIDouble:
    """An ASGI application with the Responses API, its compact endpoint, Chat Completions and the models list.

    `received` holds every request, `faults` what goes wrong next (one per POST).
    """

    def __init__(
        self,
        script: Script = echo,
        *,
        summarise: Script = summariser,
        clock: Clock = lambda: 0.0,
        models: Mapping[str, OpenAIModel] = OPENAI_MODELS,
        key: str = "a double's key",
    ) -> None:
        """Set the model behind the API.

        Args:
            script: answers ordinary requests.
            summarise: answers compactions.
            clock: Unix seconds; the cache lives by it.
            models: the models there are.
            key: seals encrypted content; doubles with one key open each other's.
        """
        self.received: list[Received] = []
        self.faults: deque[Fault] = deque()
        self._script, self._summarise, self._clock, self._models = script, summarise, clock, models
        self._seal, self._cache = Seal(key), PromptCache()
        self._histories: dict[str, list[Body]] = {}
        self._stored: dict[str, Body] = {}
        self._reasoned: dict[str, str] = {}
        self._serial = 0
        self._app = Starlette(
            routes=[
                Route("/v1/responses", self._endpoint(self._respond), methods=["POST"]),
                Route("/v1/responses/compact", self._endpoint(self._compact), methods=["POST"]),
                Route("/v1/chat/completions", self._endpoint(self._chat), methods=["POST"]),
                Route("/v1/models", self._list_models, methods=["GET"]),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request (ASGI)."""
        await self._app(scope, receive, send)

    async def _list_models(self, _request: Request) -> Response:
        entries = [{"id": name, "object": "model", "created": 0, "owned_by": "openai"} for name in self._models]
        return json_response({"object": "list", "data": entries})

    def _endpoint(self, reply: Callable[[Request, Body, float], _Reply]) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            fault = self.faults.popleft() if self.faults else None
            if isinstance(fault, Slow):
                fault.wait()
            started = self._clock()
            raw = await read_body(request)
            self._serial += 1
            body = decode_body(raw)
            status = 200
            try:
                answer = reply(request, self._opened(request, body, fault), started)
            except OpenAIRefused as refused:
                status, answer = refused.status, _Reply(body=refused.body())
                response = json_response(answer.body, status=status)
            else:
                response = _outgoing(answer, fault)
            response.headers["x-request-id"] = f"req_{digest(self._serial)}"
            if isinstance(fault, RateLimited) and fault.retry_after is not None:
                response.headers["retry-after"] = str(fault.retry_after)
            self.received.append(
                Received(
                    path=request.url.path,
                    headers=dict(request.headers),
                    raw=raw,
                    body=body or {},
                    at=started,
                    status=status,
                    answer=answer.body,
                )
            )
            return response

        return endpoint

    def _opened(self, request: Request, body: Body | None, fault: Fault | None) -> Body:
        """The body, if anything at all can be done with the request.

        Raises:
            OpenAIRefused: a fault was due, or the sender or the body is unknown.
        """
        if (refusal := _refusal_of(fault)) is not None:
            raise refusal
        if not request.headers.get("authorization", "").removeprefix("Bearer").strip():
            raise OpenAIRefused(
                "You didn't provide an API key. You need to provide your API key in an Authorization header "
                "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
                status=401,
            )
        if body is None:
            raise OpenAIRefused(
                "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
                "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
            )
        return body

    def _ask(self, request: Request, body: Body, rules: tuple[Rule, ...]) -> Asked:
        if "model" not in body:
            raise missing("model")
        model = find(self._models, body["model"])
        if model is None and rules is CHAT_RULES:
            raise OpenAIRefused(
                f"The model `{body['model']}` does not exist or you do not have access to it.",
                code="model_not_found",
                status=404,
            )
        if model is None:
            raise OpenAIRefused(
                f"The requested model '{body['model']}' does not exist.", param="model", code="model_not_found"
            )
        organization = request.headers.get("openai-organization") or request.headers["authorization"]
        asked = Asked(
            body=body,
            model=model,
            organization=digest("organization", organization),
            seal=self._seal,
            stored=self._stored,
            reasoned=self._reasoned,
        )
        asked = replace(asked, body={**body, "input": self._history(body) + asked.items}) if "input" in body else asked
        if (refusal := first_refusal(rules, asked)) is not None:
            raise refusal
        return asked

    def _history(self, body: Body) -> list[Body]:
        previous = body.get("previous_response_id")
        if previous is None:
            return []
        if previous not in self._histories:
            raise OpenAIRefused(
                f"Previous response with id '{previous}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        return self._histories[str(previous)]

    def _respond(self, request: Request, body: Body, started: float) -> _Reply:
        asked = self._ask(request, {"input": [], **body}, RESPONSES_RULES)
        identity = f"resp_{digest('response', self._serial, asked.items)}"
        visible = visible_items(asked)
        prompt = response_prompt(asked, visible)
        streamed = body.get("stream") is True
        if len(prompt.tokens) > asked.model.window and body.get("truncation") == "auto":
            while len(prompt.tokens) > asked.model.window and len(visible) > 1:
                visible = visible[1:]
                prompt = response_prompt(asked, visible)
        if len(prompt.tokens) > asked.model.window:
            refused = OpenAIRefused(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                param="input",
                code="context_length_exceeded",
            )
            if not streamed:
                raise refused
            begun = response_object(asked, identity, [], _NOTHING, started, cut=False)
            return _Reply(body=refused.body(), wire=map(named, overflow_events(begun, refused.body())))
        response = self._answered(asked, visible, prompt, started, identity)
        self._keep(asked, body, response)
        return _Reply(body=response, wire=map(named, response_events(response)) if streamed else None)

    def _answered(self, asked: Asked, visible: list[Body], prompt: Tokens, started: float, identity: str) -> Body:
        spent, output = _NOTHING, list[Body]()
        threshold = next(
            (number(entry.get("compact_threshold")) for entry in bodies(asked.body.get("context_management"))), None
        )
        asks = bool(visible) and kind_of(visible[-1]) == "compaction_trigger"
        if asks or (threshold is not None and len(prompt.tokens) >= threshold):
            item, spent = self._compacted(asked, visible, prompt, started, keeps_users=False)
            output, visible = [item], [item]
            if asks:
                return response_object(asked, identity, output, spent, started, cut=False)
            prompt = response_prompt(asked, visible)
        cached = self._cached(asked, prompt, started)
        turn = self._script({**asked.body, "input": visible})
        room = max(1, asked.model.window - len(prompt.tokens))
        limit = min(number(asked.body.get("max_output_tokens")) or asked.model.max_output, room)
        fitted = fit(turn, limit)
        made = response_items(asked, fitted, identity)
        here = Spent(input=len(prompt.tokens), cached=cached, output=fitted.output, reasoning=fitted.reasoning)
        self._note_reasoning(made)
        return response_object(asked, identity, [*output, *made], spent.plus(here), started, cut=fitted.cut)

    def _compacted(
        self, asked: Asked, visible: list[Body], prompt: Tokens, started: float, *, keeps_users: bool
    ) -> tuple[Body, Spent]:
        said = [item for item in visible if kind_of(item) != "compaction_trigger"]
        summary = summary_of(self._summarise({**asked.body, "input": said}))
        item = compaction_item(asked, summary, digest(self._serial, said), keeps_users=keeps_users)
        fitted_tokens = max(1, len(summary) // 4)
        cached = self._cached(asked, prompt, started)
        return item, Spent(input=len(prompt.tokens), cached=cached, output=fitted_tokens, reasoning=0)

    def _compact(self, request: Request, body: Body, started: float) -> _Reply:
        asked = self._ask(request, {"input": [], **body}, COMPACT_RULES)
        visible = visible_items(asked)
        prompt = response_prompt(asked, visible)
        if len(prompt.tokens) > asked.model.window:
            raise OpenAIRefused(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                param="input",
                code="context_length_exceeded",
            )
        item, spent = self._compacted(asked, visible, prompt, started, keeps_users=True)
        users = [compacted_user(message, i) for i, message in enumerate(visible) if message.get("role") == "user"]
        return _Reply(
            body={
                "id": f"resp_{digest('compacted', self._serial, asked.items)}",
                "object": "response.compaction",
                "created_at": int(started),
                "output": [*users, item],
                "usage": spent.response_usage(),
            }
        )

    def _chat(self, request: Request, body: Body, started: float) -> _Reply:
        asked = self._ask(request, body, CHAT_RULES)
        prompt = chat_prompt(asked)
        if len(prompt.tokens) > asked.model.window:
            raise OpenAIRefused(
                f"This model's maximum context length is {asked.model.window} tokens. "
                f"However, your messages resulted in {len(prompt.tokens)} tokens. "
                "Please reduce the length of the messages.",
                param="messages",
                code="context_length_exceeded",
            )
        cached = self._cached(asked, prompt, started)
        asked_limit = number(body.get("max_completion_tokens")) or number(body.get("max_tokens"))
        room = max(1, asked.model.window - len(prompt.tokens))
        fitted = fit(self._script(body), min(asked_limit or asked.model.max_output, room))
        spent = Spent(input=len(prompt.tokens), cached=cached, output=fitted.output, reasoning=fitted.reasoning)
        completion = chat_completion(asked, fitted, digest("chat", self._serial, body.get("messages")), spent, started)
        if body.get("stream") is not True:
            return _Reply(body=completion)
        with_usage = body_of(body.get("stream_options")).get("include_usage") is True

        def wire() -> Iterator[bytes]:
            yield from map(chunk, chat_chunks(completion, with_usage=with_usage))
            yield DONE

        return _Reply(body=completion, wire=wire())

    def _cached(self, asked: Asked, prompt: Tokens, started: float) -> Cached:
        route = digest(asked.organization, asked.model.name, asked.body.get("prompt_cache_key"))
        return self._cache.use(route, prompt, _lifetime(asked), started)

    def _note_reasoning(self, made: list[Body]) -> None:
        reasoning: str | None = None
        for item in made:
            if kind_of(item) == "reasoning":
                reasoning = str(item.get("id"))
            elif reasoning is not None:
                self._reasoned[str(item.get("id"))] = reasoning
                reasoning = None

    def _keep(self, asked: Asked, body: Body, response: Body) -> None:
        if body.get("store") is False:
            return
        output = bodies(response["output"])
        self._histories[str(response["id"])] = [*asked.items, *output]
        self._stored.update({str(item["id"]): item for item in output if "id" in item})


def _lifetime(asked: Asked) -> float:
    """Seconds that a prefix lives after its last use. In memory: "5 to 10 minutes" of idling; the shorter is safer."""
    if asked.model.bills_cache_writes:
        return 43_200.0 if body_of(asked.body.get("prompt_cache_options")).get("ttl") == "12h" else 1_800.0
    day = asked.model.long_retention_only or asked.body.get("prompt_cache_retention") == "24h"
    return 86_400.0 if day else 300.0


def _refusal_of(fault: Fault | None) -> OpenAIRefused | None:
    match fault:
        case Overloaded():
            return OpenAIRefused(
                "The server is currently overloaded with other requests. Sorry about that! You can retry your request.",
                status=503,
            )
        case RateLimited(retry_after=None):
            return OpenAIRefused(
                "You exceeded your current quota, please check your plan and billing details.",
                code="insufficient_quota",
                status=429,
                kind="insufficient_quota",
            )
        case RateLimited():
            return OpenAIRefused(
                "Rate limit reached for requests.", code="rate_limit_exceeded", status=429, kind="requests"
            )
        case ServerError():
            return OpenAIRefused("The server had an error while processing your request.", status=500)
        case _:
            return None


def _outgoing(reply: _Reply, fault: Fault | None) -> Response:
    wire = reply.wire
    if wire is None:
        if isinstance(fault, ErrorInStream):
            refused = OpenAIRefused("The server had an error while processing your request.", status=500)
            return json_response(refused.body(), status=500)
        response = json_response(reply.body)
        return CutResponse(response.body) if isinstance(fault, Cut) else response

    async def events() -> AsyncIterator[bytes]:
        for sent, data in enumerate(wire):
            if isinstance(fault, ErrorInStream) and sent == fault.after:
                error = OpenAIRefused("The server had an error while processing your request.", status=500).body()
                yield named(failed_event(error, sent)) if data.startswith(b"event:") else chunk(error)
                return
            yield data

    return EventStream(events(), cut_after=fault.after if isinstance(fault, Cut) else None)
