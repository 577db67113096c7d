"""The chunks of one streamed response, put together.

It knows how a delta adds to the message in its wire form, which `response` then decodes, so that a stream and a body
cannot disagree. It must never know a connection; `[DONE]`, which is no JSON, is not fed.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import Block, Json, JsonObject, Response, Text, Thinking, ToolUse
from perdure.kernel.messages.pieces import join_pieces
from perdure.kernel.value import record
from perdure.kernel.wire.chat.messages import REASONING, decode_message
from perdure.kernel.wire.chat.response import decode_response
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Delta

Grown: TypeAlias = Literal["text", "thinking", "input"]

Source: TypeAlias = str | int
"""What a block grows from: a field of the message, or the number of a call."""

_GROWING = frozenset({"content", "refusal", "reasoning_content", "reasoning", "reasoning_text"})
"""Fields whose text arrives in pieces."""


@record()
class _Call:
    """A tool call on its way."""

    wire: JsonObject
    """As it began: `id`, `type` and whatever else."""
    function: JsonObject | None
    """Its inner object without arguments; None for a call of a kind that arrives whole."""
    pieces: list[str] = field(default_factory=list[str])

    def so_far(self) -> JsonObject:
        """The call with all that arrived."""
        if self.function is None:
            return self.wire
        function: JsonObject = {**self.function}
        function["arguments"] = join_pieces(self.pieces)
        call: JsonObject = {**self.wire}
        call["function"] = function
        return call


@record()
class _Parts:
    """The message, as far as it arrived."""

    wire: JsonObject = field(default_factory=JsonObject)
    """Fields in the order of their arrival; those that grow have an empty place."""
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])

    def so_far(self) -> JsonObject:
        usual: JsonObject = {"role": "assistant", "content": None}
        message = {key: value for key, value in usual.items() if key not in self.wire} | self.wire
        for name, pieces in self.pieces.items():
            message[name] = join_pieces(pieces)
        if self.calls:
            message["tool_calls"] = [self.calls[number].so_far() for number in sorted(self.calls)]
        return message


class ChatStream:
    """Turns the chunks of one response into deltas and, in the end, into the response."""

    def __init__(self) -> None:
        self._envelope: JsonObject = {}
        self._choice: JsonObject = {}
        self._parts = _Parts()
        self._places: dict[Source, int] = {}
        """The index of the block that grows from each source, in the order of their beginnings."""
        self._open: set[Source] = set()
        self._error: JsonObject | None = None

    @property
    def error(self) -> JsonObject | None:
        """The provider's error object, if the stream carried one."""
        return self._error

    @property
    def complete(self) -> bool:
        """Whether the provider said that the response is at its end. A chunk with the usage may still follow."""
        return isinstance(self._choice.get("finish_reason"), str)

    def feed(self, event: JsonObject) -> tuple[Delta, ...]:
        """Take one chunk; fields that are new stay in the envelope.

        Raises:
            InvalidMessage: a call in a delta is no object.
        """
        error = event.get("error")
        if isinstance(error, dict):
            self._error = error
            return ()
        for key, value in event.items():
            if value is not None or key not in self._envelope:
                self._envelope[key] = "chat.completion" if key == "object" else value
        match event.get("choices"):
            case [dict(choice), *_] if choice.get("index", 0) == 0:
                return self._take_choice(choice)
            case _:
                return ()

    def response(self) -> Response:
        """What arrived so far. Of several choices, the first."""
        choice: JsonObject = {} if "index" in self._choice else {"index": 0}
        choice |= self._choice
        choice["message"] = self._parts.so_far()
        return decode_response({**self._envelope, "choices": [choice]})

    def _take_choice(self, choice: JsonObject) -> tuple[Delta, ...]:
        delta = choice.get("delta")
        for key, value in choice.items():
            _add(self._choice, "message" if key == "delta" else key, None if key == "delta" else value)
        deltas: list[Delta] = []
        if isinstance(delta, dict):
            for key, value in delta.items():
                deltas.extend(self._take_field(key, value))
        if self.complete:
            for source in self._places:
                deltas.extend(self._close(source))
        return tuple(deltas)

    def _take_field(self, key: str, value: Json) -> tuple[Delta, ...]:
        parts = self._parts
        if key == "tool_calls" and isinstance(value, list):
            parts.wire.setdefault(key, value)
            return tuple(delta for call in value for delta in self._take_call(call))
        if key not in _GROWING or not isinstance(value, str) or not value:
            _add(parts.wire, key, value)
            return ()
        parts.wire.setdefault(key, None)
        parts.pieces.setdefault(key, []).append(value)
        if key not in REASONING:
            return self._grow(key, Text(text=""), "text", value)
        # Some servers tell the reasoning twice, under two names; a screen sees the one that came first.
        if next(name for name in parts.pieces if name in REASONING) != key:
            return ()
        return self._grow(key, Thinking(thinking=""), "thinking", value)

    def _take_call(self, given: Json) -> tuple[Delta, ...]:
        if not isinstance(given, dict):
            raise InvalidMessage("a call in a delta is no object")
        function = given.get("function")
        inner = function if isinstance(function, dict) else JsonObject()
        number, begins = self._number(given, inner)
        if begins:
            self._parts.calls[number] = _begun(given, inner)
        call = self._parts.calls[number]
        if not begins and call.function is not None and not call.function.get("name") and inner.get("name"):
            # Some servers send the name behind the first piece of the arguments.
            call.function["name"] = inner["name"]
        started = ToolUse(
            id=str(call.wire["id"]), name=str((call.function or {}).get("name", "")), input={}, raw_input=""
        )
        piece = inner.get("arguments")
        if not isinstance(piece, str) or not piece:
            return self._begin(number, started)
        call.pieces.append(piece)
        return self._grow(number, started, "input", piece)

    def _number(self, given: JsonObject, inner: JsonObject) -> tuple[int, bool]:
        """Which call a delta is about, and whether it begins there.

        Some servers number no calls, or all of them 0: then another id begins another call. Some repeat the id in each
        delta.
        """
        calls = self._parts.calls
        name, index = given.get("id"), given.get("index")
        last = max(calls, default=-1)
        if isinstance(index, int) and index not in calls:
            return index, True
        if isinstance(name, str) and name:
            known = next((number for number, call in calls.items() if call.wire["id"] == name), None)
            return (last + 1, True) if known is None else (known, False)
        if isinstance(index, int):
            return index, False
        return (last + 1, True) if inner.get("name") or last < 0 else (last, False)

    def _grow(self, source: Source, fresh: Block, kind: Grown, piece: str) -> tuple[Delta, ...]:
        begun = self._begin(source, fresh)
        self._open.add(source)
        return (*begun, BlockGrew(index=self._places[source], kind=kind, piece=piece))

    def _begin(self, source: Source, fresh: Block) -> tuple[Delta, ...]:
        """The beginning of a block, if it is one. Text ends where another block begins; calls may grow side by side."""
        if source in self._places:
            return ()
        done = [delta for earlier in self._places if isinstance(earlier, str) for delta in self._close(earlier)]
        index = self._places[source] = len(self._places)
        self._open.add(source)
        return (*done, BlockStarted(index=index, block=fresh))

    def _close(self, source: Source) -> tuple[Delta, ...]:
        """The end of a block, as it stands in the message."""
        if source not in self._open:
            return ()
        self._open.remove(source)
        content = decode_message(self._parts.so_far(), "m0").content
        if isinstance(source, int):
            calls = [block for block in content if isinstance(block, ToolUse)]
            block = calls[sorted(self._parts.calls).index(source)] if calls else content[0]
        else:
            wanted = Thinking if source in REASONING else Text
            said = Text(text=join_pieces(self._parts.pieces[source]))
            block = next((block for block in content if isinstance(block, wanted)), said)
        return (BlockDone(index=self._places[source], block=block),)


def _begun(given: JsonObject, inner: JsonObject) -> _Call:
    wire: JsonObject = {key: value for key, value in given.items() if key != "index" and value is not None}
    wire.setdefault("id", "")
    wire.setdefault("type", "function")
    if "custom" in wire:
        return _Call(wire=wire, function=None)
    function = dict(inner)
    function.setdefault("name", "")
    return _Call(wire=wire, function=function)


def _add(whole: JsonObject, key: str, value: Json) -> None:
    """Add to a field: lists and objects grow, anything else replaces, null only where nothing was."""
    if value is not None or key not in whole:
        whole[key] = _joined(whole.get(key), value)


def _joined(old: Json, new: Json) -> Json:
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {key: _joined(old.get(key), value) for key, value in new.items()}
    return new
