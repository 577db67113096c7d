"""A session of ours as it was: each request is rendered again from the transcript and from the edits of its log.

It knows edits that are over and done. It must never plan one: what a replay of this differs by from the session's own
bill is the error of the replay itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Engine, Ledger, Original, Settings
from perdure.kernel.messages import Transcript
from perdure.kernel.models import ModelProfile
from perdure.lab.policies.run import Policy, Sent
from perdure.lab.recording import Recording


class Followed:
    """The requests of one recording, in the order in which they were made."""

    def __init__(self, recording: Recording, profile: ModelProfile, overhead: int) -> None:
        """Nothing was sent yet. `overhead` in tokens."""
        self._recording = recording
        self._asked = {asked.at: asked for asked in recording.asked}
        self._engine = Engine(profile, Settings(), overhead=overhead)
        self._known = 0

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The view under the edits that were in force by then."""
        asked, before = self._asked.get(len(transcript)), self._known
        known = before if asked is None else asked.ledger
        if known != before:
            self._engine.sync(transcript, Ledger(self._recording.ledger[:known]))
            self._known = known
        projection = self._engine.usage(transcript)
        new = self._recording.ledger[before:known]
        return Sent(
            messages=projection.view.messages,
            frontier=projection.frontier - 1,
            counted=asked.usage.prompt_tokens if asked is not None and asked.usage is not None else None,
            edited=any(edit.reason.why != "entry" for edit in new),
        )

    def originals(self) -> Mapping[str, Original]:
        """None: what left and can be recalled is in the session's own archive."""
        return {}


def followed(recording: Recording) -> Policy:
    """What a session of ours sent, as a policy. A recording without edits of ours is sent whole."""
    return lambda profile, overhead: Followed(recording, profile, overhead)
