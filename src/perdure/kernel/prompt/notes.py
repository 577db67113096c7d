"""Notes: what the harness says while the agent runs, and when it is due.

It knows how to see in a view that a note is due, and that it was given. It must never know its wording. No counter
outlives a call: whoever asks twice with the same view gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from perdure.kernel.messages import Message, ToolUse, encode_json
from perdure.kernel.prompt.reminder import Reminder, note, told_in
from perdure.kernel.value import value

REPEATS = 4
"""Equal calls in a row before the model is told: three are how one waits for something, four are a circle."""
TODOS_AFTER = 10
"""Answers of the model without a word on its todos, before it is reminded of them, and again."""
PLAN_AFTER = 5
"""Answers of the model between two short reminders that it is still planning."""

REPEATED, TODOS, PLAN = "repeated call", "todos", "plan mode"


@value
class PlanWords:
    """What is said about plan mode."""

    rules: str
    """What it means, whole: told once in a view."""
    still: str
    """That it still holds, in a sentence."""
    over: str
    """That it has ended."""


def repeated_call(view: Sequence[Message], words: Callable[[str, int], str]) -> Reminder | None:
    """Due at the fourth equal call in a row, and at each fourth after that; `words` takes the tool and the count."""
    told = _last(view, REPEATED)
    row = list(_row(view))
    fresh = sum(1 for at, _ in row if at > told)
    if fresh < REPEATS:
        return None
    return note(REPEATED, words(row[0][1].name, len(row)))


def stale_todos(view: Sequence[Message], tools: Collection[str], words: str) -> Reminder | None:
    """Due where the model has answered ten times since it last wrote its todos with one of `tools`, and as often since
    it was last reminded; `words` is empty where no todo is open."""
    told = _last(view, TODOS)
    written = max((at for at, call in _calls(view) if call.name in tools), default=-1)
    answers = sum(message.role == "assistant" for message in view[max(told, written) + 1 :])
    return note(TODOS, words) if words and answers >= TODOS_AFTER else None


def plan_mode(view: Sequence[Message], planning: bool, words: PlanWords) -> Reminder | None:
    """Due: the rules where the view does not show them, a short word every five answers, and the end once."""
    said = [(told.at, told.text) for told in told_in(view) if told.kind == "note" and told.key == PLAN]
    rules, over = note(PLAN, words.rules), note(PLAN, words.over)
    ended = max((index for index, (_, text) in enumerate(said) if text == over.text), default=-1)
    in_force = said[ended + 1 :]
    if not planning:
        return over if in_force else None
    if rules.text not in (text for _, text in in_force):
        return rules
    answers = sum(message.role == "assistant" for message in view[in_force[-1][0] + 1 :])
    return note(PLAN, words.still) if answers >= PLAN_AFTER else None


def _row(view: Sequence[Message]) -> Iterator[tuple[int, ToolUse]]:
    """The equal calls at the end, newest first, back to what the user last typed."""
    newest: bytes | None = None
    for at in range(len(view) - 1, -1, -1):
        if view[at].is_typed:
            return
        for call in reversed(view[at].tool_uses):
            content = _content(call)
            newest = newest or content
            if content != newest:
                return
            yield at, call


def _content(call: ToolUse) -> bytes:
    return encode_json([call.name, call.raw_input, call.input])


def _calls(view: Sequence[Message]) -> Iterator[tuple[int, ToolUse]]:
    return ((at, call) for at, message in enumerate(view) for call in message.tool_uses)


def _last(view: Sequence[Message], key: str) -> int:
    """Where a note was last given; -1 where it was not."""
    return max((told.at for told in told_in(view) if told.kind == "note" and told.key == key), default=-1)
