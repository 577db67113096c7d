"""Requests as they went over the wire: bodies of Anthropic's or OpenAI's APIs, alone or with response and time.

It knows what a body and its envelope are. It must never know a file. `conversations` sorts the requests: each carries
its whole history, so that what a request repeats is recognised and only what is new is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import Json, JsonObject, Request, Response, decode_json
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect
from perdure.lab.readers.conversations import Conversations, Exchange
from perdure.lab.readers.decode import codec_of, dialect_of
from perdure.lab.readers.fields import items, part, seconds, text
from perdure.lab.readers.format import Format, Input, Line, Sample, Troubles
from perdure.lab.recording import Recording

_BESIDE_MESSAGES = frozenset({"model", "max_tokens", "max_completion_tokens", "system", "tools", "stream"})
"""Fields that tell a body from a mere list of messages in an object."""

_TIMES = ("time", "timestamp", "created_at", "started_at", "ts")


@value
class _Wrapped:
    body: JsonObject
    response: Json
    time: float | None


def _recognises_anthropic(sample: Sample) -> bool:
    found = _first(sample)
    return found is not None and body_dialect(found.body) == "anthropic"


def _recognises_openai(sample: Sample) -> bool:
    found = _first(sample)
    return found is not None and body_dialect(found.body) != "anthropic"


def _read_anthropic(given: Input) -> Iterator[Recording]:
    return _read(given, ANTHROPIC_REQUESTS.name)


def _read_openai(given: Input) -> Iterator[Recording]:
    return _read(given, OPENAI_REQUESTS.name)


ANTHROPIC_REQUESTS = Format(
    name="raw-anthropic",
    about="request bodies of Anthropic's API (JSONL, or a JSON list)",
    layout="either",
    recognises=_recognises_anthropic,
    read=_read_anthropic,
)

OPENAI_REQUESTS = Format(
    name="raw-openai",
    about="request bodies of OpenAI's APIs (JSONL, or a JSON list)",
    layout="either",
    recognises=_recognises_openai,
    read=_read_openai,
)


def body_dialect(body: JsonObject) -> Dialect:
    """The dialect of a request body."""
    if "messages" not in body:
        return "responses"
    if "system" in body or "anthropic_version" in body:
        return "anthropic"
    tools = [tool for tool in items(body, "tools") if isinstance(tool, dict)]
    if any("function" in tool for tool in tools) or "max_completion_tokens" in body or "stream_options" in body:
        return "chat"
    if any("input_schema" in tool for tool in tools):
        return "anthropic"
    model = text(body, "model") or ""
    found = dialect_of(items(body, "messages"))
    return "chat" if found == "anthropic" and model.startswith(("gpt", "o1", "o3", "o4", "openai/")) else found


def _first(sample: Sample) -> _Wrapped | None:
    whole = sample.document
    candidates: list[Json] = [*sample.lines, *(whole if isinstance(whole, list) else (whole,))]
    return next((found for one in candidates[:64] if (found := _wrapped(one)) is not None), None)


def _wrapped(value: Json) -> _Wrapped | None:
    """The body in a value, with what was recorded beside it."""
    if not isinstance(value, dict):
        return None
    if _is_body(value):
        return _Wrapped(body=value, response=None, time=None)
    for key in ("request", "body"):
        inner = _opened(value.get(key))
        body = inner if _is_body(inner) else _opened(inner.get("body"))
        if _is_body(body):
            times = (seconds(value.get(name)) for name in _TIMES)
            time = next((one for one in times if one is not None), None)
            return _Wrapped(body=body, response=value.get("response"), time=time)
    return None


def _opened(value: Json) -> JsonObject:
    """An object, also where it was recorded as its text."""
    if isinstance(value, str):
        try:
            value = decode_json(value)
        except InvalidJson:
            return {}
    return value if isinstance(value, dict) else {}


def _is_body(value: JsonObject) -> bool:
    if isinstance(value.get("messages"), list):
        return not _BESIDE_MESSAGES.isdisjoint(value) and "info" not in value
    return isinstance(value.get("input"), str | list) and isinstance(value.get("model"), str)


def _read(given: Input, format: str) -> Iterator[Recording]:
    conversations = Conversations(file=given.file, format=format, troubles=given.troubles)
    for line in chain.from_iterable(_spread(one) for one in given.lines):
        found = _wrapped(line.value)
        if found is None:
            given.troubles.add(line.number, "not a request body")
            continue
        exchange = _exchange(found, line, given.troubles)
        if exchange is not None:
            conversations.take(exchange)
    yield from conversations.recordings()


def _spread(line: Line) -> Iterator[Line]:
    """The elements of a list; anything else as it is."""
    if isinstance(line.value, list):
        for value in line.value:
            yield Line(number=line.number, value=value)
    else:
        yield line


def _exchange(found: _Wrapped, line: Line, troubles: Troubles) -> Exchange | None:
    dialect = body_dialect(found.body)
    try:
        request: Request = codec_of(dialect).decode_request(found.body)
    except (InvalidJson, InvalidMessage) as error:
        troubles.add(line.number, f"a request cannot be decoded: {error}")
        return None
    response = _response(found.response, dialect, line, troubles)
    return Exchange(line=line.number, dialect=dialect, request=request, response=response, time=found.time)


def _response(given: Json, dialect: Dialect, line: Line, troubles: Troubles) -> Response | None:
    """What was answered: a response body, or the events of a stream."""
    codec = codec_of(dialect)
    try:
        if isinstance(given, list):
            stream = codec.stream()
            for event in given:
                if isinstance(event, dict):
                    stream.feed(event)
            return stream.response()
        body = _opened(given)
        body = part(body, "body") or body
        return codec.decode_response(body) if {"content", "choices", "output"} & body.keys() else None
    except (InvalidJson, InvalidMessage) as error:
        troubles.add(line.number, f"a response cannot be decoded: {error}")
        return None
