"""Where streams of one protocol are joined: what a client sees of each, so that they read as one.

It knows the events of each protocol and their order. It must never know what a tool does. Events that need no change
keep their meaning and order; calls of the gateway's own tools, and the seams between requests, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Protocol

from perdure.gateway.answers import message_iteration
from perdure.gateway.compaction import block_events
from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import record, value


@value
class Prelude:
    """What stands before the model's answer: a compaction block, and what it cost."""

    block: JsonObject | None = None
    iterations: tuple[JsonObject, ...] = ()


class Seam(Protocol):
    """What a client sees of one stream after the other."""

    def again(self) -> None:
        """Another stream begins."""
        ...

    def shown(self, event: JsonObject) -> Sequence[JsonObject]:
        """An event as the client sees it."""
        ...

    def ending(self, reason: str | None, output: int) -> Iterator[JsonObject]:
        """What ends the whole, with why the model stopped, and the output tokens of all answers."""
        ...


@record()
class AnthropicSeam:
    """Joins streams of Anthropic's."""

    own: frozenset[str]
    model: str
    """What the client calls it."""
    prelude: Prelude = field(default_factory=Prelude)
    applied: list[Json] | None = None
    """The edits that the client hears of; None where it did not ask."""
    _first: bool = True
    _next: int = 0
    _places: dict[int, int] = field(default_factory=dict[int, int])
    """The client's position of each block that it sees, by the upstream's."""
    _end: JsonObject = field(default_factory=JsonObject)

    def again(self) -> None:
        """See `Seam`."""
        self._first, self._places = False, {}

    def shown(self, event: JsonObject) -> Sequence[JsonObject]:
        """See `Seam`."""
        kind = event.get("type")
        if kind == "message_start":
            return [event, *self._opening()] if self._first else ()
        if kind == "message_delta":
            self._end = event
        if kind in ("message_delta", "message_stop"):
            return ()
        index = event.get("index")
        if kind == "content_block_start" and isinstance(index, int):
            if self._is_own(event.get("content_block")):
                return ()
            self._places[index] = self._next
            self._next += 1
        if not isinstance(index, int):
            return (event,)
        return ({**event, "index": self._places[index]},) if index in self._places else ()

    def _opening(self) -> Sequence[JsonObject]:
        if self.prelude.block is None:
            return ()
        self._next += 1
        return block_events(self.prelude.block)

    def _is_own(self, block: Json) -> bool:
        return isinstance(block, dict) and block.get("type") == "tool_use" and str(block.get("name")) in self.own

    def ending(self, reason: str | None, output: int) -> Iterator[JsonObject]:
        """See `Seam`."""
        usage, late = self._end.get("usage"), self._end.get("delta")
        told: JsonObject = dict(usage) if isinstance(usage, dict) else {}
        if self.prelude.iterations:
            told["iterations"] = [*self.prelude.iterations, message_iteration(told, self.model)]
        if output:
            told["output_tokens"] = output
        delta: JsonObject = {**(late if isinstance(late, dict) else {}), "stop_reason": reason}
        ending: JsonObject = {"type": "message_delta", **self._end, "delta": delta, "usage": told}
        if self.applied is not None:
            ending["context_management"] = {"applied_edits": self.applied}
        yield ending
        yield {"type": "message_stop"}


@record()
class _Tool:
    """A call of Chat Completions on its way."""

    id: str
    place: int | None = None
    """The client's number of it."""
    ours: bool | None = None
    """None while it has no name."""
    waiting: list[JsonObject] = field(default_factory=list[JsonObject])


