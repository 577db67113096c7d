"""A response body and its values.

It knows the envelope: `choices`, `model`, `usage`. It must never know how a stream delivers it. The first choice is the
message; its envelope, and any further choice whole, stay in `params` under `choices`.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.kernel.errors import InvalidMessage, UntranslatableBlock
from perdure.kernel.messages import Json, JsonObject, Response, Usage, kind_of
from perdure.kernel.wire.chat.messages import decode_message, encode_message
from perdure.kernel.wire.openai import count_usage, template

_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""Other dialects' words for why a model stopped, and this one's."""


def decode_response(body: JsonObject) -> Response:
    """The values of a response.

    Raises:
        InvalidMessage: no choice with a message.
    """
    match body.get("choices"):
        case [{"message": dict(given)} as choice, *others]:
            pass
        case other:
            raise InvalidMessage(f"`choices` of a response ({kind_of(other)}) has no first choice with a message")
    model, usage = body.get("model"), body.get("usage")
    decoded = decode_message(given, "m0")
    if decoded.role != "assistant":
        raise InvalidMessage(f"the message of a response has the role {given.get('role')!r}; `assistant` is needed")
    reason = choice.get("finish_reason")
    params: JsonObject = {**body, "choices": [template(choice, ("message",)), *others]}
    if isinstance(model, str):
        del params["model"]
    if isinstance(usage, dict):
        del params["usage"]
    message = replace(
        decoded,
        model=model if isinstance(model, str) else None,
        stop_reason=reason if isinstance(reason, str) else None,
        usage=decode_usage(usage) if isinstance(usage, dict) else None,
    )
    return Response(message=message, params=params, keys=tuple(body))


def encode_response(response: Response) -> JsonObject:
    """The body of a response: as it came, or, where it came in another dialect, as OpenAI would say the same.

    Raises:
        UntranslatableBlock: a block that has no form here.
    """
    message = response.message
    match encode_message(message):
        case [item]:
            pass
        case []:
            item: JsonObject = {"role": "assistant", "content": None}
        case _:
            raise UntranslatableBlock("this response makes several chat messages; leave one")
    match response.params.get("choices"):
        case [dict(choice), *others] if "choices" in response.keys:
            pass
        case _:
            return _translated(response, item)
    body: JsonObject = {**response.params, "choices": [{**choice, "message": item}, *others]}
    if message.model is not None:
        body["model"] = message.model
    if message.usage is not None:
        body["usage"] = encode_usage(message.usage)
    return {key: body[key] for key in response.keys if key in body} | body


def decode_usage(raw: JsonObject) -> Usage:
    """Usage as values."""
    return count_usage(raw, total="prompt_tokens", output="completion_tokens", details="prompt_tokens_details")


def encode_usage(usage: Usage) -> JsonObject:
    """The usage object: the provider's own, if it is of this dialect, else one with the same counts."""
    if usage.raw is not None and "prompt_tokens" in usage.raw and decode_usage(usage.raw) == usage:
        return usage.raw
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }


def _translated(response: Response, item: JsonObject) -> JsonObject:
    message = response.message
    reason = message.stop_reason or "stop"
    choice: Json = {"index": 0, "message": item, "finish_reason": _finish_reason(reason, item)}
    name = str(response.params.get("id") or message.id)
    body: JsonObject = {
        "id": name,
        "object": "chat.completion",
        "created": int(message.time or 0),
        "model": message.model or "",
        "choices": [choice],
    }
    if message.usage is not None:
        body["usage"] = encode_usage(message.usage)
    return body


def _finish_reason(reason: str, item: JsonObject) -> str:
    said = _FINISH_REASONS.get(reason, reason)
    return "tool_calls" if said == "stop" and "tool_calls" in item else said
