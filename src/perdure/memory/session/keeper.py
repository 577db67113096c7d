"""When the living document is written anew, and what becomes of the answer.

It knows the rules: one update at a time, after enough news, at a safe boundary, and the newest generation wins. It must
never call a model or know a clock: the host sends `Update.request` in the background, however it does such things, and
brings the answer back. Nothing that goes wrong changes the document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from perdure.guard import Guard
from perdure.kernel.context.ports import Failed, Refused, Reply, SessionMemory, Summarize
from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.messages import Message, Transcript
from perdure.kernel.value import value
from perdure.memory.session.document import TEMPLATE, SessionDocument, read_reply, request_for
from perdure.memory.session.file import SessionMemoryFile

Result: TypeAlias = Literal["written", "outdated", "no answer", "no document", "not kept"]


@value
class Schedule:
    """When an update is due."""

    first: int = 10_000
    """Tokens of history before the first: below that there is little to tell."""
    every: int = 5_000
    """Tokens since the last one."""
    stale: float = 180.0
    """Seconds after which an update in flight counts as lost: twice what a call may take."""
    longest_answer: int = 6_000
    """Tokens of the answer: `document.LONGEST` characters of English, and some."""


@value
class Update:
    """An update that began: what to ask, and what it will tell of."""

    request: Summarize
    generation: int
    covers_until: str


@value
class Outcome:
    """What became of an update, for the host to report."""

    result: Result
    reason: str = ""
    """Why it was not written."""


@value
class SessionMemoryKeeper:
    """Keeps one session's document."""

    file: SessionMemoryFile
    guard: Guard
    measure: Callable[[Sequence[Message]], int]
    """Tokens of messages."""
    schedule: Schedule = Schedule()

    def begin(self, transcript: Transcript, now: float) -> Update | None:
        """Begin an update where one is due; None where none is. Call it after each message of the assistant.

        Raises:
            StoreUnreachable: the document cannot be read or marked.
        """
        if not at_safe_boundary(transcript) or not self._is_due(self.file.read(), transcript, now):
            return None
        with self.file.change() as change:
            # Somebody else may have begun in between.
            if not self._is_due(change.document, transcript, now):
                return None
            begun = replace(change.document, generation=change.document.generation + 1, running_since=now)
            change.put(begun)
        request = Summarize(
            messages=(),
            instruction=self.guard.redact(request_for(begun, news_of(begun, transcript))),
            extends=False,
            max_tokens=self.schedule.longest_answer,
        )
        return Update(request=request, generation=begun.generation, covers_until=transcript[-1].id)

    def finish(self, update: Update, answer: Reply | Failed | Refused) -> Outcome:
        """Put the answer in the document's place; anything else leaves the document as it is. Raises nothing."""
        text = read_reply(answer.message) if isinstance(answer, Reply) else None
        try:
            with self.file.change() as change:
                if change.document.generation != update.generation:
                    return Outcome(result="outdated", reason="another update began after this one")
                idle = replace(change.document, running_since=None)
                if text is None:
                    change.put(idle)
                    return _failure(answer)
                change.put(replace(idle, text=self.guard.redact(text), covers_until=update.covers_until))
        except StoreUnreachable as error:
            return Outcome(result="not kept", reason=str(error))
        return Outcome(result="written")

    def seed(self) -> SessionMemory | Failed:
        """What the `session_memory` rung reads: the document, or why there is none. Raises nothing."""
        try:
            document = self.file.read()
        except StoreUnreachable as error:
            return Failed(reason=str(error))
        if document.is_blank or not document.covers_until:
            return Failed(reason="nothing is written in the session memory yet")
        return SessionMemory(text=document.text, covers_until=document.covers_until, template=TEMPLATE)

    def _is_due(self, document: SessionDocument, transcript: Transcript, now: float) -> bool:
        since = document.running_since
        # A clock that went back must not hold the document for ever.
        if since is not None and 0 <= now - since < self.schedule.stale:
            return False
        needed = self.schedule.every if document.covers_until else self.schedule.first
        return self.measure(news_of(document, transcript)) >= needed


def news_of(document: SessionDocument, transcript: Transcript) -> Sequence[Message]:
    """What the document does not tell of yet; everything, where it tells of messages that are not in the transcript."""
    covered = transcript.index_of(document.covers_until) if document.covers_until else None
    return transcript[0 if covered is None else covered + 1 :]


def at_safe_boundary(transcript: Transcript) -> bool:
    """Whether no call waits for its result behind the last answer: it had none, or all of them came. In a long row of
    calls nothing else would ever be a boundary."""
    called: set[str] = set()
    answered: set[str] = set()
    for message in reversed(transcript):
        if message.role == "assistant":
            called = {call.id for call in message.tool_uses}
            break
        answered.update(result.tool_use_id for result in message.tool_results)
    else:
        return False
    return called <= answered


def _failure(answer: Reply | Failed | Refused) -> Outcome:
    if isinstance(answer, Reply):
        return Outcome(result="no document", reason="the answer was cut off or has not the form that was asked for")
    return Outcome(result="no answer", reason=answer.reason)