@record()
class ChatSeam:
    """Joins streams of Chat Completions."""

    own: frozenset[str]
    _frame: JsonObject = field(default_factory=JsonObject)
    """What all chunks have in common, from the first."""
    _first: bool = True
    _next: int = 0
    _tools: dict[int, _Tool] = field(default_factory=dict[int, _Tool])
    _end: JsonObject = field(default_factory=JsonObject)
    _usage: JsonObject | None = None

    def again(self) -> None:
        """See `Seam`."""
        self._first, self._tools, self._usage = False, {}, None

    def shown(self, event: JsonObject) -> Sequence[JsonObject]:
        """See `Seam`."""
        if isinstance(event.get("error"), dict):
            return (event,)
        self._frame = self._frame or {name: event[name] for name in ("id", "created") if name in event}
        told: JsonObject = {**event, **self._frame}
        match event.get("choices"):
            case [dict(choice), *_] if choice.get("index", 0) == 0:
                return self._chunk(told, choice)
            case [] if isinstance(event.get("usage"), dict):
                self._usage = told
                return ()
            case _:
                return (told,) if self._first else ()

    def _chunk(self, told: JsonObject, choice: JsonObject) -> Sequence[JsonObject]:
        given = choice.get("delta")
        delta: JsonObject = dict(given) if isinstance(given, dict) else {}
        calls = delta.pop("tool_calls", None)
        pieces: list[Json] = (
            [piece for call in calls for piece in self._called(call)] if isinstance(calls, list) else []
        )
        if pieces:
            delta["tool_calls"] = pieces
        if not self._first:
            delta.pop("role", None)
        plain: JsonObject = {**choice, "delta": delta}
        if choice.get("finish_reason") is not None:
            self._end = {**told, "choices": [{**choice, "delta": {}}]}
            plain["finish_reason"] = None
            told = {name: value for name, value in told.items() if name != "usage"}
        elif self._first and calls is None:
            return ({**told, "choices": [plain]},)
        says = any(said not in (None, "") for said in delta.values())
        return ({**told, "choices": [plain]},) if says else ()

    def _called(self, given: Json) -> list[JsonObject]:
        """The pieces of a call that can be told: nothing while nobody knows whose it is."""
        if not isinstance(given, dict):
            return []
        tool = self._tool(given)
        if tool.ours is None:
            name = _name_of(given)
            if not name:
                tool.waiting.append(given)
                return []
            tool.ours = name in self.own
        if tool.ours:
            return []
        return self._numbered(tool, given)

    def _numbered(self, tool: _Tool, *more: JsonObject) -> list[JsonObject]:
        if tool.place is None:
            tool.place, self._next = self._next, self._next + 1
        held, tool.waiting = tool.waiting, []
        return [{**piece, "index": tool.place} for piece in (*held, *more)]

    def _tool(self, given: JsonObject) -> _Tool:
        """The call that a piece belongs to, as the decoder of this protocol tells it: some servers number no calls, or
        all of them 0, and some repeat the id."""
        index, name, tools = given.get("index"), given.get("id"), self._tools
        last = max(tools, default=-1)
        if isinstance(index, int) and index not in tools:
            number = index
        elif isinstance(name, str) and name:
            number = next((number for number, tool in tools.items() if tool.id == name), last + 1)
        elif isinstance(index, int):
            number = index
        else:
            number = last + 1 if _name_of(given) or last < 0 else last
        return tools.setdefault(number, _Tool(id=name if isinstance(name, str) else ""))

    def ending(self, reason: str | None, output: int) -> Iterator[JsonObject]:
        """See `Seam`."""
        choices = self._end.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        last: JsonObject = choice if isinstance(choice, dict) else {"index": 0, "delta": {}}
        nameless = [piece for tool in self._tools.values() if tool.waiting for piece in self._numbered(tool)]
        if nameless:
            told = {name: value for name, value in self._end.items() if name != "usage"}
            yield {**told, "choices": [{**last, "delta": {"tool_calls": [*nameless]}, "finish_reason": None}]}
        yield _counted({**self._end, "choices": [{**last, "finish_reason": reason}]}, output, "completion_tokens")
        if self._usage is not None:
            yield _counted(self._usage, output, "completion_tokens")


def _name_of(call: JsonObject) -> str:
    inner = call.get("function", call.get("custom"))
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


