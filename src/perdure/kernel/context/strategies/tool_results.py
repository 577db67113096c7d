"""`tool_result_microcompact`: old tool results become a placeholder with a handle.

It knows tool results and calls. It must never know when it runs or how much must go: the engine takes as many of its
proposals, oldest first, as it needs, and closed turns' thinking with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.edits import ClearToolResult, Rung
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.lighten import unsent_from
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.messages import (
    JsonObject,
    Message,
    ToolResult,
    ToolUse,
    encode_json,
)
from perdure.kernel.value import record

CLEARED = "[Tool result cleared to save context.]"
"""Opens every placeholder: the same text each time, since text that changes would rewrite the prefix each time."""

INPUT_OVER = 200
"""Tokens of a call's arguments above which clearing them is worth a placeholder."""


@record(frozen=True)
class ToolResults:
    """Clears old tool results, and optionally old calls' arguments."""

    keep: int | None = None
    """The newest results that stay, whether a request has carried them or not; None: as the settings say, and all that
    no request has carried yet."""

    @property
    def name(self) -> Rung:
        """Its rung."""
        return "tool_result_microcompact"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """Results from the oldest on."""
        calls = call_names(situation.transcript[situation.view.tail_start :])
        kept = _newest(situation, calls, situation.settings.keep_results if self.keep is None else self.keep)
        unseen = len(situation.transcript) if self.keep is not None else unsent_from(situation.transcript)
        for place, shown, original in situation.viewed():
            if (situation.transcript.index_of(original.id) or 0) >= unseen:
                # Whatever no request has carried yet is there to be read once.
                return
            if situation.settings.clear_inputs:
                yield from _inputs(situation, place, shown, original, kept)
            edits = situation.in_force.lights.get(original.id, {})
            for result in shown.tool_results:
                cleared = isinstance(edits.get(f"result:{result.tool_use_id}"), ClearToolResult)
                if not cleared and result.tool_use_id not in kept:
                    yield from _clear(situation, place, original, result, calls)


def _newest(situation: Situation, calls: dict[str, ToolUse], keep: int) -> frozenset[str]:
    """The calls whose results stay: the newest `keep`, a repeated call counted once and kept in its newest copy."""
    kept: dict[tuple[str, bytes], str] = {}
    messages = situation.view.messages
    for place in range(len(messages) - 1, situation.view.tail - 1, -1):
        for result in reversed(messages[place].tool_results):
            if len(kept) >= keep:
                return frozenset(kept.values())
            call = calls.get(result.tool_use_id)
            key = (call.name, encode_json(call.input)) if call else ("", encode_json(result.tool_use_id))
            kept.setdefault(key, result.tool_use_id)
    return frozenset(kept.values())


def _clear(
    situation: Situation, place: int, original: Message, result: ToolResult, calls: dict[str, ToolUse]
) -> Iterator[Proposal]:
    call = calls.get(result.tool_use_id)
    if call is not None and call.name in situation.settings.protected_tools:
        return
    if situation.weigh((result,)) < min(situation.settings.small_result, situation.limits.batch_floor):
        return
    proposal = clear_result(situation, place, original, result, describe_call(call) if call else "a tool result")
    if proposal is not None:
        yield proposal


def clear_result(situation: Situation, place: int, original: Message, result: ToolResult, what: str) -> Proposal | None:
    """A placeholder for one result, if that is smaller."""
    handle = handle_of(original.id, f"result:{result.tool_use_id}")
    content = CLEARED + situation.to_recall(handle)
    saved = situation.weigh((result,)) - situation.weigh((replace(result, content=content),))
    if saved <= 0:
        return None
    return Proposal(
        kind="clear_result",
        message_id=original.id,
        place=place,
        ref=result.tool_use_id,
        content=content,
        handle=handle,
        original=tuple(given for given in original.tool_results if given.tool_use_id == result.tool_use_id),
        what=what,
        saved=saved,
    )


def _inputs(
    situation: Situation, place: int, shown: Message, original: Message, kept: frozenset[str]
) -> Iterator[Proposal]:
    for use in shown.tool_uses:
        if use.id in kept or use.name in situation.settings.protected_tools:
            continue
        if (proposal := propose_input(situation, place, original, use)) is not None:
            yield proposal


def propose_input(situation: Situation, place: int, original: Message, use: ToolUse) -> Proposal | None:
    """Smaller arguments for one call: long strings give way to a note, short ones stay."""
    size = situation.weigh((use,))
    if size < min(INPUT_OVER, situation.limits.batch_floor):
        return None
    short = {
        key: value
        for key, value in use.input.items()
        if not isinstance(value, str | list | dict) or len(encode_json(value)) <= 200
    }
    if len(short) == len(use.input) and use.raw_input is None:
        return None
    handle = handle_of(original.id, f"input:{use.id}")
    smaller: JsonObject = {**short, "cleared": f"[Arguments cleared to save context.]{situation.to_recall(handle)}"}
    saved = size - situation.weigh((replace(use, input=smaller, raw_input=None),))
    if saved <= 0:
        return None
    return Proposal(
        kind="clear_input",
        message_id=original.id,
        place=place,
        ref=use.id,
        input=smaller,
        handle=handle,
        original=tuple(given for given in original.tool_uses if given.id == use.id),
        what=f"arguments of {describe_call(use)}",
        saved=saved,
    )
