"""What a policy is to the replay: for each request of a session, what would have been sent.

It knows the shape of a policy. It must never know one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from perdure.kernel.context import Lost, Original, Rung, Step, Summarize
from perdure.kernel.messages import Message, Transcript
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value


@value
class Sent:
    """What a policy sends as one request."""

    messages: Transcript | tuple[Message, ...]
    rungs: tuple[Rung, ...] = ()
    """The rungs that changed the view for this request."""
    asks: tuple[Summarize, ...] = ()
    """The narratives that had to be written first."""
    written: tuple[int, ...] = ()
    """Tokens of each of those narratives; where it is shorter, the stand-in's size holds."""
    steps: tuple[Step, ...] = ()
    """What those rungs brought and at what price, where the policy tells."""
    lost: tuple[Lost, ...] = ()
    """The loss report: what left the view with this request, where the policy tells."""
    frontier: int | None = None
    """The last message that no later edit can change, where the policy knows."""
    edited: bool = False
    """Whether anything before the newest messages changed."""
    counted: int | None = None
    """Tokens that the provider itself counted for this very request, where it was really sent."""
    infeasible: bool = False
    """Whether the policy said, by name, that nothing it may do makes the request fit."""


class Run(Protocol):
    """One session under one policy."""

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What is sent as the next request. The answers in the transcript carry the usage of what was sent before."""
        ...

    def originals(self) -> Mapping[str, Original]:
        """What left the view and can be recalled, by handle."""
        ...


Policy: TypeAlias = Callable[[ModelProfile, int], Run]
"""Begins a run for a model and a fixed overhead in tokens."""
