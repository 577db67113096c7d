"""The same policy with one more cache mark: at the end of what it had already sent in the last request.

It knows two requests. It must never change what is sent: agents that edit at each call mostly mark the newest message
alone, and this says what they lose by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perdure.kernel.context import Original
from perdure.kernel.messages import Message, Transcript
from perdure.kernel.models import ModelProfile
from perdure.lab.composition import unchanged
from perdure.lab.policies.run import Policy, Run, Sent


class Marked:
    """A run whose requests are marked where they stop being the last one's."""

    def __init__(self, run: Run) -> None:
        """Nothing was sent yet."""
        self._run = run
        self._last: list[Message] = []

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What the policy sends, with its frontier."""
        sent = self._run.send(transcript, now)
        same = unchanged(self._last, sent.messages)
        self._last = list(sent.messages)
        return replace(sent, frontier=same - 1)

    def originals(self) -> Mapping[str, Original]:
        """Those of the policy."""
        return self._run.originals()


def marked(policy: Policy) -> Policy:
    """A policy with that mark."""

    def begin(profile: ModelProfile, overhead: int) -> Marked:
        return Marked(policy(profile, overhead))

    return begin
