"""Policies that keep the task and a tail: the sliding window, and the full reset.

They know where a history may be cut. They must never summarise.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Original
from perdure.kernel.messages import Transcript
from perdure.lab.policies.ruler import Ruler, opening_of, tail_start
from perdure.lab.policies.run import Policy, Sent


class Tail:
    """Over `most` of the window the oldest messages behind the task go until the request has `least` of it."""

    def __init__(self, ruler: Ruler, most: float, least: float) -> None:
        """Nothing has gone yet."""
        self._ruler, self._most, self._least = ruler, most, least
        self._start = 0

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The task and the newest messages."""
        ruler = self._ruler
        ruler.follow(transcript)
        opening = opening_of(transcript)
        start = max(self._start, opening)
        size = ruler.between(0, opening) + ruler.between(start, len(transcript))
        edited = False
        if ruler.window is not None and ruler.request(size) > self._most * ruler.window:
            room = ruler.history(max(0, int(self._least * ruler.window) - ruler.overhead))
            cut = tail_start(transcript, ruler, room - ruler.between(0, opening), start)
            edited = cut > start
            self._start = start = cut
        ruler.sends(ruler.between(0, opening) + ruler.between(start, len(transcript)))
        messages = transcript if start <= opening else (*transcript[:opening], *transcript[start:])
        return Sent(messages=messages, rungs=("light_trim",) if edited else (), edited=edited)

    def originals(self) -> Mapping[str, Original]:
        """Nothing can be recalled."""
        return {}


def sliding_window(share: float = 0.8) -> Policy:
    """At each call the newest messages that fill `share` of the window."""
    return lambda profile, overhead: Tail(Ruler(profile, overhead), share, share)


def full_reset(share: float = 0.8) -> Policy:
    """At `share` of the window everything goes but the task and the round that is going on."""
    return lambda profile, overhead: Tail(Ruler(profile, overhead), share, 0.0)
