"""A checkpoint that is prepared while the agent works, so that nobody waits for its narrative.

It knows when preparing begins, and whether what was prepared still fits. It must never bring anything into force: the
session does, between two calls of the model. What is prepared is planned on a copy: nothing of it is in the log before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace

from perdure.kernel.context import (
    Answer,
    Append,
    Archive,
    AsyncPorts,
    Checkpoint,
    Done,
    Edit,
    Engine,
    Ladder,
    Ledger,
    Need,
    ReadSessionMemory,
    Restore,
    Restored,
    Summarize,
    drive_async,
)
from perdure.kernel.messages import Message, Transcript
from perdure.kernel.value import record, value

AHEAD = 0.2
"""Part of the way from the fixed overhead to the fold point at which preparing begins before that point."""


@value
class Prepared:
    """A checkpoint that waits for its moment."""

    checkpoint: Checkpoint
    continues: str
    """Id of the checkpoint before it; empty for none."""
    restore: Restore | None
    """What the engine asked to be told again."""


@record()
class _Ports:
    """What a plan on a copy is answered."""

    perform_for: Callable[[Need], Awaitable[Answer]]
    edits: list[Edit] = field(default_factory=list[Edit])
    restore: Restore | None = None

    async def perform(self, need: Need) -> Answer:
        """Originals are kept at once, since keeping them twice is no harm; edits are only noted."""
        match need:
            case Append(edits=edits):
                self.edits += edits
                return Done()
            case Restore():
                self.restore = need
                return Restored()
            case Summarize() | ReadSessionMemory() | Archive():
                return await self.perform_for(need)
            case _:
                return Done()


class Background:
    """Prepares for one agent, one checkpoint at a time."""

    def __init__(self, perform: Callable[[Need], Awaitable[Answer]], seconds: float) -> None:
        """Prepare by means of `perform`, which is the agent's own, for at most so many seconds."""
        self._perform, self._seconds = perform, seconds
        self._task: asyncio.Task[None] | None = None
        self._ready: Prepared | None = None

    def consider(self, engine: Engine, ladder: Ladder, transcript: Transcript, now: float | None) -> None:
        """Begin, if the fold point comes near. To be called behind each answer; returns at once."""
        if self._ready is not None or (self._task is not None and not self._task.done()):
            return
        projection = engine.usage(transcript)
        limits = projection.limits
        if limits is None or engine.profile.binds_thinking:
            # Thinking that is bound to bytes says at the moment of the fold where a cut may lie.
            return
        near = limits.fold_at - int((limits.fold_at - limits.overhead) * AHEAD)
        if projection.usage.upper > near:
            copy = Engine(
                engine.profile, engine.settings, overhead=limits.overhead, ledger=engine.ledger, ladder=ladder
            )
            copy.pins = engine.pins
            self._task = asyncio.get_running_loop().create_task(self._prepare(copy, transcript, now))

    def take(self, engine: Engine, transcript: Transcript) -> Prepared | None:
        """What is ready, once the fold point is passed and if it still fits; what no longer fits is let go."""
        ready = self._ready
        if ready is None:
            return None
        if not fits(ready, engine.ledger, transcript):
            self._ready = None
            return None
        projection = engine.usage(transcript)
        if projection.limits is None or projection.usage.upper <= projection.limits.fold_at:
            return None
        self._ready = None
        return ready

    def forget(self) -> None:
        """Let go of what is prepared or being prepared: the conversation went back."""
        if self._task is not None:
            self._task.cancel()
        self._task, self._ready = None, None

    async def close(self) -> None:
        """Give up what is being prepared."""
        task = self._task
        self.forget()
        if task is not None:
            with suppress(asyncio.CancelledError):
                await task

    async def _prepare(self, copy: Engine, transcript: Transcript, now: float | None) -> None:
        ports = _Ports(self._perform)
        before = copy.ledger.in_force.checkpoint
        try:
            async with asyncio.timeout(self._seconds):
                await drive_async(copy.compact(transcript, "", now), ports)
        # It was only prepared: the engine folds by itself when the time has come.
        except Exception:  # noqa: BLE001
            return
        made = next((edit for edit in ports.edits if isinstance(edit, Checkpoint)), None)
        if made is not None:
            self._ready = Prepared(
                checkpoint=made, continues=before.id if before is not None else "", restore=ports.restore
            )


def fits(prepared: Prepared, ledger: Ledger, transcript: Transcript) -> bool:
    """Whether the conversation still has what the checkpoint tells, behind the same checkpoint as then."""
    before = ledger.in_force.checkpoint
    same = (before.id if before is not None else "") == prepared.continues
    return same and transcript.index_of(prepared.checkpoint.covers_until) is not None


def as_of_now(
    prepared: Prepared, ledger: Ledger, transcript: Transcript, after: Sequence[Message], *, provisional: bool
) -> Checkpoint:
    """The checkpoint as an edit of this moment."""
    checkpoint, number = prepared.checkpoint, ledger.next_number
    reason = replace(checkpoint.reason, at=len(transcript), why="fold_point", batch=f"b{number}")
    return replace(checkpoint, id=f"e{number}", reason=reason, after=tuple(after), provisional=provisional)


async def again_behind(
    prepared: Prepared, transcript: Transcript, tokens: int, ports: AsyncPorts
) -> tuple[Message, ...]:
    """What is told again behind the checkpoint, by the tail and the room of this moment. `tokens` is the request."""
    need = prepared.restore
    place = transcript.index_of(prepared.checkpoint.covers_until)
    if need is None or place is None:
        return ()
    room = max(0, need.room - max(0, tokens - prepared.checkpoint.tokens_before))
    answer = await ports.perform(replace(need, tail=transcript[place + 1 :], room=room))
    return tuple(answer.messages) if isinstance(answer, Restored) else ()
