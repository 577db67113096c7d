"""The host of a session: what the loop says is written to the log, and what the engine needs is done.

It knows the order of durable writes and answers with what became of them. It must never decide what leaves a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from perdure.archive import Archive as Originals
from perdure.kernel.context import (
    Answer,
    Append,
    Archive,
    Done,
    Edit,
    Failed,
    Need,
    ReadSessionMemory,
    Refused,
    Restore,
    Restored,
    Rewritten,
    SessionMemory,
)
from perdure.kernel.errors import DiskError, PerdureError
from perdure.kernel.messages import Message
from perdure.kernel.value import record
from perdure.log import SessionLog


@record(kw_only=True)
class SessionHost:
    """Performs for one session. `perdure.kernel.agent.Host`."""

    log: SessionLog
    originals: Originals
    clock: Callable[[], float]
    restore: Callable[[Restore], Sequence[Message]]
    """What is told again behind a checkpoint."""
    memory: Callable[[], SessionMemory | Failed]
    """The session memory."""
    rewritten: Callable[[Rewritten], None]
    """Told of every rewrite, and of every skip."""
    edited: Callable[[Sequence[Edit]], None]
    """Told of edits once they are durable."""
    failures: list[str] = field(default_factory=list[str])
    """What a restore could not tell, for people; a checkpoint is made without it."""

    async def record(self, messages: Sequence[Message]) -> None:
        """Make messages durable.

        Raises:
            DiskError: the log refuses; the run ends in the state `broken`, and the conversation is what the log says.
        """
        for message in messages:
            self.log.append_message(message, self.clock())

    async def perform(self, need: Need) -> Answer:
        """See `perdure.kernel.agent.Host`."""
        match need:
            case Archive(originals=originals):
                return self.originals.keep(originals, self.clock())
            case Append(edits=edits):
                return self._append(edits)
            case ReadSessionMemory():
                return self.memory()
            case Restore():
                return self._restored(need)
            case Rewritten():
                self.rewritten(need)
                return Done()
            case _:
                return Refused(reason="the loop has its model write summaries")

    def _append(self, edits: tuple[Edit, ...]) -> Done | Refused:
        try:
            self.log.append_edits(edits, self.clock())
        except DiskError as error:
            return Refused(reason=str(error))
        self.edited(edits)
        return Done()

    def _restored(self, need: Restore) -> Restored:
        """A checkpoint is worth more than what is told behind it, so nothing here stops one."""
        try:
            return Restored(messages=tuple(self.restore(need)))
        except (PerdureError, OSError) as error:
            self.failures.append(str(error))
            return Restored()
