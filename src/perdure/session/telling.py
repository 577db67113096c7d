"""What a session tells its model beside what the user typed: parts that changed, notes that are due, fitting memories.

It knows in which order they are read. It must never keep what was told: the view says that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.guard.reading import Caution
from perdure.kernel.messages import Message
from perdure.kernel.prompt import (
    Reminder,
    Telling,
    changed,
    last_told,
    overlay_parts,
    part,
    plan_mode,
    reminders,
    repeated_call,
    restored,
    stale_todos,
    told_in,
)
from perdure.memory.auto import find_topics, memory_body, read_index, recall
from perdure.project import Standing, read_parts
from perdure.project.wording.notes import PLAN_WORDS, date_body, deferred_body, repeated_words, todos_words
from perdure.project.wording.role import TODO_TOOLS
from perdure.session.spec import Spec


class Teller:
    """Tells one session's model."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self.cautions: tuple[Caution, ...] = ()
        """What was wrong with the files that were last read."""

    async def __call__(self, view: Sequence[Message], typed: str | None) -> Sequence[str]:
        """What to tell now. Between two rounds only notes and what moves by itself are told."""
        if typed is not None:
            memories = self._memories(view, typed)
            return reminders(Telling(notes=self._notes(view), parts=self._standing().parts, memories=memories), view)
        told = [each.text for each in self._notes(view)]
        return (*told, *self._moved(view))

    def again(self, tail: Sequence[Message], checkpoint: str, now: float | None) -> tuple[Message, ...]:
        """The parts behind a checkpoint that the kept tail does not tell."""
        return restored(self._standing().parts, tail, checkpoint=checkpoint, time=now)

    def _standing(self) -> Standing:
        spec, places = self._spec, self._spec.opening.places
        body = memory_body(read_index(places.memory), read_index(places.user_memory)) if spec.tell_memory else ""
        standing = read_parts(
            spec.opening,
            spec.clock(),
            memory=body,
            overlays=spec.overlays(),
            tools=spec.late_tools(),
            zone=spec.zone,
        )
        self.cautions = standing.cautions
        return standing

    def _moved(self, view: Sequence[Message]) -> Iterator[str]:
        """What moves while the agent runs, found without a look at the disk: the date, and servers that came late."""
        spec = self._spec
        today = changed(part("date", date_body(spec.clock(), spec.zone)), view)
        if today is not None:
            yield today
        last = last_told(view)
        for late in (*overlay_parts(spec.overlays()), part("tools", deferred_body(spec.late_tools()))):
            if late.body.strip() and last.get(late.key) != late.text:
                yield late.text

    def _notes(self, view: Sequence[Message]) -> tuple[Reminder, ...]:
        spec = self._spec
        due = (
            plan_mode(view, spec.planning(), PLAN_WORDS),
            repeated_call(view, repeated_words),
            stale_todos(view, TODO_TOOLS, todos_words(list(spec.open_todos()))),
        )
        return tuple(note for note in due if note is not None)

    def _memories(self, view: Sequence[Message], typed: str) -> tuple[Reminder, ...]:
        if not self._spec.tell_memory:
            return ()
        places = self._spec.opening.places
        topics = (*find_topics(places.user_memory).topics, *find_topics(places.memory).topics)
        shown = {told.key for told in told_in(view) if told.kind == "memory"}
        return recall(typed, topics, shown, self._spec.clock())
