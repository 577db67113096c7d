"""From a response to the events of its stream, for whoever serves a client that asked for one.

It knows what a stream tells when. It must never split text into pieces: one delta carries it all. Decoding the events
gives the response again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import (
    Block,
    Compaction,
    Json,
    JsonObject,
    Response,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    encode_json,
)
from perdure.kernel.wire.anthropic.encode import envelope
from perdure.kernel.wire.anthropic.encode_blocks import block_object

_KNOWN_AT_THE_END = ("stop_reason", "stop_sequence", "stop_details", "container")
_COUNTED_AT_THE_END = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
    "iterations",
    "fallback_credit",
)


def encode_events(response: Response) -> Iterator[JsonObject]:
    """The events of this response: the `data` of each server-sent event, whose name is its `type`.

    Raises:
        UntranslatableBlock: a block has no form in this dialect.
    """
    whole = envelope(response, [])
    late: JsonObject = {name: whole[name] for name in _KNOWN_AT_THE_END if name in whole}
    managed = whole.get("context_management")
    counted = whole.get("usage")
    opening = whole | dict.fromkeys(late)
    ending: JsonObject = {"type": "message_delta", "delta": late}
    if managed is not None:
        opening["context_management"] = None
        ending["context_management"] = managed
    if isinstance(counted, dict):
        ending["usage"] = {name: counted[name] for name in _COUNTED_AT_THE_END if counted.get(name) is not None}
        opening["usage"] = counted | ({"output_tokens": 0} if counted.get("output_tokens") is not None else {})
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(response.message.content):
        start, deltas = _split(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield ending
    yield {"type": "message_stop"}


def _split(block: Block) -> tuple[JsonObject, list[JsonObject]]:
    """A block as it starts, and what is told of it afterwards."""
    match block:
        case ToolUse(raw_input=str() as text):
            return _cut_off_call(block, text)
        case ToolUse() | ServerToolUse():
            whole = block_object(block)
            text = encode_json(whole["input"]).decode() if block.input else ""
            return whole | {"input": {}}, [{"type": "input_json_delta", "partial_json": text}]
        case Text(text=text):
            return _split_text(block_object(block), text)
        case Thinking(thinking=thinking, signature=signature):
            start = block_object(block) | {"thinking": "", "signature": ""}
            told: list[JsonObject] = [{"type": "thinking_delta", "thinking": thinking}] if thinking else []
            return start, [*told, {"type": "signature_delta", "signature": signature}]
        case Compaction(content=content, encrypted_content=hidden, signature=None):
            start = block_object(block)
            late: JsonObject = {"content": content, "encrypted_content": hidden}
            late = {name: value for name, value in late.items() if name in start}
            return start | dict.fromkeys(late), [{"type": "compaction_delta", **late}]
        case _:
            # A signed compaction, redacted thinking and the provider's own results arrive whole.
            return block_object(block), []


def _cut_off_call(block: ToolUse, text: str) -> tuple[JsonObject, list[JsonObject]]:
    if not text:
        raise UntranslatableBlock(
            f"the call {block.id!r} was cut off before its arguments began; a stream would tell it whole: take it out"
        )
    return block_object(replace(block, raw_input=None, input={})), [{"type": "input_json_delta", "partial_json": text}]


def _split_text(whole: JsonObject, text: str) -> tuple[JsonObject, list[JsonObject]]:
    start = whole | {"text": ""}
    told: list[JsonObject] = [{"type": "text_delta", "text": text}] if text else []
    cited = whole.get("citations")
    if not isinstance(cited, list) or not cited:
        return start, told
    quotes: list[Json] = cited
    told.extend({"type": "citations_delta", "citation": quote} for quote in quotes)
    return start | {"citations": []}, told
