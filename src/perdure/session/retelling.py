"""What is told again behind a checkpoint, and what the model knows of files once it is there.

It knows the order in which things are worth their room. It must never plan a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.kernel.context import Restore
from perdure.kernel.messages import Message, Transcript
from perdure.session.restores import Ground, files_again, shown_in
from perdure.session.spec import Spec
from perdure.session.telling import Teller
from perdure.tools.seen import Seen


class Retelling:
    """What one session tells again."""

    def __init__(
        self,
        spec: Spec,
        seen: Seen,
        teller: Teller,
        measure: Callable[[Sequence[Message]], int],
        transcript: Callable[[], Transcript],
    ) -> None:
        """The retelling of a session. `measure` gives tokens of messages, `transcript` every message so far."""
        self._spec, self._seen, self._teller = spec, seen, teller
        self._measure, self._transcript = measure, transcript
        self._shown: frozenset[Path] = frozenset()

    def restore(self, need: Restore) -> Sequence[Message]:
        """Parts and reminders, skills, files: in the order in which they are worth their room."""
        checkpoint, now = f"restored-{need.document.covers_until}", self._spec.clock()
        tail, room, ground = need.tail, need.room, self._ground()
        # Whatever fails below: what the tail does not show is not known any more.
        self._shown = shown_in(tail, ground)
        parts = self._teller.again(tail, checkpoint, now)
        room -= self._measure(parts)
        skills = self._spec.retold(self._transcript(), tail, checkpoint, now)
        room -= self._measure(skills)
        files = files_again(self._seen, ground, tail, room, checkpoint)
        self._shown |= files.paths
        return (*parts, *skills, *files.messages)

    def folded(self) -> None:
        """A checkpoint is in force: files that stand neither in its tail nor behind it have to be read again."""
        self.forget(self._shown)

    def forget(self, but: frozenset[Path] = frozenset()) -> None:
        """Let go of what is known of files, but of these."""
        self._seen.forget([path for path, _, _ in self._seen.recent() if path not in but])

    def _ground(self) -> Ground:
        places = self._spec.opening.places
        return Ground(
            roots=(places.root, *self._spec.roots),
            memories=(places.memory, places.user_memory),
            guard=self._spec.guard,
            measure=self._measure,
            resolve=lambda given: (places.cwd / given).resolve(),
        )
