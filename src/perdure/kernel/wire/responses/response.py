"""A response body and its values.

It knows the envelope: `output`, `model`, `usage`, and how `status` tells why the model stopped. It must never know how
a stream delivers it.
"""

from __future__ import annotations

from typing import cast

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import Json, JsonObject, Message, Response, Usage, kind_of
from perdure.kernel.wire.openai import count_usage
from perdure.kernel.wire.responses.messages import decode_output, encode_message

_CUT_SHORT = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "length": "max_output_tokens",
    "refusal": "content_filter",
    "content_filter": "content_filter",
}
"""Other dialects' words for an answer that is not whole, and this one's."""

_ID_PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}


def decode_response(body: JsonObject) -> Response:
    """The values of a response.

    Raises:
        InvalidMessage: no list of output items.
    """
    output = body.get("output")
    if not isinstance(output, list):
        raise InvalidMessage(f"`output` of a response is {kind_of(output)}; a list of items is needed")
    items = [item for item in output if isinstance(item, dict)]
    if len(items) != len(output):
        raise InvalidMessage("an item of `output` is no object")
    model, usage = body.get("model"), body.get("usage")
    typed = {"output"}
    if isinstance(model, str):
        typed.add("model")
    if isinstance(usage, dict):
        typed.add("usage")
    return Response(
        message=Message(
            id="m0",
            role="assistant",
            content=decode_output(items),
            provenance="assistant",
            model=model if isinstance(model, str) else None,
            stop_reason=_stop_reason(body),
            usage=decode_usage(usage) if isinstance(usage, dict) else None,
        ),
        params={key: value for key, value in body.items() if key not in typed},
        keys=tuple(body),
    )


def encode_response(response: Response) -> JsonObject:
    """The body of a response: as it came, or, where it came in another dialect, as OpenAI would say the same.

    Raises:
        UntranslatableBlock: a block that has no form here.
    """
    message = response.message
    output: list[Json] = [*encode_message(message)]
    if "output" not in response.keys:
        return _translated(response, output)
    body: JsonObject = {**response.params, "output": output}
    if message.model is not None:
        body["model"] = message.model
    if message.usage is not None:
        body["usage"] = encode_usage(message.usage)
    return {key: body[key] for key in response.keys if key in body} | body


def decode_usage(raw: JsonObject) -> Usage:
    """Usage as values."""
    return count_usage(raw, total="input_tokens", output="output_tokens", details="input_tokens_details")


def encode_usage(usage: Usage) -> JsonObject:
    """The usage object: the provider's own, if it is of this dialect, else one with the same counts."""
    raw = usage.raw
    if raw is not None and decode_usage(raw) == usage and "cache_read_input_tokens" not in raw:
        return raw
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }


def _stop_reason(body: JsonObject) -> str | None:
    status, details = body.get("status"), body.get("incomplete_details")
    if status == "incomplete" and isinstance(details, dict) and isinstance(details.get("reason"), str):
        return cast("str", details["reason"])
    return status if isinstance(status, str) and status not in ("in_progress", "queued") else None


def _translated(response: Response, output: list[Json]) -> JsonObject:
    message = response.message
    reason = _CUT_SHORT.get(message.stop_reason or "")
    name = str(response.params.get("id") or message.id)
    body: JsonObject = {
        "id": name,
        "object": "response",
        "created_at": int(message.time or 0),
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": message.model or "",
        "output": [_named(item, name, place) for place, item in enumerate(cast("list[JsonObject]", output))],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if message.usage is not None:
        body["usage"] = encode_usage(message.usage)
    return body


def _named(item: JsonObject, response: str, place: int) -> Json:
    """An output item with the fields that OpenAI's clients rely on: `id`, `status`, and `annotations` of a text."""
    prefix = _ID_PREFIXES.get(str(item.get("type")))
    if prefix is None:
        return item
    named: JsonObject = {"id": f"{prefix}_{response}_{place}", "status": "completed", **item}
    parts = named.get("content")
    if isinstance(parts, list):
        named["content"] = [
            {"annotations": [], **part} if isinstance(part, dict) and part.get("type") == "output_text" else part
            for part in parts
        ]
    return named
