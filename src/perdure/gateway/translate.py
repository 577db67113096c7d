"""A call in the words of another dialect, and its answer back in the client's.

It knows the fields beside messages, which every dialect names otherwise. It must never drop what it has no word for: it
refuses. Two things stay behind on purpose, since no other model can read them: the signed thinking of one provider's
models, and the hints that only a provider's own cache or accounting understands.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.gateway.answers import kept_headers
from perdure.gateway.call import Call
from perdure.gateway.door import Reply, json_reply
from perdure.gateway.exchange import Denied
from perdure.gateway.refusals import error_body
from perdure.gateway.upstream import Outgoing
from perdure.kernel.errors import CallRefused, UntranslatableBlock
from perdure.kernel.messages import (
    Json,
    JsonObject,
    Message,
    RedactedThinking,
    Request,
    Response,
    Text,
    Thinking,
    Usage,
    decode_object,
    kind_of,
)
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect

USUAL_MAX = 8_192
"""Tokens of an answer, where the client named none and Anthropic wants to know."""

IGNORED: dict[Dialect, frozenset[str]] = {
    "anthropic": frozenset({
        "metadata", "service_tier", "cache_control", "diagnostics", "top_k",
        "speed", "inference_geo", "context_management",
    }),
    "chat": frozenset({
        "stream_options", "user", "metadata", "store", "prompt_cache_key", "prompt_cache_retention",
        "safety_identifier",
        "service_tier", "prompt_cache_options", "seed", "verbosity",
    }),
    "responses": frozenset({
        "include", "user", "metadata", "store", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
        "service_tier", "truncation", "prompt_cache_options", "client_metadata", "context_management", "background",
    }),
}  # fmt: skip
"""Hints without a meaning to another provider: accounting, caching, storage."""


@value
class Options:
    """How an answer is to be made, in no dialect's words."""

    most: int | None = None
    stops: tuple[str, ...] = ()
    stream: bool = False
    temperature: float | None = None
    top_p: float | None = None
    choice: str | None = None
    """`auto`, `any`, `none`, or `tool`."""
    tool: str = ""
    """The name, where the choice is `tool`."""
    parallel: bool | None = None
    effort: str | None = None
    schema: JsonObject | None = None
    """JSON schema of the answer."""


def upstream_body(call: Call, request: Request) -> Outgoing:
    """The request as it goes out.

    Raises:
        CallRefused: something has no form in the upstream's dialect.
    """
    betas = ("thinking-binding-controls-2026-08-01",) if _binds(request) else ()
    if call.translated:
        request = replace(_neutral(request, call.route.dialect), params=_params(call, request))
    try:
        return call.outgoing(call.upstream_codec.encode_request(request), betas=betas)
    except UntranslatableBlock as error:
        raise CallRefused(f"this cannot be said to the model behind this gateway: {error}") from error


def client_answer(call: Call, answer: Response) -> JsonObject:
    """The body of an answer in the client's dialect.

    Raises:
        CallRefused: a block has no form in it.
    """
    if not call.translated:
        return decode_object(call.codec.encode_response(answer))
    message = answer.message
    reason = _REASONS[call.dialect].get(message.stop_reason or "", message.stop_reason or "end_turn")
    if call.dialect == "anthropic" and message.tool_uses and reason == "end_turn":
        reason = "tool_use"
    content = tuple(block for block in message.content if not _unreadable(block, call.dialect))
    said = replace(
        message, content=content, model=call.model, stop_reason=reason, usage=_usage(message.usage), extra=None
    )
    params: JsonObject = {"id": f"{_NAMES[call.dialect]}{call.id}"}
    if call.dialect == "anthropic":
        params |= {"type": "message", "stop_sequence": None}
    try:
        body = decode_object(call.codec.encode_response(Response(message=said, params=params)))
    except UntranslatableBlock as error:
        raise CallRefused(f"the model's answer cannot be said in this protocol: {error}", status=502) from error
    if call.dialect == "anthropic" and not isinstance(body.get("usage"), dict):
        body["usage"] = {"input_tokens": 0, "output_tokens": 0}
    return body


def client_refusal(call: Call, denied: Denied) -> Reply:
    """An upstream's refusal as the client hears it: as it came, or in the client's own form."""
    headers = kept_headers(denied.headers)
    if not call.translated:
        return Reply(status=denied.status, headers=headers, body=denied.body)
    code = denied.failure.code if call.dialect != "anthropic" else ""
    refused = CallRefused(denied.failure.message or "the upstream refused", status=denied.status, code=code)
    wanted = {name: headers[name] for name in ("retry-after", "retry-after-ms") if name in headers}
    return json_reply(error_body(call.dialect, refused, call.id), status=denied.status, headers=wanted)


