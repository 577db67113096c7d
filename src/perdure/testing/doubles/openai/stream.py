"""OpenAI's answers as server-sent events.

It knows the events of the Responses API and the chunks of Chat Completions. It must never change what an answer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from perdure.kernel.messages import encode_json
from perdure.testing.doubles.shape import Body, bodies, body_of, without

_CHUNK = 48
"""Characters per delta: small enough that clients see several."""

DONE = b"data: [DONE]\n\n"


def named(event: Body) -> bytes:
    """One event of the Responses API on the wire."""
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + encode_json(event) + b"\n\n"


def chunk(value: Body) -> bytes:
    """One chunk of Chat Completions on the wire."""
    return b"data: " + encode_json(value) + b"\n\n"


def response_events(response: Body) -> Iterator[Body]:
    """All events of a response, numbered."""
    numbers = count()
    for event in _events(response):
        yield {**event, "sequence_number": next(numbers)}


def overflow_events(response: Body, error: Body) -> Iterator[Body]:
    """A stream that begins and finds that the input does not fit: the refusal comes as an event."""
    begun: Body = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun, "sequence_number": 0}
    yield {"type": "response.in_progress", "response": begun, "sequence_number": 1}
    yield failed_event(error, 2)
    failure = {"code": body_of(error["error"]).get("code"), "message": body_of(error["error"]).get("message")}
    yield {
        "type": "response.failed",
        "response": {**begun, "status": "failed", "error": failure},
        "sequence_number": 3,
    }


def failed_event(error: Body, number: int) -> Body:
    """An error in the middle of a stream. The SDK's type is flat; recorded streams nest it, as here."""
    return {"type": "error", "error": error["error"], "sequence_number": number}


def _events(response: Body) -> Iterator[Body]:
    begun: Body = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(bodies(response.get("output"))):
        at: Body = {"output_index": index}
        yield {"type": "response.output_item.added", **at, "item": _opened(item)}
        for event in _inside(item):
            yield {**event, **at, "item_id": item.get("id")}
        yield {"type": "response.output_item.done", **at, "item": item}
    end = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
    yield {"type": end, "response": response}


def _opened(item: Body) -> Body:
    match item.get("type"):
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case "reasoning":
            return {**without(item, "encrypted_content"), "summary": []}
        case "compaction":
            return {**item, "encrypted_content": ""}
        case _:
            return item


def _inside(item: Body) -> Iterator[Body]:
    match item.get("type"):
        case "message":
            for index, part in enumerate(bodies(item.get("content"))):
                at: Body = {"content_index": index}
                yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
                for piece in _pieces(str(part.get("text"))):
                    yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                yield {"type": "response.output_text.done", **at, "text": part.get("text"), "logprobs": []}
                yield {"type": "response.content_part.done", **at, "part": part}
        case "function_call":
            for piece in _pieces(str(item["arguments"])):
                yield {"type": "response.function_call_arguments.delta", "delta": piece}
            yield {
                "type": "response.function_call_arguments.done",
                "name": item["name"],
                "arguments": item["arguments"],
            }
        case "reasoning":
            for index, part in enumerate(bodies(item.get("summary"))):
                at = {"summary_index": index}
                yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
                for piece in _pieces(str(part["text"])):
                    yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
                yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
                yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
        case "compaction":
            yield {"type": "response.compaction.compacting"}
        case _:
            return


def chat_chunks(completion: Body, *, with_usage: bool) -> Iterator[Body]:
    """All chunks of a chat completion; the usage is a last one without choices, if asked for."""
    frame = {**without(completion, "choices", "usage"), "object": "chat.completion.chunk"}
    choice = bodies(completion["choices"])[0]
    message = body_of(choice["message"])

    def delta(value: Body, reason: str | None = None) -> Body:
        choices = [{"index": 0, "delta": value, "logprobs": None, "finish_reason": reason}]
        return {**frame, "choices": choices, **({"usage": None} if with_usage else {})}

    yield delta({"role": "assistant", "content": "", "refusal": None})
    for piece in _pieces(message.get("content") or ""):
        yield delta({"content": piece})
    for index, call in enumerate(bodies(message.get("tool_calls"))):
        function = body_of(call["function"])
        yield delta({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        for piece in _pieces(str(function["arguments"])):
            yield delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield delta({}, str(choice["finish_reason"]))
    if with_usage:
        yield {**frame, "choices": [], "usage": completion["usage"]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _CHUNK):
        yield text[start : start + _CHUNK]
