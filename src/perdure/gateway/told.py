"""A stream of one protocol told in another as it comes.

It knows what a client has to hear and in which order. It must never hold back what can be told already, nor invent an
end: that follows from the whole answer. What a protocol tells one after the other (Anthropic's blocks) is told so, and
what comes at the same time waits for its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from perdure.gateway.call import Call
from perdure.kernel.messages import Block, Json, JsonObject, RedactedThinking, Text, Thinking, ToolUse
from perdure.kernel.wire import BlockDone, BlockGrew, BlockStarted, Delta


class Teller(Protocol):
    """Tells one answer to one client."""

    def opening(self) -> Iterator[JsonObject]:
        """What comes before the model's first word."""
        ...

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """What a delta has the client hear."""
        ...

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """What comes behind the last word; `body` is the whole answer in the client's protocol."""
        ...


@dataclass(slots=True)
class AnthropicTeller:
    """Tells a client of Anthropic's protocol."""

    call: Call
    _open: int | None = None
    """The upstream's position of the block that is being told."""
    _shown: int = -1
    """The client's position of it."""
    _waiting: dict[int, list[JsonObject]] = field(default_factory=dict[int, list[JsonObject]])
    """Events of blocks that have to wait, by the upstream's position."""
    _done: set[int] = field(default_factory=set[int])

    def opening(self) -> Iterator[JsonObject]:
        """See `Teller`."""
        usage: JsonObject = {"input_tokens": 0, "output_tokens": 0}
        message: JsonObject = {
            "id": f"msg_{self.call.id}",
            "type": "message",
            "role": "assistant",
            "model": self.call.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield {"type": "message_start", "message": message}

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """See `Teller`."""
        events = self._waiting.setdefault(delta.index, [])
        match delta:
            case BlockStarted(block=block):
                if (start := _start(block)) is None:
                    del self._waiting[delta.index]
                    return
                events.append({"type": "content_block_start", "content_block": start})
            case BlockGrew(kind=kind, piece=piece):
                events.append({"type": "content_block_delta", "delta": _piece(kind, piece)})
            case BlockDone():
                events.append({"type": "content_block_stop"})
                self._done.add(delta.index)
        yield from self._tell()

    def _tell(self) -> Iterator[JsonObject]:
        """Everything whose turn it is."""
        while True:
            if self._open is None:
                begun = [place for place, events in sorted(self._waiting.items()) if _begins(events)]
                if not begun:
                    return
                self._open = begun[0]
                self._shown += 1
            events = self._waiting.get(self._open, [])
            self._waiting[self._open] = []
            for event in events:
                yield {"type": event["type"], "index": self._shown, **event}
            if self._open not in self._done:
                return
            del self._waiting[self._open]
            self._open = None

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """See `Teller`."""
        usage = body.get("usage")
        counted: JsonObject = (
            {name: value for name, value in usage.items() if value is not None}
            if isinstance(usage, dict)
            else {"output_tokens": 0}
        )
        late: JsonObject = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        yield {"type": "message_delta", "delta": late, "usage": counted}
        yield {"type": "message_stop"}


def _begins(events: list[JsonObject]) -> bool:
    return bool(events) and events[0]["type"] == "content_block_start"


def _start(block: Block) -> JsonObject | None:
    """A block as it begins; None for one that the client cannot be told of."""
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolUse(id=name, name=tool):
            return {"type": "tool_use", "id": name, "name": tool, "input": {}}
        case _:
            return None


def _piece(kind: str, piece: str) -> JsonObject:
    match kind:
        case "text":
            return {"type": "text_delta", "text": piece}
        case "thinking":
            return {"type": "thinking_delta", "thinking": piece}
        case _:
            return {"type": "input_json_delta", "partial_json": piece}


@dataclass(slots=True)
class ChatTeller:
    """Tells a client of Chat Completions."""

    call: Call
    created: int
    _calls: dict[int, int] = field(default_factory=dict[int, int])
    """The client's number of each call, by the upstream's position."""
    _grown: set[int] = field(default_factory=set[int])

    def opening(self) -> Iterator[JsonObject]:
        """See `Teller`."""
        yield self._chunk({"role": "assistant", "content": ""})

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """See `Teller`."""
        match delta:
            case BlockStarted(block=ToolUse(id=name, name=tool)):
                number = self._calls[delta.index] = len(self._calls)
                function: JsonObject = {"name": tool, "arguments": ""}
                yield self._called({"index": number, "id": name, "type": "function", "function": function})
            case BlockGrew(kind="text", piece=piece):
                yield self._chunk({"content": piece})
            case BlockGrew(kind="input", piece=piece) if piece and delta.index in self._calls:
                self._grown.add(delta.index)
                yield self._called({"index": self._calls[delta.index], "function": {"arguments": piece}})
            case BlockDone(block=ToolUse()) if delta.index not in self._grown and delta.index in self._calls:
                yield self._called({"index": self._calls[delta.index], "function": {"arguments": "{}"}})
            case _:
                # Thinking has no place in this protocol, and blocks that are neither are refused with the whole answer.
                return

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """See `Teller`."""
        choices = body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        reason = first.get("finish_reason") if isinstance(first, dict) else "stop"
        yield {**self._chunk({}), "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        options = self.call.body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage") is True:
            yield {**self._chunk({}), "choices": [], "usage": body.get("usage")}

    def _called(self, call: JsonObject) -> JsonObject:
        return self._chunk({"tool_calls": [call]})

    def _chunk(self, delta: JsonObject) -> JsonObject:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": None}
        return {
            "id": f"chatcmpl-{self.call.id}",
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.call.model,
            "choices": [choice],
        }


def teller_of(call: Call, created: int) -> Teller | None:
    """Who tells a client of a call; None for a protocol whose streams come when the answer is whole."""
    match call.dialect:
        case "anthropic":
            return AnthropicTeller(call)
        case "chat":
            return ChatTeller(call, created)
        case "responses":
            return None


def tellable(block: Block) -> bool:
    """Whether a block of an answer is told as it comes, or passed over on purpose."""
    return isinstance(block, Text | Thinking | RedactedThinking | ToolUse)
