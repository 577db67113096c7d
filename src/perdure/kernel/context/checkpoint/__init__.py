"""Checkpoints: what stands in the place of a folded prefix, so that the work goes on and the user's words survive."""

from perdure.kernel.context.checkpoint.build import Fold, build
from perdure.kernel.context.checkpoint.document import (
    CheckpointDocument,
    Done,
    Handle,
    Narrative,
    Outdated,
    Said,
    SplitTurn,
    Todo,
    Unsaid,
    from_json,
    to_json,
)
from perdure.kernel.context.checkpoint.render import CLOSING, OPENING, render

__all__ = [
    "CLOSING",
    "OPENING",
    "CheckpointDocument",
    "Done",
    "Fold",
    "Handle",
    "Narrative",
    "Outdated",
    "Said",
    "SplitTurn",
    "Todo",
    "Unsaid",
    "build",
    "from_json",
    "render",
    "to_json",
]
