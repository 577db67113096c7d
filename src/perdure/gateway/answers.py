"""Answers that the gateway makes itself, in the forms of each protocol.

It knows the shapes of bodies around a compaction block. It must never know how a summary came about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.gateway.call import Call
from perdure.gateway.door import Reply, json_reply
from perdure.gateway.refusals import framed
from perdure.gateway.upstream import HOP
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, Response, Usage, decode_object
from perdure.kernel.wire import ANTHROPIC, RESPONSES

_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers of an answer whose body is made anew."""
    left_out = HOP | {"content-encoding", "content-length", "etag"}
    return {name: value for name, value in headers.items() if name not in left_out}


def iteration(response: Response) -> JsonObject:
    """The entry of `usage.iterations` for a summary."""
    usage = response.message.usage or Usage()
    return {
        "type": "compaction",
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }


def message_iteration(usage: Mapping[str, Json], model: str) -> JsonObject:
    """The entry of `usage.iterations` for an answer."""
    return {"type": "message", "model": model, **{name: usage.get(name) or 0 for name in _COUNTS}}


def with_block(call: Call, body: JsonObject, block: JsonObject | None, iterations: Sequence[JsonObject]) -> JsonObject:
    """An answer behind a compaction block; what the summary cost stands in `usage.iterations` alone."""
    if block is None:
        return body
    place = "content" if call.dialect == "anthropic" else "output"
    said = body.get(place)
    body[place] = [block, *(said if isinstance(said, list) else [])]
    usage = body.get("usage")
    if call.dialect == "anthropic" and isinstance(usage, dict):
        body["usage"] = {**usage, "iterations": [*iterations, message_iteration(usage, call.model)]}
    return body


def paused(call: Call, iterations: Sequence[JsonObject], block: JsonObject | None) -> Reply:
    """An answer that ends behind its compaction block."""
    return _told(call, [block] if block else [], "compaction", iterations)


def message_of(call: Call, block: JsonObject | None, reason: str, response: Response) -> Reply:
    """The answer to a compaction on demand: a block, or nothing and why."""
    return _told(call, [block] if block else [], reason, (iteration(response),))


def _told(call: Call, content: list[JsonObject], reason: str, iterations: Sequence[JsonObject]) -> Reply:
    body: JsonObject = {
        "id": f"msg_{call.id}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [*content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {**dict.fromkeys(_COUNTS, 0), "iterations": [*iterations]},
    }
    if not call.streams:
        return json_reply(body)
    events = ANTHROPIC.encode_events(ANTHROPIC.decode_response(body))
    raw = b"".join(framed("anthropic", event) for event in events)
    return Reply(headers={"content-type": "text/event-stream; charset=utf-8"}, body=raw)


def openai_block(call: Call, item: JsonObject, response: Response, created: int) -> Reply:
    """The answer to a `compaction_trigger`."""
    body: JsonObject = {
        "id": f"resp_{call.id}",
        "object": "response",
        "created_at": created,
        "status": "completed",
        "model": call.model,
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": openai_usage(response),
    }
    if not call.streams:
        return json_reply(body)
    events = RESPONSES.encode_events(RESPONSES.decode_response(body))
    raw = b"".join(framed("responses", event) for event in events)
    return Reply(headers={"content-type": "text/event-stream; charset=utf-8"}, body=raw)


def window_item(item: JsonObject) -> JsonObject:
    """A message of the user's as `/responses/compact` gives it back."""
    content = item.get("content")
    parts: Json = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"type": "message", "status": "completed", **item, "content": parts}


def openai_usage(response: Response) -> JsonObject:
    """Counts in the words of the Responses API."""
    usage = response.message.usage or Usage()
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }


def counted(raw: bytes, headers: Mapping[str, str], saved: int) -> Reply:
    """A count with what it would be without edits."""
    try:
        body = decode_object(raw)
    except InvalidJson:
        return Reply(headers=kept_headers(headers), body=raw)
    after = body.get("input_tokens")
    if isinstance(after, int):
        body["context_management"] = {"original_input_tokens": after + saved}
    return json_reply(body)
