"""Session memory in the background: the living document is written anew while the agent works.

It knows when a model is asked and what becomes of the answer. It must never hold up the agent, and a failure of it must
never end anything: the document stays as it was, and `last` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

from perdure.kernel.agent import Answered, Ask, Failure, UsageSeen
from perdure.kernel.cache import bill_of
from perdure.kernel.context import Failed, Reply, SessionMemory
from perdure.kernel.errors import DiskError, StoreUnreachable
from perdure.kernel.messages import Message, Text, Transcript, weigh
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import tokens_of
from perdure.log import Remembered
from perdure.memory.session import SessionDocument, SessionMemoryFile, SessionMemoryKeeper
from perdure.memory.session.file import NAME
from perdure.memory.session.keeper import Outcome, Update
from perdure.session.spec import Spec

MARGIN = 1.15
"""By which a request may be larger than its estimate."""
LEAST_ANSWER = 500
"""Tokens below which no document can be written."""
PATIENCE = 180.0
"""Seconds that a model may take for the document."""


class Notes:
    """The session memory of one session."""

    def __init__(
        self,
        spec: Spec,
        folder: Path,
        measure: Callable[[Sequence[Message]], int],
        counted: Callable[[str, UsageSeen], None],
        written: Callable[[Remembered], None],
    ) -> None:
        """The notes of a session, kept in its own folder.

        Args:
            spec: Whose model is asked.
            folder: Of the session.
            measure: Tokens of messages.
            counted: Told what a call cost.
            written: Told of each new document.
        """
        self._spec, self._counted, self._written = spec, counted, written
        self._file = SessionMemoryFile(folder=folder)
        self._keeper = SessionMemoryKeeper(file=self._file, guard=spec.guard, measure=measure)
        self._task: asyncio.Task[None] | None = None
        self.last: Outcome | None = None
        """What became of the newest update."""

    def bring_back(self, before: Remembered | None, transcript: Transcript) -> None:
        """Have the document be one of this conversation: where a fork, a move or a rewind left behind a file that tells
        of no message or of another branch, it becomes that of the log. A killed process' update runs no more.
        """
        if not self._spec.session_memory or (before is None and not (self._file.folder / NAME).exists()):
            return
        with suppress(StoreUnreachable), self._file.change() as change:
            document = change.document
            if not document.covers_until or transcript.index_of(document.covers_until) is None:
                # Whatever still writes what was left behind comes too late, by its number.
                later = max(document.generation, before.generation if before else 0) + 1
                document = SessionDocument(generation=later)
                if before is not None:
                    document = replace(document, text=before.text, covers_until=before.covers_until)
            fresh = replace(document, running_since=None)
            if fresh != change.document:
                change.put(fresh)

    def go_back(self, before: Remembered | None, transcript: Transcript) -> None:
        """The conversation went back: what is being written tells of what was left."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self.bring_back(before, transcript)

    def consider(self, transcript: Transcript) -> None:
        """Begin an update where one is due. To be called behind each answer; returns at once."""
        if not self._spec.session_memory or (self._task is not None and not self._task.done()):
            return
        try:
            update = self._keeper.begin(transcript, self._spec.clock())
        except StoreUnreachable as error:
            self.last = Outcome(result="not kept", reason=str(error))
            return
        if update is not None:
            self._task = asyncio.get_running_loop().create_task(self._update(update))

    def seed(self) -> SessionMemory | Failed:
        """What the `session_memory` rung reads."""
        return self._keeper.seed() if self._spec.session_memory else Failed(reason="session memory is turned off")

    async def settle(self) -> None:
        """Wait for the update that is running; for programs that end behind it."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Give up the update that is running; the next session begins a new one."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _update(self, update: Update) -> None:
        answer: Reply | Failed
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._ask(update)
        except TimeoutError:
            answer = Failed(reason=f"no answer within {PATIENCE:.0f} s")
        except asyncio.CancelledError:
            self.last = self._keeper.finish(update, Failed(reason="the session was closed"))
            raise
        self.last = self._keeper.finish(update, answer)
        if self.last.result == "written":
            with suppress(DiskError, StoreUnreachable):
                document = self._file.read()
                self._written(
                    Remembered(generation=document.generation, text=document.text, covers_until=document.covers_until)
                )

    async def _ask(self, update: Update) -> Reply | Failed:
        model = self._spec.summarizer or self._spec.model
        request = update.request
        said = Message(id="notes", role="user", content=(Text(text=request.instruction),), provenance="harness")
        longest = _longest(said, request.max_tokens, model.profile)
        if longest < LEAST_ANSWER:
            return Failed(reason="what happened since the last update does not fit into the model's window")
        ask = Ask(messages=(said,), max_tokens=longest)
        async with aclosing(model.stream(ask)) as stream:
            async for event in stream:
                if isinstance(event, Failure):
                    return Failed(reason=event.message)
                if isinstance(event, Answered):
                    message = event.response.message
                    if message.usage is not None:
                        usd = bill_of(message.usage, model.profile).usd
                        seen = UsageSeen(usage=message.usage, predicted_read=0, usd=usd, purpose="summary")
                        self._counted("session memory", seen)
                    return Reply(message=message)
        return Failed(reason="the stream ended without an answer")


def _longest(said: Message, wanted: int, profile: ModelProfile) -> int:
    """Tokens that the answer may have, by what the model can write and what its window leaves."""
    limits = [wanted]
    if profile.window.max_output is not None:
        limits.append(profile.window.max_output)
    if profile.window.tokens is not None:
        limits.append(profile.window.tokens - int(tokens_of(weigh(said), profile) * MARGIN))
    return min(limits)
