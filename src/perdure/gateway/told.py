"""A stream of one protocol told in another as it comes.

It knows what a client has to hear and in which order. It must never hold back what can be told already, nor invent an
end: that follows from the whole answer. What a protocol tells one after the other (blocks of Anthropic's, items of the
Responses API) is told so, and what comes at the same time waits for its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Protocol

from perdure.gateway.call import Call
from perdure.gateway.compaction import block_events
from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import (
    Block,
    Json,
    JsonObject,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    encode_json,
)
from perdure.kernel.value import record
from perdure.kernel.wire import BlockDone, BlockGrew, BlockStarted, Delta, Dialect


class Teller(Protocol):
    """Tells one answer to one client."""

    def opening(self) -> Iterator[JsonObject]:
        """What comes before the model's first word."""
        ...

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """What a delta has the client hear."""
        ...

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """What comes behind the last word; `body` is the whole answer in the client's protocol.

        Raises:
            CallRefused: a block has no end.
        """
        ...


@record()
class _Turns:
    """Blocks one after the other, as they began; those of other kinds are passed over."""

    kinds: tuple[type[Block], ...]
    _open: int | None = None
    _waiting: dict[int, list[Delta]] = field(default_factory=dict[int, list[Delta]])
    _done: set[int] = field(default_factory=set[int])

    def feed(self, delta: Delta) -> Iterator[Delta]:
        """Everything whose turn it is."""
        if isinstance(delta, BlockStarted) and isinstance(delta.block, self.kinds):
            self._waiting[delta.index] = []
        if delta.index not in self._waiting:
            return
        self._waiting[delta.index].append(delta)
        if isinstance(delta, BlockDone):
            self._done.add(delta.index)
        while self._waiting:
            if self._open is None:
                self._open = min(self._waiting)
            events = self._waiting[self._open]
            self._waiting[self._open] = []
            yield from events
            if self._open not in self._done:
                return
            del self._waiting[self._open]
            self._open = None

    def end(self) -> None:
        """No more comes.

        Raises:
            CallRefused: a block has no end.
        """
        if self._waiting:
            raise CallRefused("the upstream's answer makes no sense: a block in it has no end", status=502)


@record()
class AnthropicTeller:
    """Tells a client of Anthropic's protocol."""

    call: Call
    block: JsonObject | None = None
    """A compaction block before the answer."""
    _turns: _Turns = field(default_factory=lambda: _Turns((Text, Thinking, ToolUse)))
    _shown: int = -1
    """The client's position of the block that is being told."""

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
        if self.block is not None:
            self._shown += 1
            yield from block_events(self.block)

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """See `Teller`."""
        for told in self._turns.feed(delta):
            match told:
                case BlockStarted(block=block):
                    self._shown += 1
                    yield {"type": "content_block_start", "index": self._shown, "content_block": _start(block)}
                case BlockGrew(kind=kind, piece=piece):
                    yield {"type": "content_block_delta", "index": self._shown, "delta": _piece(kind, piece)}
                case BlockDone():
                    yield {"type": "content_block_stop", "index": self._shown}

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """See `Teller`."""
        self._turns.end()
        usage = body.get("usage")
        counted: JsonObject = (
            {name: value for name, value in usage.items() if value is not None}
            if isinstance(usage, dict)
            else {"output_tokens": 0}
        )
        late: JsonObject = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        ending: JsonObject = {"type": "message_delta", "delta": late, "usage": counted}
        if "context_management" in body:
            ending["context_management"] = body["context_management"]
        yield ending
        yield {"type": "message_stop"}


def _start(block: Block) -> JsonObject:
    """A block as it begins."""
    match block:
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolUse(id=name, name=tool):
            return {"type": "tool_use", "id": name, "name": tool, "input": {}}
        case _:
            return {"type": "text", "text": ""}


def _piece(kind: str, piece: str) -> JsonObject:
    match kind:
        case "text":
            return {"type": "text_delta", "text": piece}
        case "thinking":
            return {"type": "thinking_delta", "thinking": piece}
        case _:
            return {"type": "input_json_delta", "partial_json": piece}


@record()
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
            case BlockDone(block=ToolUse() as use) if delta.index not in self._grown and delta.index in self._calls:
                yield self._called({"index": self._calls[delta.index], "function": {"arguments": _arguments(use)}})
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


def _arguments(use: ToolUse) -> str:
    """The arguments of a call of which no piece came."""
    return encode_json(dict(use.input)).decode()


