"""The classic ladder, as the kernel has it, driven by the replay.

It knows that what the ladder did for one call is undone for the next. It must never repair what the ladder does badly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.kernel.context import Original, drive
from perdure.kernel.context.classic import Classic
from perdure.kernel.messages import Transcript
from perdure.lab.policies.engine import StandIn
from perdure.lab.policies.run import Sent


@dataclass
class ClassicRun:
    """The classic ladder."""

    ladder: Classic
    _ports: StandIn = field(init=False, default_factory=StandIn)
    _acted: bool = field(init=False, default=False)

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The ladder's view for this call alone."""
        view = drive(self.ladder.project(transcript), self._ports)
        # What was done for one call is undone for the next, which moves the prefix once more.
        self._acted = self._acted or bool(view.steps)
        return Sent(messages=view.messages, rungs=view.steps, asks=self._ports.taken(), edited=self._acted)

    def originals(self) -> Mapping[str, Original]:
        """The classic ladder keeps nothing."""
        return {}
