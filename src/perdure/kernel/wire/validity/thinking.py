"""Whether thinking goes back as it came: seen against the originals, or against the request before.

It knows blocks and their order. It must never know a dialect's key names. A request alone does not show a thinking
block that was changed or left out; whoever holds the transcript can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import Block, Compaction, Message, RedactedThinking, Request, Thinking, running_loop
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire.validity.faults import Fault, at


def check_against(originals: Sequence[Message], request: Request, profile: ModelProfile) -> tuple[Fault, ...]:
    """The faults of a request's thinking, where `originals` are the messages as they were, found by id.

    In each message all thinking is there, equal and in order, or none. In the running loop none is missing. Where the
    model binds thinking, what was taken out lies at the start or the end of the whole history, never between.
    """
    known = {message.id: message for message in originals}
    loop = running_loop(request.messages)
    faults: list[Fault] = []
    kept: list[tuple[int, bool]] = []
    for index, message in enumerate(request.messages):
        original = known.get(message.id)
        if original is None or message.role != "assistant":
            continue
        there, was = _thinking_of(message), _thinking_of(original)
        if was:
            kept.append((index, bool(there)))
        if there != was and (there or index >= loop):
            faults.append(_difference(index, there, was))
    if profile.binds_thinking and not _drops(request):
        faults.extend(_holes(kept))
    return tuple(faults)


def check_following(previous: Request, request: Request, profile: ModelProfile) -> tuple[Fault, ...]:
    """The faults of thinking that was sent before, or came as the answer to `previous`, and whose prefix changed since.

    Only models that bind thinking have them. Taking thinking itself away, marks and parameters are no change of a
    prefix, nor is a signed compaction block in the place of what it summarises.
    """
    if not profile.binds_thinking or _drops(request) or _starts_compacted(request):
        return ()
    first = _first_unbound(previous, request)
    sent = {message.id for message in previous.messages}
    old = sent | _first_new(previous, request, sent)
    return tuple(
        Fault(
            kind="thinking_unbound",
            where=at(index),
            message="the thinking block is bound to a different conversation: something before it changed",
        )
        for index, message in enumerate(request.messages)
        if index >= first and message.id in old and _thinking_of(message)
    )


def _difference(index: int, there: list[Block], was: list[Block]) -> Fault:
    if not there:
        return Fault(
            kind="thinking_missing", where=at(index), message="the running loop keeps its thinking, and this is gone"
        )
    if all(block in was for block in there):
        return Fault(
            kind="thinking_partial",
            where=at(index),
            message=f"{len(there)} of {len(was)} thinking blocks are left, or their order changed; keep all or none",
        )
    return Fault(
        kind="thinking_changed", where=at(index), message="thinking blocks cannot be modified, and this one was"
    )


def _holes(kept: list[tuple[int, bool]]) -> Iterator[Fault]:
    places = [place for place, (_, there) in enumerate(kept) if there]
    if places:
        for index, there in kept[places[0] : places[-1]]:
            if not there:
                yield Fault(
                    kind="thinking_hole",
                    where=at(index),
                    message="thinking is gone between two messages that keep theirs; take it from the start or all",
                )


def _thinking_of(message: Message) -> list[Block]:
    return [block for block in message.content if isinstance(block, Thinking | RedactedThinking)]


def _drops(request: Request) -> bool:
    """Whether the request asks the provider to drop what no longer fits, instead of refusing it."""
    thinking = request.params.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _starts_compacted(request: Request) -> bool:
    first = request.messages[0].content[:1] if request.messages else ()
    return any(isinstance(block, Compaction) and block.signature is not None for block in first)


def _first_unbound(previous: Request, request: Request) -> int:
    """The first message whose thinking no longer stands behind the prefix that it was made for."""
    shared = [tool for tool in previous.tools if not tool.deferred]
    if previous.system != request.system or shared != [tool for tool in request.tools if not tool.deferred]:
        return 0
    for index, (one, other) in enumerate(zip(previous.messages, request.messages, strict=False)):
        if _without_thinking(one) != _without_thinking(other):
            return index + 1
        if _thinking_of(other) and not _thinking_of(one):
            # A block that was taken out is not put back.
            return index
    return len(request.messages)


def _without_thinking(message: Message) -> tuple[str, list[Block]]:
    return message.role, [block for block in message.content if not isinstance(block, Thinking | RedactedThinking)]


def _first_new(previous: Request, request: Request, sent: set[str]) -> set[str]:
    """The answer to `previous`: the assistant message that follows what was sent."""
    new = [message for message in request.messages if message.id not in sent and message.role == "assistant"]
    return {new[0].id} if new and previous.messages else set()
