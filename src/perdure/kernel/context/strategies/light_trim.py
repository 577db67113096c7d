"""`light_trim`: long old text blocks of the model and the harness lose their middle.

It knows text blocks. It must never touch what the user typed, a reminder or part, or a checkpoint: their words are
rules, and a rule without its middle is another rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.context.edits import Rung, TrimText
from perdure.kernel.context.handles import handle_of
from perdure.kernel.context.settings import scaled_trim
from perdure.kernel.context.situation import Proposal, Situation
from perdure.kernel.messages import REMINDER_OPENING, Message, Text
from perdure.kernel.value import record


@record(frozen=True)
class LightTrim:
    """Shortens long text of all but the newest messages."""

    @property
    def name(self) -> Rung:
        """Its rung."""
        return "light_trim"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """Text blocks of the model and of tools, from the oldest on."""
        last = len(situation.view.messages) - situation.settings.trim_newest
        for place, _, original in situation.viewed():
            if place < last and (original.role == "assistant" or original.is_output):
                yield from propose_trims(situation, place, original, situation.limits.trim_over)


def propose_trims(situation: Situation, place: int, original: Message, over: int) -> Iterator[Proposal]:
    """Each text block of a message that is longer than `over` characters, without its middle."""
    edits = situation.in_force.lights.get(original.id, {})
    head, tail = scaled_trim(situation.settings, situation.limits)
    for index, block in enumerate(original.content):
        if not isinstance(block, Text):
            continue
        edit = edits.get(f"text:{index}")
        shown = edit.content if isinstance(edit, TrimText) else block.text
        if len(shown) <= over or block.text.lstrip().startswith(REMINDER_OPENING):
            continue
        handle = handle_of(original.id, f"text:{index}")
        content = trimmed(block.text, head, tail, situation.to_recall(handle))
        saved = situation.measure(shown) - situation.measure(content)
        if saved > 0:
            yield Proposal(
                kind="trim",
                message_id=original.id,
                place=place,
                block=index,
                content=content,
                handle=handle,
                original=(block,),
                what=f"the middle of {'what the user pasted' if original.is_typed else 'a long text'}",
                saved=saved,
            )


def trimmed(text: str, head: int, tail: int, to_recall: str) -> str:
    """A text without its middle: `head` characters, a note that counts what is left out, `tail` characters."""
    note = f"[{len(text) - head - tail} characters trimmed]{to_recall}"
    return f"{text[:head]}\n{note}\n{text[len(text) - tail :]}"
