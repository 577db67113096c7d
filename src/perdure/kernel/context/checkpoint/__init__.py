"""Checkpoints: what stands in the place of a folded prefix, so that the work goes on and the user's words survive."""

from perdure.kernel.context.checkpoint.ask import (
    conversation_request,
    serialise,
    transcript_request,
    without_oldest_fifth,
)
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
from perdure.kernel.context.checkpoint.narrative import Refusal, Verdict, judge, parse
from perdure.kernel.context.checkpoint.render import CLOSING, OPENING, render
from perdure.kernel.context.checkpoint.verify import Removed, Verified, verify

__all__ = [
    "CLOSING",
    "OPENING",
    "CheckpointDocument",
    "Done",
    "Fold",
    "Handle",
    "Narrative",
    "Outdated",
    "Refusal",
    "Removed",
    "Said",
    "SplitTurn",
    "Todo",
    "Unsaid",
    "Verdict",
    "Verified",
    "build",
    "conversation_request",
    "from_json",
    "judge",
    "parse",
    "render",
    "serialise",
    "to_json",
    "transcript_request",
    "verify",
    "without_oldest_fifth",
]