@record()
class ResponsesSeam:
    """Joins streams of the Responses API."""

    own: frozenset[str]
    prelude: Prelude = field(default_factory=Prelude)
    _id: Json = None
    _first: bool = True
    _begun: bool = False
    """Whether the prelude was told."""
    _sequence: int = 0
    _output: list[Json] = field(default_factory=list[Json])
    """The items that the client has."""
    _places: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """The client's position of each item, by the upstream's; None for one that it does not see."""
    _end: JsonObject = field(default_factory=JsonObject)

    def again(self) -> None:
        """See `Seam`."""
        self._first, self._places = False, {}

    def shown(self, event: JsonObject) -> Sequence[JsonObject]:
        """See `Seam`."""
        return [self._numbered(told) for told in self._shown(event)]

    def _numbered(self, event: JsonObject) -> JsonObject:
        number, self._sequence = self._sequence, self._sequence + 1
        return {**event, "sequence_number": number}

    def _shown(self, event: JsonObject) -> Iterator[JsonObject]:
        kind, response, item = event.get("type"), event.get("response"), event.get("item")
        if kind in ("response.completed", "response.incomplete"):
            self._end = event
        elif isinstance(response, dict):
            self._id = response.get("id") if self._id is None else self._id
            if self._first or kind == "response.failed":
                yield {**event, "response": {**response, "id": self._id}}
        elif kind == "response.output_item.added" and isinstance(item, dict):
            yield from self._opening()
            yield from self._added(event, _place(event, len(self._places)), item)
        elif "output_index" in event or "item_id" in event or isinstance(item, dict):
            yield from self._grown(event, _place(event, len(self._places) - 1), item)
        else:
            yield event

    def _opening(self) -> Iterator[JsonObject]:
        block = self.prelude.block
        if self._begun or block is None:
            return
        self._begun = True
        self._output.append(block)
        yield {"type": "response.output_item.added", "output_index": 0, "item": block}
        yield {"type": "response.output_item.done", "output_index": 0, "item": block}

    def _added(self, event: JsonObject, index: int, item: JsonObject) -> Iterator[JsonObject]:
        if item.get("type") == "function_call" and str(item.get("name")) in self.own:
            self._places[index] = None
            return
        self._places[index] = len(self._output)
        self._output.append(item)
        yield {**event, "output_index": self._places[index]}

    def _grown(self, event: JsonObject, index: int, item: Json) -> Iterator[JsonObject]:
        done = event.get("type") == "response.output_item.done"
        if done and isinstance(item, dict) and index not in self._places:
            yield from self._opening()
            yield from self._added(event, index, item)
            return
        place = self._places.get(index)
        if place is None:
            return
        if done:
            self._output[place] = item
        yield {**event, "output_index": place}

    def ending(self, reason: str | None, output: int) -> Iterator[JsonObject]:
        """See `Seam`; the status of the last response says why."""
        for event in self._opening():
            yield self._numbered(event)
        last = self._end.get("response")
        body: JsonObject = {**(last if isinstance(last, dict) else {}), "output": [*self._output]}
        if self._id is not None:
            body["id"] = self._id
        yield self._numbered({**self._end, "response": _counted(body, output, "output_tokens")})


def _place(event: JsonObject, otherwise: int) -> int:
    """Some servers number no items; theirs come one after the other."""
    index = event.get("output_index")
    return index if isinstance(index, int) else otherwise


def _counted(holder: JsonObject, output: int, name: str) -> JsonObject:
    """With the output tokens of all answers, where the last one's are told."""
    usage = holder.get("usage")
    last = usage.get(name) if isinstance(usage, dict) else None
    if not isinstance(usage, dict) or not isinstance(last, int) or not output:
        return holder
    more: JsonObject = {name: output}
    if isinstance(total := usage.get("total_tokens"), int):
        more["total_tokens"] = total - last + output
    return {**holder, "usage": {**usage, **more}}
