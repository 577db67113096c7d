"""Reduction at entry: which outputs are reduced before their first send, and to what.

It knows the outputs that no request has carried yet. It must never touch what the user typed, what a protected tool
returned, or a reduction that somebody took back.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.context.describe import call_names, describe_call
from perdure.kernel.context.edits import TrimText
from perdure.kernel.context.entry import reduce_text
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.lighten import unsent_from
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.context.squeeze import reduce_result
from perdure.kernel.messages import Message, Text

CALLS_BEFORE = 8
"""Messages before the fresh ones in which their calls are looked for: an answer may be split over several."""


def propose_entering(situation: Situation, limit: int, taken_back: frozenset[str]) -> Iterator[Proposal]:
    """Every fresh output over `limit` tokens, reduced to half of that. `taken_back` are handles that stay whole."""
    transcript = situation.transcript
    start = unsent_from(transcript)
    fresh = transcript[start:]
    if not any(message.tool_results or message.is_output for message in fresh):
        return
    calls = call_names(transcript[max(0, start - CALLS_BEFORE) :])
    for message in fresh:
        place = situation.view.messages.index_of(message.id)
        if place is None:
            continue
        done = situation.in_force.lights.get(message.id, {})
        for result in message.tool_results:
            call = calls.get(result.tool_use_id)
            protected = call is not None and call.name in situation.settings.protected_tools
            exempt = protected or handle_of(message.id, f"result:{result.tool_use_id}") in taken_back
            if not exempt and f"result:{result.tool_use_id}" not in done and situation.weigh((result,)) > limit:
                hint = describe_call(call) if call else ""
                yield from reduce_result(situation, (place, message.id), result, limit // 2, hint)
        if message.is_output:
            yield from _texts(situation, place, message, limit, taken_back)


def _texts(
    situation: Situation, place: int, message: Message, limit: int, taken_back: frozenset[str]
) -> Iterator[Proposal]:
    """Outputs that a harness without calls sends back as plain text."""
    edits, tool = situation.in_force.lights.get(message.id, {}), situation.settings.recall_tool
    for index, block in enumerate(message.content):
        handle = handle_of(message.id, f"text:{index}")
        if not isinstance(block, Text) or handle in taken_back or isinstance(edits.get(f"text:{index}"), TrimText):
            continue
        size = situation.measure(block.text)
        if size <= limit:
            continue
        recall = "" if tool is None else f"{tool} {handle}"
        content = reduce_text(block.text, limit=limit // 2, measure=situation.measure, recall=recall)
        yield Proposal(
            kind="trim",
            message_id=message.id,
            place=place,
            block=index,
            content=content,
            handle=handle,
            original=(block,),
            what="a tool's output",
            saved=size - situation.measure(content),
        )
