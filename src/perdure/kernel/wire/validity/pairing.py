"""Calls and their results: each call has one result, each result one call, in the order that the dialect asks for.

It knows ids and positions. It must never know what a call does or what a result says.

Anthropic reads consecutive messages of one role as one turn; all results of an assistant turn come in the next turn,
before any other content there (provider errors "`tool_use` ids were found without `tool_result` blocks immediately
after" and "unexpected `tool_use_id` found in `tool_result` blocks"). OpenAI's Chat Completions is stricter: the
results follow the one message that called. OpenAI's Responses only asks that each output comes somewhere behind its
call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TypeAlias

from perdure.kernel.messages import Message
from perdure.kernel.value import record, value
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity.facts import Facts
from perdure.kernel.wire.validity.faults import Fault, at

Place: TypeAlias = tuple[int, int]
"""A message and one of its blocks."""


@value
class Pairing:
    """What pairing the calls and results of a list of messages showed."""

    faults: tuple[Fault, ...]
    open: tuple[tuple[str, str], ...]
    """Calls of the round that is open at the very end: id and place. A request to be sent must have none."""


def pair(messages: Sequence[Message], facts: Sequence[Facts], dialect: Dialect) -> Pairing:
    """Pair every call with its result; `facts` are those of the messages, in order."""
    if dialect == "responses":
        return _pair_anywhere(messages, facts)
    rounds = _Rounds()
    for index, (message, fact) in enumerate(zip(messages, facts, strict=True)):
        if message.role == "assistant":
            if dialect == "chat" and rounds.awaiting:
                rounds.close()
            _take_calls(rounds, index, fact)
        else:
            _take_results(rounds, index, fact)
    still_open = () if rounds.told else tuple((call, at(*place)) for call, place in rounds.awaiting.items())
    if rounds.told:
        rounds.close()
    return Pairing(faults=tuple(rounds.faults), open=still_open)


@record()
class _Rounds:
    """What is known while reading on from one turn to the next."""

    faults: list[Fault] = field(default_factory=list[Fault])
    seen: set[str] = field(default_factory=set[str])
    """Ids of all calls so far."""
    awaiting: dict[str, Place] = field(default_factory=dict[str, Place])
    """Calls of the current round without a result: id and place."""
    answered: set[str] = field(default_factory=set[str])
    """Calls of the current round with a result."""
    started: set[str] = field(default_factory=set[str])
    """Calls of the provider's own tools in the current turn."""
    replying: bool = False
    """Whether the current turn is not the assistant's."""
    told: bool = False
    """Whether something other than a result came in the current turn."""

    def close(self) -> None:
        """Report what the round that is over left unanswered."""
        for call, place in self.awaiting.items():
            self.faults.append(
                Fault(
                    kind="unanswered_call",
                    where=at(*place),
                    message=f"the call {call!r} has no result in the turn that follows",
                )
            )
        self.awaiting = {}


def _take_calls(rounds: _Rounds, index: int, fact: Facts) -> None:
    if rounds.replying:
        if rounds.awaiting:
            rounds.close()
        if rounds.answered:
            rounds.answered = set()
        if rounds.started:
            rounds.started = set()
        rounds.replying = rounds.told = False
    for position, call in fact.calls:
        if call in rounds.seen:
            rounds.faults.append(_duplicate_call(call, at(index, position)))
        rounds.seen.add(call)
        rounds.awaiting[call] = (index, position)
    if fact.server_calls or fact.server_results:
        _take_server_blocks(rounds, index, fact)


def _take_server_blocks(rounds: _Rounds, index: int, fact: Facts) -> None:
    """A result of the provider's own tools stands behind its call, in the same turn."""
    for position, call, is_result in sorted(
        [(*use, False) for use in fact.server_calls] + [(*result, True) for result in fact.server_results]
    ):
        if not is_result:
            rounds.started.add(call)
        elif call not in rounds.started:
            rounds.faults.append(_orphan(call, at(index, position)))


def _take_results(rounds: _Rounds, index: int, fact: Facts) -> None:
    rounds.replying = True
    for position, call in fact.results:
        told = rounds.told or (fact.other is not None and fact.other < position)
        if call in rounds.awaiting:
            del rounds.awaiting[call]
            rounds.answered.add(call)
            if told:
                rounds.faults.append(_late(call, at(index, position)))
        elif call in rounds.answered:
            rounds.faults.append(_duplicate_result(call, at(index, position)))
        else:
            rounds.faults.append(_orphan(call, at(index, position)))
    if fact.other is not None:
        rounds.told = True


def _pair_anywhere(messages: Sequence[Message], facts: Sequence[Facts]) -> Pairing:
    faults: list[Fault] = []
    awaiting: dict[str, Place] = {}
    seen: set[str] = set()
    told = False
    for index, (message, fact) in enumerate(zip(messages, facts, strict=True)):
        for position, call in fact.calls:
            if call in seen:
                faults.append(_duplicate_call(call, at(index, position)))
            seen.add(call)
            awaiting[call] = (index, position)
            told = False
        for position, call in fact.results:
            if awaiting.pop(call, None) is None:
                report = _duplicate_result if call in seen else _orphan
                faults.append(report(call, at(index, position)))
        if fact.other is not None and message.role != "assistant":
            told = True
    left = [(call, at(*place)) for call, place in awaiting.items()]
    if told:
        faults.extend(
            Fault(kind="unanswered_call", where=where, message=f"no output found for the call {call!r}")
            for call, where in left
        )
        left = []
    return Pairing(faults=tuple(faults), open=tuple(left))


def _duplicate_call(call: str, where: str) -> Fault:
    return Fault(kind="duplicate_call", where=where, message=f"the call id {call!r} came before; ids must be unique")


def _duplicate_result(call: str, where: str) -> Fault:
    return Fault(kind="duplicate_result", where=where, message=f"the call {call!r} has a result already")


def _orphan(call: str, where: str) -> Fault:
    return Fault(
        kind="orphan_result", where=where, message=f"no call {call!r} stands where this result could answer it"
    )


def _late(call: str, where: str) -> Fault:
    return Fault(
        kind="late_result", where=where, message=f"the result of {call!r} comes behind other content of its turn"
    )
