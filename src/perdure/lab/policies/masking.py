"""Masking: of all observations only the newest N are shown, whatever the size of the request.

It knows counts of results. It must never look at tokens, as the agents that do this do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Original
from perdure.kernel.messages import Transcript
from perdure.lab.policies.clearing import Clearing
from perdure.lab.policies.ruler import Ruler
from perdure.lab.policies.run import Policy, Sent


class Masking:
    """The newest `keep` results stay; older ones go once there are `batch` of them."""

    def __init__(self, clearing: Clearing, keep: int, batch: int) -> None:
        """Nothing is masked yet."""
        self._clearing, self._keep, self._batch = clearing, keep, batch
        self._until = 0

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The transcript with old results masked."""
        self._clearing.follow(transcript)
        boundary = self._clearing.boundary(self._keep)
        if self._clearing.old(self._until, boundary) >= self._batch:
            self._until = boundary
        return self._clearing.send(transcript, self._until)

    def originals(self) -> Mapping[str, Original]:
        """Nothing can be recalled."""
        return {}


def masking(keep: int, batch: int = 1) -> Policy:
    """The newest `keep` observations; `batch` 1 moves the mask at each call."""
    return lambda profile, overhead: Masking(Clearing(Ruler(profile, overhead)), keep, batch)
