"""Who may speak when: first and last messages, system messages between others, and where a compaction block stands.

It knows roles and order. It must never know how calls pair with results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import Compaction, Message, ServerToolResult, ServerToolUse
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire.validity.facts import Facts
from perdure.kernel.wire.validity.faults import Fault, at


def place_faults(messages: Sequence[Message], facts: Sequence[Facts], profile: ModelProfile) -> Iterator[Fault]:
    """Faults of order under Anthropic's rules, for a transcript or a request."""
    if not messages:
        return
    if messages[0].role == "assistant" and not isinstance(_first(messages[0]), Compaction):
        yield Fault(kind="first_not_user", where=at(0), message="the first message must be of the user")
    yield from _system_faults(messages, profile)
    yield from _thinking_at_the_end(messages, facts)
    yield from _compaction_faults(facts)


def ending_faults(messages: Sequence[Message], profile: ModelProfile) -> Iterator[Fault]:
    """Faults of the end of a request under Anthropic's rules; a transcript may end as it likes."""
    last = messages[-1] if messages else None
    if last and last.role == "assistant" and not profile.features.prefill and not _continues(last):
        yield Fault(
            kind="prefill_refused",
            where=at(len(messages) - 1),
            message="this model takes no prefill: the conversation must end with a message of the user",
        )


def _continues(message: Message) -> bool:
    """Whether the provider itself paused here and goes on from it: after a server tool, or right after a compaction."""
    return isinstance(message.content[-1] if message.content else None, ServerToolUse | ServerToolResult | Compaction)


def _first(message: Message) -> object:
    return message.content[0] if message.content else None


def _system_faults(messages: Sequence[Message], profile: ModelProfile) -> Iterator[Fault]:
    """A system message follows a turn of the user's, or a server tool result, and is last or before an assistant's."""
    for index, message in enumerate(messages):
        role = message.role
        if role in ("user", "assistant"):
            continue
        if role != "system":
            yield Fault(kind="role_unknown", where=at(index), message=f"Anthropic knows no role {role!r}")
        elif not profile.offers("system_messages"):
            yield Fault(
                kind="system_refused",
                where=at(index),
                message=f"the model {profile.id!r} takes no system messages between others",
            )
        elif not _system_fits(messages, index):
            yield Fault(
                kind="system_misplaced",
                where=at(index),
                message="a system message follows a user turn and is last, or is followed by an assistant's",
            )


def _system_fits(messages: Sequence[Message], index: int) -> bool:
    if index == 0:
        return False
    before = messages[index - 1]
    follows = before.role == "user" or (
        before.role == "assistant" and bool(before.content) and isinstance(before.content[-1], ServerToolResult)
    )
    return follows and (index + 1 == len(messages) or messages[index + 1].role == "assistant")


def _thinking_at_the_end(messages: Sequence[Message], facts: Sequence[Facts]) -> Iterator[Fault]:
    """Provider error: "The final block in an assistant message cannot be `thinking`". It looks at whole turns."""
    for index, fact in enumerate(facts[:-1]):
        if fact.ends_in_thought and messages[index].role == "assistant" and messages[index + 1].role != "assistant":
            yield Fault(
                kind="thinking_last",
                where=at(index, len(messages[index].content) - 1),
                message="the final block of an assistant turn cannot be thinking",
            )


def _compaction_faults(facts: Sequence[Facts]) -> Iterator[Fault]:
    """A signed block (on demand) comes first of all, and once; a block of the threshold kind stands anywhere."""
    signed = [(index, position) for index, fact in enumerate(facts) if fact.signed for position in fact.signed]
    for index, position in signed:
        if (index, position) != (0, 0):
            yield Fault(
                kind="compaction_misplaced",
                where=at(index, position),
                message="a signed compaction block must be the first block of the first message",
            )
    if len(signed) > 1:
        yield Fault(
            kind="compaction_ambiguous",
            where=at(*signed[1]),
            message=f"a request carries one signed compaction block, not {len(signed)}",
        )
