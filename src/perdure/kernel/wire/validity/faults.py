"""What is wrong with a request: a stable name, a place, and a sentence for people.

It knows the names of faults. It must never know how one is found. The names are stable, so that reports can count them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.value import value

FaultKind: TypeAlias = Literal[
    # The list of messages
    "no_messages",
    "first_not_user",
    "role_unknown",
    "empty_message",
    "empty_text",
    "block_in_wrong_role",
    "system_refused",
    "system_misplaced",
    # Calls and results
    "duplicate_call",
    "duplicate_result",
    "orphan_result",
    "late_result",
    "unanswered_call",
    "open_round",
    # Thinking
    "thinking_unsigned",
    "thinking_after_call",
    "thinking_last",
    "thinking_changed",
    "thinking_partial",
    "thinking_missing",
    "thinking_hole",
    "thinking_unbound",
    "thinking_form_refused",
    # Compaction
    "compaction_empty",
    "compaction_misplaced",
    "compaction_ambiguous",
    "compaction_combination",
    # Marks
    "too_many_marks",
    "mark_order",
    "mark_nowhere",
    "mark_refused",
    "mark_conflict",
    # Tools and the other parameters
    "duplicate_tool",
    "all_tools_deferred",
    "search_tool_deferred",
    "unknown_tool_reference",
    "forced_tool_refused",
    "prefill_refused",
    "edit_order",
    "trigger_too_low",
    "output_too_long",
]


@value
class Fault:
    """One reason for which the provider would refuse the request."""

    kind: FaultKind
    where: str
    """The place in Anthropic's notation, such as `messages.3.content.1`, `tools.0` or `thinking.type`; ids are named
    in `message`."""
    message: str
    """What is wrong, for people."""


def at(message: int, block: int | None = None) -> str:
    """The place of a message, or of one of its blocks."""
    return f"messages.{message}" if block is None else f"messages.{message}.content.{block}"
