"""Appending: what every policy is measured against.

It knows nothing of windows: a request over it is sent all the same and reported.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Original
from perdure.kernel.messages import Transcript
from perdure.lab.policies.run import Sent


class AppendOnly:
    """Everything, always."""

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The transcript as it is."""
        return Sent(messages=transcript, frontier=len(transcript) - 1)

    def originals(self) -> Mapping[str, Original]:
        """Nothing ever leaves."""
        return {}
