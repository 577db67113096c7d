"""Where turns begin, as a provider sees them.

It knows messages in their order. It must never know edits, views or a dialect.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.messages.message import Message

__all__ = ["running_loop"]


def running_loop(messages: Sequence[Message]) -> int:
    """Where the running loop begins: behind the last user-typed message; the thinking from there on stays whole.

    What is typed right behind tool results, or in the same message, does not end it: to the provider both are one turn
    of the user's, and the thinking that led to those calls is still the latest.
    """
    # A loop of thousands of calls is walked before each of them: a slice reads them at once, most not typed.
    whole = messages[:]
    for place in range(len(whole) - 1, -1, -1):
        message = whole[place]
        if message.provenance == "user" and message.is_typed and not _answers_calls(whole, place):
            return place + 1
    return 0


def _answers_calls(messages: Sequence[Message], place: int) -> bool:
    while place >= 0 and messages[place].role == "user":
        if messages[place].tool_results:
            return True
        place -= 1
    return False
