"""A recorded session, whatever wrote it: messages in the order in which they came, and the requests that were made.

It knows values. It must never know a file format: the readers do.
"""

from __future__ import annotations

from perdure.kernel.context import Edit
from perdure.kernel.messages import Text, Tool, Transcript, Unknown, Usage
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect


@value
class Asked:
    """One model request that the session really made."""

    at: int
    """It carried what the session had by then: the first `at` messages of the transcript; its answer is the next."""
    time: float | None
    """When it was made, in seconds since the epoch: the time of the newest message that it carried, or better."""
    usage: Usage | None = None
    """What the provider counted, where the recording says so."""
    model: str | None = None
    baseline: int = 0
    """The recorded harness compacted here: it sent nothing before this message. 0 where it never did."""
    ledger: int = 0
    """How many of the recording's own edits were in force."""
    edits: int = 0
    """How often the recorded harness had rewritten in place what it had sent before (cleared results and the like)."""
    thread: str = ""
    """The conversation that it belongs to; empty for the main one."""


@value
class Trouble:
    """Something in a file that could not be read; reading went on behind it."""

    line: int | None
    """Counted from 1; None where the file has no lines to speak of."""
    reason: str


@value
class Recording:
    """One session."""

    file: str
    """The name that it is reported under."""
    format: str
    """Such as `claude-code`, `codex`, `pi`."""
    transcript: Transcript
    """Every message that the session ever had, those that its harness folded away included, without its summaries."""
    asked: tuple[Asked, ...]
    """In order."""
    dialect: Dialect = "anthropic"
    """The wire that its messages went over, whose rules they keep."""
    ledger: tuple[Edit, ...] = ()
    """What Perdure itself edited, where it wrote the recording, in order."""
    model: str | None = None
    """The model that most of the requests went to."""
    system: tuple[Text | Unknown, ...] = ()
    """System blocks, where the recording shows them."""
    tools: tuple[Tool, ...] = ()
    """Tools, where the recording shows them."""
    troubles: tuple[Trouble, ...] = ()