_NAMES: dict[Dialect, str] = {"anthropic": "msg_", "chat": "chatcmpl-", "responses": "resp_"}

_REASONS: dict[Dialect, dict[str, str]] = {
    "anthropic": {
        "stop": "end_turn", "completed": "end_turn", "tool_calls": "tool_use", "length": "max_tokens",
        "max_output_tokens": "max_tokens", "content_filter": "refusal", "incomplete": "max_tokens",
    },
    "chat": {"completed": "stop", "incomplete": "length"},
    "responses": {
        "end_turn": "completed", "tool_use": "completed", "stop": "completed", "tool_calls": "completed",
        "stop_sequence": "completed", "length": "incomplete", "max_tokens": "incomplete",
    },
}  # fmt: skip


def _usage(usage: Usage | None) -> Usage | None:
    return replace(usage, raw=None) if usage else None


def _unreadable(block: object, dialect: Dialect) -> bool:
    return isinstance(block, Thinking | RedactedThinking) and dialect != "anthropic"


def _binds(request: Request) -> bool:
    thinking = request.params.get("thinking")
    return isinstance(thinking, dict) and "block_binding" in thinking


def _neutral(request: Request, dialect: Dialect) -> Request:
    """Messages without what only their own provider reads; system messages at the head become the system prompt."""
    messages = [_readable(message) for message in request.messages]
    messages = [message for message in messages if message.content]
    system = list(request.system)
    while dialect == "anthropic" and messages and messages[0].role in ("system", "developer"):
        system.extend(block for block in messages.pop(0).content if isinstance(block, Text))
    if dialect == "anthropic":
        messages = [replace(one, role="system") if one.role == "developer" else one for one in messages]
        system = [replace(block, extra=None) if isinstance(block, Text) else block for block in system]
    return replace(request, messages=tuple(messages), system=tuple(system), marks=(), system_plain=False, plain=False)


def _readable(message: Message) -> Message:
    kept = tuple(block for block in message.content if not isinstance(block, Thinking | RedactedThinking))
    return message if len(kept) == len(message.content) else replace(message, content=kept)


def _params(call: Call, request: Request) -> JsonObject:
    given = {name: value for name, value in request.params.items() if name not in IGNORED[call.dialect]}
    readers = {"anthropic": _from_anthropic, "chat": _from_chat, "responses": _from_responses}
    writers = {"anthropic": _to_anthropic, "chat": _to_chat, "responses": _to_responses}
    options = readers[call.dialect](given)
    if given:
        raise CallRefused(f"{min(given)}: the model behind this gateway has no such option; leave it out")
    return writers[call.route.dialect](options)


def _from_anthropic(given: JsonObject) -> Options:
    choice = given.pop("tool_choice", None)
    thinking, config = given.pop("thinking", None), given.pop("output_config", None)
    stops = given.pop("stop_sequences", None)
    effort = config.get("effort") if isinstance(config, dict) else None
    form = config.get("format") if isinstance(config, dict) else None
    kind = choice.get("type") if isinstance(choice, dict) else None
    return Options(
        most=_number(given.pop("max_tokens", None)),
        stops=_strings(stops),
        stream=given.pop("stream", None) is True,
        temperature=_float(given.pop("temperature", None)),
        top_p=_float(given.pop("top_p", None)),
        choice=str(kind) if kind else None,
        tool=str(choice.get("name", "")) if isinstance(choice, dict) else "",
        parallel=False if isinstance(choice, dict) and choice.get("disable_parallel_tool_use") is True else None,
        effort=str(effort) if effort else _effort_of(thinking),
        schema=_schema(form, "schema"),
    )


def _from_chat(given: JsonObject) -> Options:
    if given.pop("n", 1) not in (1, None):
        raise CallRefused("n: one answer at a time is all that the model behind this gateway gives")
    most = given.pop("max_completion_tokens", None), given.pop("max_tokens", None)
    choice, tool = _openai_choice(given.pop("tool_choice", None))
    form = given.pop("response_format", None)
    inner = form.get("json_schema") if isinstance(form, dict) else None
    effort = given.pop("reasoning_effort", None)
    stops = given.pop("stop", None)
    return Options(
        most=next((number for value in most if (number := _number(value)) is not None), None),
        stops=(stops,) if isinstance(stops, str) else _strings(stops),
        stream=given.pop("stream", None) is True,
        temperature=_float(given.pop("temperature", None)),
        top_p=_float(given.pop("top_p", None)),
        choice=choice,
        tool=tool,
        parallel=_flag(given.pop("parallel_tool_calls", None)),
        effort=effort if isinstance(effort, str) else None,
        schema=_schema(inner, "schema"),
    )


