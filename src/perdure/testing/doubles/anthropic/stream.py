"""A response as server-sent events.

It knows the events of the Messages API and their order. It must never change what a response says: put together again,
the events are the response.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.messages import encode_json
from perdure.testing.doubles.shape import Body, as_text, bodies, body_of, without

_CHUNK = 48
"""Characters per delta: small enough that clients see several."""


def sse(event: Body) -> bytes:
    """One event on the wire."""
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + encode_json(event) + b"\n\n"


PING: Body = {"type": "ping"}


def events(message: Body) -> Iterator[Body]:
    """All events of a response. Input transformations and diagnostics come first, context management last."""
    usage = body_of(message.get("usage"))
    start: Body = {**without(message, "context_management"), "content": [], "stop_reason": None, "stop_sequence": None}
    start["usage"] = {**without(usage, "iterations"), "output_tokens": min(1, int(usage["output_tokens"]))}
    yield {"type": "message_start", "message": start}
    yield PING
    for index, block in enumerate(bodies(message.get("content"))):
        yield {"type": "content_block_start", "index": index, "content_block": _opened(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end: Body = {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]},
        # The split by lifetime is not among the counters of this event.
        "usage": without(usage, "cache_creation", "service_tier"),
    }
    if "context_management" in message:
        end["context_management"] = message["context_management"]
    yield end
    yield {"type": "message_stop"}


def _opened(block: Body) -> Body:
    match block.get("type"):
        case "text":
            return {**block, "text": ""}
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}
        case "compaction" if "signature" not in block:
            return {**block, "content": None, "encrypted_content": None}
        case _:
            # Whole at once: redacted thinking, results of server tools, a signed compaction block.
            return block


def _deltas(block: Body) -> Iterator[Body]:
    match block.get("type"):
        case "text":
            for piece in _pieces(str(block["text"])):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _pieces(str(block["thinking"])):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use" | "server_tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in _pieces(as_text(block["input"]) if block["input"] else ""):
                yield {"type": "input_json_delta", "partial_json": piece}
        case "compaction" if "signature" not in block:
            # Exactly one, with the whole summary.
            yield {
                "type": "compaction_delta",
                "content": block["content"],
                "encrypted_content": block["encrypted_content"],
            }
        case _:
            return


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _CHUNK):
        yield text[start : start + _CHUNK]