@record()
class ResponsesTeller:
    """Tells a client of the Responses API. Each text is a message of its own, as each call is an item."""

    call: Call
    created: int
    block: JsonObject | None = None
    """A compaction item before the answer."""
    _turns: _Turns = field(default_factory=lambda: _Turns((Text, ToolUse)))
    _output: list[Json] = field(default_factory=list[Json])
    """The items that are done."""
    _item: JsonObject = field(default_factory=JsonObject)
    """The one that is being told."""
    _pieces: list[str] = field(default_factory=list[str])
    _sequence: int = 0

    def opening(self) -> Iterator[JsonObject]:
        """See `Teller`."""
        begun: JsonObject = {
            "id": f"resp_{self.call.id}",
            "object": "response",
            "created_at": self.created,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.call.model,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
        }
        yield self._event("response.created", {"response": begun})
        yield self._event("response.in_progress", {"response": begun})
        if self.block is not None:
            yield self._event("response.output_item.added", {"output_index": 0, "item": self.block})
            yield self._done(self.block)

    def feed(self, delta: Delta) -> Iterator[JsonObject]:
        """See `Teller`."""
        for told in self._turns.feed(delta):
            match told:
                case BlockStarted(block=block):
                    yield from self._begin(block)
                case BlockGrew(kind=kind, piece=piece) if piece:
                    self._pieces.append(piece)
                    yield self._grown(kind, piece)
                case BlockDone(block=ToolUse() as use):
                    yield from self._called(use)
                case BlockDone():
                    yield from self._said()
                case _:
                    pass

    def _begin(self, block: Block) -> Iterator[JsonObject]:
        self._pieces = []
        name = f"{self.call.id}_{len(self._output)}"
        if isinstance(block, ToolUse):
            self._item = {
                "id": f"fc_{name}",
                "type": "function_call",
                "status": "in_progress",
                "call_id": block.id,
                "name": block.name,
                "arguments": "",
            }
        else:
            self._item = {
                "id": f"msg_{name}",
                "type": "message",
                "status": "in_progress",
                "role": "assistant",
                "content": [],
            }
        yield self._event("response.output_item.added", {"output_index": len(self._output), "item": self._item})
        if not isinstance(block, ToolUse):
            begun: JsonObject = {**self._spot(), "content_index": 0, "part": _part("")}
            yield self._event("response.content_part.added", begun)

    def _grown(self, kind: str, piece: str) -> JsonObject:
        if kind == "text":
            text: JsonObject = {**self._spot(), "content_index": 0, "delta": piece, "logprobs": []}
            return self._event("response.output_text.delta", text)
        return self._event("response.function_call_arguments.delta", {**self._spot(), "delta": piece})

    def _said(self) -> Iterator[JsonObject]:
        spot: JsonObject = {**self._spot(), "content_index": 0}
        text = "".join(self._pieces)
        yield self._event("response.output_text.done", {**spot, "text": text, "logprobs": []})
        yield self._event("response.content_part.done", {**spot, "part": _part(text)})
        yield self._done({**self._item, "status": "completed", "content": [_part(text)]})

    def _called(self, use: ToolUse) -> Iterator[JsonObject]:
        arguments = "".join(self._pieces) or _arguments(use)
        if not self._pieces:
            yield self._grown("input", arguments)
        done: JsonObject = {**self._spot(), "name": use.name, "arguments": arguments}
        yield self._event("response.function_call_arguments.done", done)
        yield self._done({**self._item, "status": "completed", "arguments": arguments})

    def ending(self, body: JsonObject) -> Iterator[JsonObject]:
        """See `Teller`."""
        self._turns.end()
        whole: JsonObject = {**body, "created_at": self.created, "output": [*self._output]}
        kind = "response.incomplete" if body.get("status") == "incomplete" else "response.completed"
        yield self._event(kind, {"response": whole})

    def _spot(self) -> JsonObject:
        return {"item_id": self._item["id"], "output_index": len(self._output)}

    def _done(self, item: JsonObject) -> JsonObject:
        place = len(self._output)
        self._output.append(item)
        return self._event("response.output_item.done", {"output_index": place, "item": item})

    def _event(self, kind: str, told: JsonObject) -> JsonObject:
        number, self._sequence = self._sequence, self._sequence + 1
        return {"type": kind, "sequence_number": number, **told}


def _part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def teller_of(call: Call, created: int, block: JsonObject | None) -> Teller:
    """Who tells a client of a call; with a compaction block that comes first."""
    dialect: Dialect = call.dialect
    match dialect:
        case "anthropic":
            return AnthropicTeller(call, block)
        case "chat":
            return ChatTeller(call, created)
        case "responses":
            return ResponsesTeller(call, created, block)


def tellable(block: Block) -> bool:
    """Whether a block of an answer is told as it comes, or passed over on purpose."""
    return isinstance(block, Text | Thinking | RedactedThinking | ToolUse)
