"""The events of one streamed response, put together.

It knows which event grows which part of which item. It must never know a connection: whoever reads it feeds events.
Items are built in their wire form and decoded by `items` and `messages`, so that a stream and a body cannot disagree.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import Block, Json, JsonObject, Response, Text
from perdure.kernel.messages.pieces import join_pieces
from perdure.kernel.value import record
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Delta
from perdure.kernel.wire.responses.messages import decode_output
from perdure.kernel.wire.responses.parts import decode_part
from perdure.kernel.wire.responses.response import decode_response

Grown: TypeAlias = Literal["text", "thinking", "input"]


@record()
class _Item:
    """An output item on its way."""

    wire: JsonObject
    """As the last event gave it whole."""
    started: dict[int, int] = field(default_factory=dict[int, int])
    """Content index of each part of a message, or 0 for any other item, to the index of its block."""
    parts: dict[tuple[str, int], JsonObject] = field(default_factory=dict[tuple[str, int], JsonObject])
    """The parts that began, by field (`content`, `summary`) and index."""
    pieces: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])
    """What arrived since, by field and index."""
    done: bool = False

    @property
    def is_message(self) -> bool:
        return self.wire.get("type") == "message"

    def so_far(self) -> JsonObject:
        """The item with all that arrived."""
        if self.done:
            return self.wire
        item = dict(self.wire)
        for (name, index), pieces in self.pieces.items():
            text = join_pieces(pieces)
            if name in ("arguments", "input"):
                item[name] = text
            else:
                part = self.parts.get((name, index)) or _new_part(name, self.is_message)
                part = {**part, "refusal" if part.get("type") == "refusal" else "text": text}
                listed = item.get(name)
                item[name] = [*(listed if isinstance(listed, list) else []), part]
        return item


class ResponsesStream:
    """Turns the events of one response into deltas and, in the end, into the response."""

    def __init__(self) -> None:
        self._items: dict[int, _Item] = {}
        self._blocks = 0
        self._envelope: JsonObject = {}
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
        """Take one event; one of an unknown kind is passed over.

        Raises:
            InvalidMessage: an event about an item that did not begin, or without what its kind needs.
        """
        match event.get("type"):
            case "response.created" | "response.queued" | "response.in_progress":
                return self._take_envelope(event)
            case "response.output_item.added":
                return self._item_added(event)
            case "response.content_part.added":
                return self._part_added(event)
            case "response.reasoning_summary_part.added":
                return self._summary_added(event)
            case "response.output_text.delta" | "response.refusal.delta" | "response.reasoning_text.delta":
                return self._text(event)
            case "response.reasoning_summary_text.delta":
                return self._summary(event)
            case "response.function_call_arguments.delta":
                return self._argument(event, "arguments")
            case "response.custom_tool_call_input.delta":
                return self._argument(event, "input")
            case "response.output_item.done":
                return self._item_done(event)
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(event)
            case "error":
                return self._fail(event)
            case _:
                # What deltas told is told again by `*.done`, of which `output_item.done` alone counts; hosted tools
                # and `response.compaction.compacting` tell their progress.
                return ()

    def response(self) -> Response:
        """What arrived so far.

        A final event may leave the output out, as some servers do; the items that came before it stand in then.
        """
        body: JsonObject = dict(self._envelope)
        if not (self._complete and body.get("output")):
            body["output"] = [self._items[index].so_far() for index in sorted(self._items)]
        return decode_response(body)

    def _take_envelope(self, event: JsonObject) -> tuple[Delta, ...]:
        body = event.get("response")
        if isinstance(body, dict):
            self._envelope = body
        return ()

    def _end(self, event: JsonObject) -> tuple[Delta, ...]:
        self._take_envelope(event)
        self._complete = True
        error = self._envelope.get("error")
        if isinstance(error, dict):
            self._error = error
        return ()

    def _fail(self, event: JsonObject) -> tuple[Delta, ...]:
        error = event.get("error")
        self._error = error if isinstance(error, dict) else event
        return ()

    def _item_added(self, event: JsonObject) -> tuple[Delta, ...]:
        index, wire = _output_index(event, len(self._items)), _object(event, "item")
        if index in self._items:
            raise InvalidMessage(f"output item {index} begins twice")
        item = self._items[index] = _Item(wire=wire)
        return () if item.is_message else self._start(item, 0, decode_output([wire])[0])

    def _item_done(self, event: JsonObject) -> tuple[Delta, ...]:
        index, wire = _output_index(event, len(self._items) - 1), _object(event, "item")
        item = self._items.setdefault(index, _Item(wire=wire))
        item.wire, item.done = wire, True
        deltas: list[Delta] = []
        for place, block in enumerate(decode_output([wire])):
            if place not in item.started:
                deltas.extend(self._start(item, place, block))
            deltas.append(BlockDone(index=item.started[place], block=block))
        return tuple(deltas)

    def _part_added(self, event: JsonObject) -> tuple[Delta, ...]:
        item, place, part = self._item(event), _place(event, "content_index"), _object(event, "part")
        item.parts["content", place] = part
        item.pieces.setdefault(("content", place), [])
        return self._start(item, place, decode_part(part, "output_text")) if item.is_message else ()

    def _summary_added(self, event: JsonObject) -> tuple[Delta, ...]:
        item, place = self._item(event), _place(event, "summary_index")
        item.parts["summary", place] = _object(event, "part")
        item.pieces.setdefault(("summary", place), [])
        return (BlockGrew(index=item.started[0], kind="thinking", piece="\n\n"),) if place else ()

    def _text(self, event: JsonObject) -> tuple[Delta, ...]:
        item, place = self._item(event), _place(event, "content_index")
        if not item.is_message:
            return self._grow(item, ("content", place), 0, "thinking", event)
        started = () if place in item.started else self._start(item, place, Text(text=""))
        return (*started, *self._grow(item, ("content", place), place, "text", event))

    def _summary(self, event: JsonObject) -> tuple[Delta, ...]:
        return self._grow(self._item(event), ("summary", _place(event, "summary_index")), 0, "thinking", event)

    def _argument(self, event: JsonObject, name: str) -> tuple[Delta, ...]:
        return self._grow(self._item(event), (name, 0), 0, "input", event)

    def _grow(self, item: _Item, key: tuple[str, int], place: int, kind: Grown, event: JsonObject) -> tuple[Delta, ...]:
        piece = event.get("delta")
        if not isinstance(piece, str) or place not in item.started:
            raise InvalidMessage(f"the event {event.get('type')!r} has no text, or its item is of another kind")
        item.pieces.setdefault(key, []).append(piece)
        return (BlockGrew(index=item.started[place], kind=kind, piece=piece),)

    def _start(self, item: _Item, place: int, block: Block) -> tuple[Delta, ...]:
        index = item.started[place] = self._blocks
        self._blocks += 1
        return (BlockStarted(index=index, block=block),)

    def _item(self, event: JsonObject) -> _Item:
        index = _output_index(event, len(self._items) - 1)
        try:
            return self._items[index]
        except KeyError:
            raise InvalidMessage(
                f"the event {event.get('type')!r} is about output item {index}, which did not begin"
            ) from None


def _output_index(event: JsonObject, otherwise: int) -> int:
    """Some servers number no items; theirs come one after the other."""
    index = event.get("output_index")
    return index if isinstance(index, int) else otherwise


def _place(event: JsonObject, key: str) -> int:
    index = event.get(key)
    return index if isinstance(index, int) else 0


def _object(event: JsonObject, key: str) -> JsonObject:
    value = event.get(key)
    if not isinstance(value, dict):
        raise InvalidMessage(f"the event {event.get('type')!r} has no `{key}`")
    return value


def _new_part(name: str, of_message: bool) -> JsonObject:
    kind: Json = "output_text" if of_message else "summary_text" if name == "summary" else "reasoning_text"
    return {"type": kind, "text": ""}
