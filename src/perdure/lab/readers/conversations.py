"""Requests sorted into conversations: what a request repeats, what is new in it, and what its harness rewrote.

It knows requests as values. It must never know a dialect's fields. A request continues a conversation where it repeats
its last request, or at least the end of it: then the harness compacted or rewrote what came before. A continuation of
which nothing is left but a summary cannot be told from a new conversation, and becomes one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from perdure.kernel.messages import Message, RedactedThinking, Request, Response, Text, Thinking, ToolUse
from perdure.kernel.value import record, value
from perdure.kernel.wire import Dialect
from perdure.lab.readers.counts import counted
from perdure.lab.readers.format import Troubles
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.voices import told_apart
from perdure.lab.recording import Recording

TAIL = 3
"""How far from its end a conversation must be repeated by a request that changes what came before."""

Print: TypeAlias = tuple[Hashable, ...]
"""What makes a message the same as one sent before: its words, calls and results, however they are wrapped."""


@value
class Exchange:
    """A request, with its answer where that was recorded."""

    line: int | None
    dialect: Dialect
    request: Request
    response: Response | None
    time: float | None


@record()
class _Conversation:
    tape: Tape
    head: Print
    """Tools and system blocks."""
    said: list[Print] = field(default_factory=list[Print])
    """Every message so far."""
    places: list[int] = field(default_factory=list[int])
    """Where the tape has each."""
    newest: dict[Print, int] = field(default_factory=dict[Print, int])
    """The last of `said` that is the same."""
    sent: list[Print] = field(default_factory=list[Print])
    """The last request."""
    answered: bool = False
    """Whether its answer was told."""


class Conversations:
    """The conversations of one file."""

    def __init__(self, *, file: str, format: str, troubles: Troubles) -> None:
        """Begin with none."""
        self._file = file
        self._format = format
        self._troubles = troubles
        self._all: list[_Conversation] = []

    def take(self, exchange: Exchange) -> None:
        """Put a request, and its answer, where they belong."""
        request = exchange.request
        prints = [_print(message) for message in request.messages]
        head: Print = (
            tuple(block.text if isinstance(block, Text) else "" for block in request.system),
            tuple(tool.name for tool in request.tools),
        )
        conversation, new = self._place(prints, head, request.messages)
        if conversation is None:
            conversation, new = self._begun(exchange, head), 0
        elif new == len(prints) and conversation.answered:
            self._troubles.add(exchange.line, "repeats the request before it; left out")
            return
        _tell(conversation, request.messages[new:], prints[new:], exchange.line)
        conversation.sent = prints
        _ask(conversation, exchange)

    def recordings(self) -> Iterator[Recording]:
        """One for each conversation, in the order in which they began."""
        for conversation in self._all:
            yield conversation.tape.recording()

    def _begun(self, exchange: Exchange, head: Print) -> _Conversation:
        thread = f"conversation-{len(self._all) + 1}" if self._all else ""
        tape = Tape(file=self._file, format=self._format, troubles=self._troubles, thread=thread)
        tape.dialect = exchange.dialect
        tape.system, tape.tools = exchange.request.system, exchange.request.tools
        self._all.append(_Conversation(tape=tape, head=head))
        return self._all[-1]

    def _place(
        self, prints: Sequence[Print], head: Print, messages: Sequence[Message]
    ) -> tuple[_Conversation | None, int]:
        """The conversation that a request continues, and where in it the new messages begin."""
        longest: _Conversation | None = None
        for one in self._all:
            extends = len(prints) >= len(one.sent) and one.sent == prints[: len(one.sent)]
            if extends and (longest is None or len(one.sent) > len(longest.sent)):
                longest = one
        if longest is not None:
            new = len(longest.sent)
            repeated = longest.answered and new < len(prints) and messages[new].role == "assistant"
            return longest, new + 1 if repeated else new
        for one in reversed(self._all):
            if one.head == head and (new := self._rewritten(one, prints)):
                return one, new
        return None, 0

    def _rewritten(self, one: _Conversation, prints: Sequence[Print]) -> int:
        """Where the new messages of a request begin whose harness changed what came before; 0 where it did not."""
        last = next((at for at in range(len(prints) - 1, -1, -1) if prints[at] in one.newest), None)
        if last is None or last == 0:
            return 0
        place = one.newest[prints[last]]
        if place < len(one.said) - TAIL:
            return 0
        strange = sum(shape not in one.newest for shape in prints[:last])
        one.tape.edits += 1
        if strange:
            self._troubles.add(None, f"{strange} messages that the recorded harness wrote or rewrote are left out")
        if place > last:
            first = last
            while first > 0 and one.newest.get(prints[first - 1]) == place - 1:
                first, place = first - 1, place - 1
            one.tape.compacted(one.places[place])
        return last + 1


def _tell(one: _Conversation, messages: Sequence[Message], prints: Sequence[Print], line: int | None) -> None:
    for message, shape in zip(messages, prints, strict=True):
        one.newest[shape] = len(one.said)
        one.places.append(len(one.tape))
        one.said.append(shape)
        named = replace(message, id=f"m{len(one.said) - 1}")
        one.tape.tell(told_apart(named), line=line)


def _ask(one: _Conversation, exchange: Exchange) -> None:
    model = exchange.request.model or None
    one.answered = exchange.response is not None
    if exchange.response is None:
        one.tape.ask(time=exchange.time, model=model)
        return
    answer = exchange.response.message
    usage = counted(answer.usage) if answer.usage is not None else None
    shape = _print(answer)
    one.newest[shape] = len(one.said)
    one.places.append(len(one.tape))
    one.said.append(shape)
    named = replace(answer, id=f"m{len(one.said) - 1}", model=model or answer.model, usage=usage, time=exchange.time)
    one.tape.answer(named, time=exchange.time, usage=usage)


def _print(message: Message) -> Print:
    return message.keep(_print, _made)


def _made(message: Message) -> Print:
    shape: list[Hashable] = [message.role]
    for block in message.content:
        match block:
            case Text(text=text):
                shape.append(text.strip())
            case ToolUse(id=name):
                shape.append(("call", name))
            case Thinking() | RedactedThinking():
                pass
            case _:
                shape.append(repr(block))
    return tuple(shape)
