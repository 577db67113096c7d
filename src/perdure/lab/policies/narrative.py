"""What a model would have written: a stand-in of measured size that carries no facts.

It knows sizes. It must never hold anything of the session, so that what survives is what code carries.
"""

from __future__ import annotations

from perdure.kernel.messages import Message, Text

NARRATIVE_TOKENS = 1_500
"""Size of the stand-in for a checkpoint's narrative. Summaries of the coding agents in the simulated sessions had 1,500
to 6,000 tokens with the user's words and the file lists, which code carries here."""

SUMMARY_TOKENS = (3_000, 1_500, 4_500, 1_250, 6_000)
"""Sizes of whole summaries as harnesses have them written, one after the other: five points of the distribution in
recorded sessions, whose ends and second point were measured on files (1,250, 1,460 and 5,980 tokens; 2026-11). In mixed
order, so that a session with few of them is not priced by one end."""

_SENTENCE = "The work went on as asked, step by step, and what was found on the way was taken into account. "


def stand_in(tokens: int = NARRATIVE_TOKENS) -> Message:
    """A narrative of so many tokens that says nothing."""
    count = tokens * 3 // len(_SENTENCE)
    lines = "\n".join(f"- {_SENTENCE.strip()}" for _ in range(count))
    text = f"<summary>\n## Goal\n- Go on with the work.\n## Critical context\n{lines}\n</summary>"
    return Message(
        id="stand-in", role="assistant", content=(Text(text=text),), provenance="assistant", stop_reason="end_turn"
    )
