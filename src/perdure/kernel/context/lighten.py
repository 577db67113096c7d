"""Batches of light edits: which proposals are taken together, and what goes with them.

It knows aims, floors and the rules on thinking. It must never know a strategy's reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from perdure.kernel.context.describe import call_names
from perdure.kernel.context.edits import (
    ClearThinking,
    ClearToolInput,
    ClearToolResult,
    LightEdit,
    Reason,
    ReduceOutput,
    TrimText,
)
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.ports import Original
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.messages import Message, RedactedThinking, Text, Thinking, Transcript, running_loop


def take(proposals: Iterable[Proposal], aim: int, floor: int) -> tuple[Proposal, ...]:
    """Proposals in their order until `aim` tokens are freed; none at all where they free less than `floor`."""
    taken: list[Proposal] = []
    freed = 0
    for proposal in proposals:
        if freed >= aim:
            break
        taken.append(proposal)
        freed += proposal.saved
    return tuple(taken) if freed >= floor else ()


def with_thinking(situation: Situation, taken: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """A batch together with all thinking of closed turns: never some of it, since a model that binds thinking to its
    prefix refuses what is left of it once anything before it changed."""
    return (*taken, *closed_thinking(situation)) if taken else ()


def closed_thinking(situation: Situation) -> Iterator[Proposal]:
    """The thinking of every message of a closed turn that the view still shows."""
    loop = running_loop(situation.transcript)
    for place, shown, original in situation.viewed():
        index = situation.transcript.index_of(original.id)
        if index is not None and index < loop and _thinks(shown):
            yield thinking_proposal(situation, place, shown, original)


def thinking_proposal(situation: Situation, place: int, shown: Message, original: Message) -> Proposal:
    """All thinking of one message."""
    blocks = tuple(block for block in shown.content if isinstance(block, Thinking | RedactedThinking))
    return Proposal(
        kind="clear_thinking",
        message_id=original.id,
        place=place,
        handle=handle_of(original.id, "thinking"),
        original=blocks,
        what="thinking of an earlier turn",
        saved=situation.weigh(blocks),
    )


def loop_thinks(situation: Situation, start: int = 0) -> bool:
    """Whether the running loop, from position `start` of the transcript on, holds thinking that must stay whole."""
    transcript = situation.transcript
    return any(_thinks(transcript[place]) for place in range(max(start, running_loop(transcript)), len(transcript)))


def thinking_forbids(situation: Situation) -> bool:
    """Whether the running loop's thinking is bound to what came before, and the provider offers no way to let it go.

    Then no light edit is possible before that thinking: only a checkpoint through the last complete round.
    """
    profile = situation.profile
    return profile.binds_thinking and not profile.offers("drop_block") and loop_thinks(situation)


def edits_of(proposals: Sequence[Proposal], reason: Reason, first: int) -> tuple[LightEdit, ...]:
    """The edits that a batch of proposals becomes; ids count from `first`."""
    return tuple(_edit(proposal, reason, f"e{first + count}") for count, proposal in enumerate(proposals))


def originals_of(proposals: Sequence[Proposal], weigh: Callable[[Proposal], int]) -> tuple[Original, ...]:
    """What the archive must keep before the batch is made."""
    return tuple(
        Original(
            handle=proposal.handle,
            message_id=proposal.message_id,
            what=proposal.what,
            tokens=weigh(proposal),
            content=proposal.original,
        )
        for proposal in proposals
    )


def first_clearable(situation: Situation, until: int) -> int:
    """Position in the view of the first message that a later batch may still change: the frontier lies before it.

    Only the first `until` messages of the transcript are looked at.
    """
    calls = call_names(situation.transcript[situation.view.tail_start :])
    protected = situation.settings.protected_tools
    for place, shown, original in situation.viewed():
        if (situation.transcript.index_of(original.id) or 0) >= until or any(
            isinstance(block, Thinking | RedactedThinking) for block in shown.content
        ):
            return place
        edits = situation.in_force.lights.get(original.id, {})
        for result in shown.tool_results:
            if isinstance(edits.get(f"result:{result.tool_use_id}"), ClearToolResult):
                continue
            call = calls.get(result.tool_use_id)
            stays = call is not None and call.name in protected
            if not stays and situation.weigh((result,)) >= situation.settings.small_result:
                return place
        if (original.role == "assistant" or original.is_output) and any(
            isinstance(block, Text)
            and len(block.text) > situation.limits.trim_over
            and not isinstance(edits.get(f"text:{index}"), TrimText)
            for index, block in enumerate(original.content)
        ):
            return place
    return len(situation.view.messages)


def _thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking | RedactedThinking) for block in message.content)


def _edit(proposal: Proposal, reason: Reason, edit_id: str) -> LightEdit:
    match proposal.kind:
        case "reduce":
            return ReduceOutput(
                id=edit_id,
                reason=reason,
                message_id=proposal.message_id,
                tool_use_id=proposal.ref,
                content=proposal.content,
                handle=proposal.handle,
                saved=proposal.saved,
            )
        case "clear_result":
            return ClearToolResult(
                id=edit_id,
                reason=reason,
                message_id=proposal.message_id,
                tool_use_id=proposal.ref,
                content=proposal.content,
                handle=proposal.handle,
                saved=proposal.saved,
            )
        case "clear_input":
            return ClearToolInput(
                id=edit_id,
                reason=reason,
                message_id=proposal.message_id,
                tool_use_id=proposal.ref,
                input=proposal.input or {},
                handle=proposal.handle,
                saved=proposal.saved,
            )
        case "clear_thinking":
            return ClearThinking(
                id=edit_id,
                reason=reason,
                message_id=proposal.message_id,
                handle=proposal.handle,
                saved=proposal.saved,
            )
        case "trim":
            return TrimText(
                id=edit_id,
                reason=reason,
                message_id=proposal.message_id,
                block=proposal.block,
                content=proposal.content,
                handle=proposal.handle,
                saved=proposal.saved,
            )


def unsent_from(transcript: Transcript) -> int:
    """Position of the first message that no request has carried yet: behind the newest answer of the model."""
    for place in range(len(transcript) - 1, -1, -1):
        if transcript[place].role == "assistant":
            return place + 1
    return 0
