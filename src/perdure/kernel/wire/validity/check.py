"""The rules that a provider enforces, checked before anything is sent.

It knows which rules hold for which dialect and model (Anthropic's guides on tool use, thinking, prompt caching,
context editing and compaction, 2026-08 to 2026-10; OpenAI's references of Responses and Chat Completions). It must
never know why a message is there. Everything is linear in the messages, and what one message alone can show is found
once and kept with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import Message, Request
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity.facts import Facts, facts_of
from perdure.kernel.wire.validity.faults import Fault, at
from perdure.kernel.wire.validity.pairing import Pairing, pair
from perdure.kernel.wire.validity.parameters import parameter_faults
from perdure.kernel.wire.validity.places import ending_faults, place_faults


def check(request: Request, profile: ModelProfile, dialect: Dialect) -> tuple[Fault, ...]:
    """Everything for which the provider would refuse this request; empty for a valid one."""
    facts = [facts_of(message, dialect) for message in request.messages]
    pairing = pair(request.messages, facts, dialect)
    return (
        *_message_faults(request.messages, facts, profile, dialect),
        *pairing.faults,
        *_open_round(pairing),
        *_request_faults(request, facts, profile, dialect),
    )


def check_messages(messages: Sequence[Message], profile: ModelProfile, dialect: Dialect) -> tuple[Fault, ...]:
    """Everything wrong with a transcript. It may end anywhere: an open round at its very end is no fault."""
    facts = [facts_of(message, dialect) for message in messages]
    return (
        *_message_faults(messages, facts, profile, dialect),
        *pair(messages, facts, dialect).faults,
    )


def _message_faults(
    messages: Sequence[Message], facts: Sequence[Facts], profile: ModelProfile, dialect: Dialect
) -> Iterator[Fault]:
    for index, fact in enumerate(facts):
        for kind, block, text in fact.found:
            yield Fault(kind=kind, where=at(index, block), message=text)
    if dialect == "anthropic":
        yield from place_faults(messages, facts, profile)


def _open_round(pairing: Pairing) -> Iterator[Fault]:
    for call, where in pairing.open:
        yield Fault(kind="open_round", where=where, message=f"the call {call!r} is still without a result")


def _request_faults(
    request: Request, facts: Sequence[Facts], profile: ModelProfile, dialect: Dialect
) -> Iterator[Fault]:
    if not request.messages:
        yield Fault(kind="no_messages", where="messages", message="at least one message is required")
    if dialect == "anthropic":
        # A request for compaction on demand may end in the answer that it summarises.
        if "compaction" not in request.params:
            yield from ending_faults(request.messages, profile)
        yield from parameter_faults(request, facts, profile)
