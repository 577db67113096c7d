"""What edits mean for a session: which commit, for an entry in the log, and which can be taken back.

It knows kinds of edits. It must never write: the session does, once for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.context import (
    Attempt,
    Checkpoint,
    ClearThinking,
    Commit,
    Edit,
    Ledger,
    NativeCheckpoint,
    PrefixChange,
    Revert,
)
from perdure.kernel.messages import Usage
from perdure.log import Compacted


def committed(edits: Sequence[Edit], ledger: Ledger, tokens: int, narrative: Usage | None) -> Iterator[Compacted]:
    """An entry for each checkpoint that these edits make the baseline.

    Args:
        edits: Just written, and not in the ledger yet.
        ledger: The edits before.
        tokens: Of the request as it stands without them.
        narrative: What writing the newest narrative cost; None where no model did.
    """
    for edit in edits:
        match edit:
            case Checkpoint(provisional=False) | NativeCheckpoint(provisional=False):
                usage = narrative if edit.reason.rung == "full_summary" else None
                after = max(0, edit.tokens_before - edit.saved)
                yield Compacted(
                    edit_id=edit.id,
                    reason=edit.reason.why,
                    tokens_before=edit.tokens_before,
                    tokens_after=after,
                    usage=usage,
                )
            case Commit(edit_id=target):
                made = ledger.find(target)
                before = made.tokens_before if isinstance(made, Checkpoint | NativeCheckpoint) else tokens
                yield Compacted(edit_id=target, reason=edit.reason.why, tokens_before=before, tokens_after=tokens)
            case _:
                pass


def newest_loss(ledger: Ledger) -> str | None:
    """The id of the newest edit that took something out of the view and can be taken back; None where there is none."""
    reverted = ledger.in_force.reverted
    kept = (edit for edit in reversed(ledger) if edit.id not in reverted)
    passing = ClearThinking | PrefixChange | Revert | Commit | Attempt
    return next((edit.id for edit in kept if not isinstance(edit, passing)), None)
