"""Puts a checkpoint together so that it fits its budget.

It knows in which order sections yield. It must never know who wrote the narrative or how tokens are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perdure.kernel.context.checkpoint.document import CheckpointDocument, Handle, Narrative
from perdure.kernel.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is folded into a checkpoint, and what is known about it."""

    folded: Sequence[Message]
    """The messages that leave the view, oldest first, without the message that showed the previous checkpoint."""
    previous: CheckpointDocument | None = None
    """The checkpoint that this one continues."""
    narrative: Narrative | None = None
    """What a model wrote, verified; None for the extractive narrative."""
    claims_removed: int = 0
    claims_moved: int = 0
    pins: tuple[str, ...] = ()
    handles: tuple[Handle, ...] = ()
    """Handles of what this fold evicts; those of the previous checkpoint are carried."""
    splits_turn: bool = False
    """Whether the rest of the last turn stays in the view behind the checkpoint."""


def build(fold: Fold, *, budget: int, measure: Callable[[str], int]) -> CheckpointDocument:
    """The checkpoint of a fold, at most `budget` tokens when rendered and measured, wherever that is possible.

    Sections yield in this order: search words, handles beyond the newest 20, file lists, critical context, decisions,
    done items, the user's statements by score. Pins and the current task never do.
    """
    raise NotImplementedError