def _from_responses(given: JsonObject) -> Options:
    if given.get("previous_response_id") is not None:
        raise CallRefused("previous_response_id: the history has to come with each request here")
    given.pop("previous_response_id", None)
    choice, tool = _openai_choice(given.pop("tool_choice", None))
    reasoning, text = given.pop("reasoning", None), given.pop("text", None)
    form = text.get("format") if isinstance(text, dict) else None
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return Options(
        most=_number(given.pop("max_output_tokens", None)),
        stream=given.pop("stream", None) is True,
        temperature=_float(given.pop("temperature", None)),
        top_p=_float(given.pop("top_p", None)),
        choice=choice,
        tool=tool,
        parallel=_flag(given.pop("parallel_tool_calls", None)),
        effort=effort if isinstance(effort, str) else None,
        schema=_schema(form, "schema"),
    )


def _to_anthropic(options: Options) -> JsonObject:
    params: JsonObject = {"max_tokens": options.most or USUAL_MAX}
    if options.stream:
        params["stream"] = True
    if options.stops:
        params["stop_sequences"] = [*options.stops]
    if options.choice or options.parallel is False:
        choice: JsonObject = {"type": options.choice or "auto"}
        if options.choice == "tool":
            choice["name"] = options.tool
        if options.parallel is False and options.choice != "none":
            choice["disable_parallel_tool_use"] = True
        params["tool_choice"] = choice
    config: JsonObject = {}
    if options.effort in ("low", "medium", "high"):
        config["effort"] = options.effort
    if options.schema is not None:
        config["format"] = {"type": "json_schema", "schema": options.schema}
    if config:
        params["output_config"] = config
    return params | _sampling(options)


def _to_chat(options: Options) -> JsonObject:
    params: JsonObject = {}
    if options.most is not None:
        params["max_completion_tokens"] = options.most
    if options.stream:
        params |= {"stream": True, "stream_options": {"include_usage": True}}
    if options.stops:
        params["stop"] = [*options.stops]
    if options.choice:
        function: JsonObject = {"type": "function", "function": {"name": options.tool}}
        params["tool_choice"] = function if options.choice == "tool" else _OPENAI_CHOICES.get(options.choice, "auto")
    if options.parallel is not None:
        params["parallel_tool_calls"] = options.parallel
    if options.effort:
        params["reasoning_effort"] = options.effort
    if options.schema is not None:
        inner: JsonObject = {"name": "answer", "schema": options.schema}
        params["response_format"] = {"type": "json_schema", "json_schema": inner}
    return params | _sampling(options)


def _to_responses(options: Options) -> JsonObject:
    if options.stops:
        raise CallRefused("stop_sequences: the Responses API behind this gateway has none; leave them out")
    params: JsonObject = {"store": False}
    if options.most is not None:
        params["max_output_tokens"] = options.most
    if options.stream:
        params["stream"] = True
    if options.choice:
        function: JsonObject = {"type": "function", "name": options.tool}
        params["tool_choice"] = function if options.choice == "tool" else _OPENAI_CHOICES.get(options.choice, "auto")
    if options.parallel is not None:
        params["parallel_tool_calls"] = options.parallel
    if options.effort:
        params["reasoning"] = {"effort": options.effort}
    if options.schema is not None:
        params["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": options.schema}}
    return params | _sampling(options)


_OPENAI_CHOICES: dict[str, str] = {"auto": "auto", "any": "required", "none": "none"}


def _openai_choice(given: Json) -> tuple[str | None, str]:
    match given:
        case None:
            return None, ""
        case "auto" | "none":
            return str(given), ""
        case "required":
            return "any", ""
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)}:
            return "tool", name
        case _:
            raise CallRefused(
                f"tool_choice: {kind_of(given)} of a kind that the model behind this gateway does not know"
            )


def _sampling(options: Options) -> JsonObject:
    told: JsonObject = {"temperature": options.temperature, "top_p": options.top_p}
    return {name: value for name, value in told.items() if value is not None}


def _effort_of(thinking: Json) -> str | None:
    """A budget of thinking as an effort; the bounds are ours, since no provider gives any."""
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int):
        return None
    return "low" if budget < 4_096 else "medium" if budget < 16_384 else "high"


def _schema(given: Json, name: str) -> JsonObject | None:
    value = given.get(name) if isinstance(given, dict) else None
    return value if isinstance(value, dict) else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
