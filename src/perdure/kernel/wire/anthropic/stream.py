"""From the events of a streamed response to deltas for a screen, and in the end to the response.

It knows events and their deltas. It must never know what a block means: it assembles the wire object that the same
response would be without streaming and hands it to `decode`, so that the two cannot differ. Source of the kinds: SDK
`anthropic` 2.14.0, `lib/streaming/_beta_messages.py`.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import Block, JsonObject, Response, ToolUse, decode_json
from perdure.kernel.messages.pieces import join_pieces
from perdure.kernel.value import record
from perdure.kernel.wire.anthropic.decode import decode_response
from perdure.kernel.wire.anthropic.decode_blocks import decode_block
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Delta

Readable: TypeAlias = Literal["text", "thinking", "input"]


class AnthropicStream:
    """The decoder of one streamed response."""

    def __init__(self) -> None:
        self._envelope: JsonObject | None = None
        self._blocks: dict[int, _Growing] = {}
        self._error: JsonObject | None = None
        self._complete = False

    @property
    def error(self) -> JsonObject | None:
        """The provider's error object, if the stream carried one."""
        return self._error

    @property
    def complete(self) -> bool:
        """Whether the provider said that the response is at its end."""
        return self._complete

    def feed(self, event: JsonObject) -> tuple[Delta, ...]:
        """Take one event. One of an unknown kind, as `ping`, is passed over.

        Raises:
            InvalidMessage: an event that does not fit what came before.
        """
        match event.get("type"):
            case "message_start":
                self._start(event)
            case "content_block_start":
                return self._start_block(event)
            case "content_block_delta":
                return self._grow_block(event)
            case "content_block_stop":
                block = self._block(event)
                block.done = True
                return (BlockDone(index=block.index, block=block.value()),)
            case "message_delta":
                self._amend(event)
            case "message_stop":
                self._begun("message_stop")
                self._complete = True
            case "error":
                self._error = _object(event, "error")
            case _:
                pass
        return ()

    def response(self) -> Response:
        """What arrived so far. A call whose arguments are cut off has a `raw_input` that is no JSON object.

        Raises:
            InvalidMessage: nothing arrived yet.
        """
        envelope = self._begun("the response")
        blocks = [block.value() for block in self._blocks.values()]
        response = decode_response({**envelope, "content": []})
        return replace(response, message=replace(response.message, content=tuple(blocks)))

    def _start(self, event: JsonObject) -> None:
        if self._envelope is not None:
            raise InvalidMessage("a second 'message_start' in one stream; each response needs a decoder of its own")
        self._envelope = _object(event, "message")

    def _start_block(self, event: JsonObject) -> tuple[Delta, ...]:
        envelope = self._begun("content_block_start")
        index, raw = event.get("index"), _object(event, "content_block")
        if not isinstance(index, int) or index in self._blocks:
            raise InvalidMessage(f"'content_block_start' has the index {index!r}, which is no new position")
        if raw.get("type") == "fallback":
            _take_model(envelope, raw)
        self._blocks[index] = _Growing(index=index, raw=raw)
        return (BlockStarted(index=index, block=decode_block(dict(raw))),)

    def _grow_block(self, event: JsonObject) -> tuple[Delta, ...]:
        return self._block(event).grow(_object(event, "delta"))

    def _block(self, event: JsonObject) -> _Growing:
        index = event.get("index")
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None or block.done:
            raise InvalidMessage(f"{event.get('type')!r} speaks of block {index!r}, which is not open")
        return block

    def _amend(self, event: JsonObject) -> None:
        """Take over what is known only at the end. Counters are cumulative; null says nothing new."""
        envelope = self._begun("message_delta")
        for name, value in event.items():
            if name == "delta" and isinstance(value, dict):
                _merge(envelope, value)
            elif name == "usage" and isinstance(value, dict):
                counted = envelope.get("usage")
                envelope["usage"] = _merge(dict(counted) if isinstance(counted, dict) else {}, value)
            elif name not in {"type", "delta", "usage"}:
                _merge(envelope, {name: value})

    def _begun(self, what: str) -> JsonObject:
        if self._envelope is None:
            raise InvalidMessage(f"{what} came before 'message_start'")
        return self._envelope


@record(kw_only=True)
class _Growing:
    """A block while its pieces arrive."""

    index: int
    raw: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Text that is appended, by the field it belongs to; joined once, when the block is asked for."""
    done: bool = False

    def grow(self, delta: JsonObject) -> tuple[Delta, ...]:
        match delta.get("type"):
            case "text_delta":
                return self._append("text", "text", delta)
            case "thinking_delta":
                return self._append("thinking", "thinking", delta)
            case "input_json_delta":
                return self._append("partial_json", "input", delta)
            case "citations_delta":
                cited = self.raw.get("citations")
                self.raw["citations"] = [*(cited if isinstance(cited, list) else []), delta.get("citation")]
            case "signature_delta" | "compaction_delta":
                self.raw |= {name: value for name, value in delta.items() if name != "type"}
            case _:
                self._carry(delta)
        return ()

    def _append(self, name: str, kind: Readable, delta: JsonObject) -> tuple[Delta, ...]:
        piece = delta.get(name)
        if not isinstance(piece, str):
            raise InvalidMessage(f"a {delta.get('type')!r} of block {self.index} has no string in {name!r}")
        self.pieces.setdefault(name, []).append(piece)
        return (BlockGrew(index=self.index, kind=kind, piece=piece),)

    def _carry(self, delta: JsonObject) -> None:
        """An unknown kind of delta: text is appended to the field of its name, as known ones do, the rest is set."""
        for name, value in delta.items():
            if name != "type" and isinstance(value, str) and isinstance(self.raw.get(name), str):
                self.pieces.setdefault(name, []).append(value)
            elif name != "type":
                self.raw[name] = value

    def value(self) -> Block:
        """The block as it stands."""
        raw = dict(self.raw)
        for name, pieces in self.pieces.items():
            if name != "partial_json":
                opening = raw.get(name)
                raw[name] = join_pieces([opening if isinstance(opening, str) else "", *pieces])
        arguments = self._arguments()
        if arguments is None:
            return decode_block(raw)
        if isinstance(arguments, dict):
            return decode_block({**raw, "input": arguments})
        block = decode_block(raw)
        return (
            replace(block, raw_input=arguments)
            if isinstance(block, ToolUse)
            else decode_block({**raw, "input": arguments})
        )

    def _arguments(self) -> JsonObject | str | None:
        """What the pieces of input say: an object, text that is none, or nothing."""
        text = join_pieces(self.pieces.get("partial_json", ()))
        if not text:
            cut_off = not self.done and self.raw.get("type") == "tool_use"
            return "" if cut_off and not self.raw.get("input") else None
        try:
            arguments = decode_json(text)
        except InvalidJson:
            return text
        return arguments if isinstance(arguments, dict) else text


def _object(event: JsonObject, name: str) -> JsonObject:
    value = event.get(name)
    if not isinstance(value, dict):
        raise InvalidMessage(f"{event.get('type')!r} has no object in {name!r}")
    return dict(value)


def _merge(whole: JsonObject, news: JsonObject) -> JsonObject:
    for name, value in news.items():
        if value is not None or name not in whole:
            whole[name] = value
    return whole


def _take_model(envelope: JsonObject, fallback: JsonObject) -> None:
    """After a fallback the response is labelled with the model that served it, as it is without streaming."""
    serving = fallback.get("to")
    if isinstance(serving, dict) and isinstance(serving.get("model"), str):
        envelope["model"] = serving["model"]
