"""What the page is about: sessions, each under one model and window, with the policies that were replayed on it.

It knows what belongs together and how much of it a page has room for. It must never write HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from perdure.kernel.context import PRESETS, Rung, Step, limits_of, with_window
from perdure.kernel.models import lookup
from perdure.kernel.value import value
from perdure.lab.recording import Recording
from perdure.lab.replay import Point, Replayed
from perdure.lab.report.summary import Outcome

CHARTED = 20
"""Sessions that get charts; of more, the largest."""

BASELINES = ("append-only", "recorded")
"""What a policy is compared with: the first of these that was replayed."""

_SHADES = ("append-only", "recorded", "classic", "balanced", "cautious", "thrifty")


@dataclass(frozen=True, kw_only=True)
class Session:
    """One recording under one model and window."""

    recording: Recording
    outcomes: tuple[Outcome, ...]
    place: int
    """Counted from 1, in the order in which the sessions came."""

    @property
    def model(self) -> str:
        """The model that it is priced as."""
        return self.outcomes[0].replayed.model

    @property
    def window(self) -> int | None:
        """Tokens; None where it is not known."""
        return self.outcomes[0].replayed.window

    @cached_property
    def requests(self) -> int:
        """Requests that the session made."""
        return max(len(self.recording.asked), *(len(one.replayed.points) for one in self.outcomes))

    @cached_property
    def tracks(self) -> dict[int, list[tuple[int, Point]]]:
        """The points of each policy with their requests, by the identity of what was replayed."""
        replays = [one.replayed for one in self.outcomes]
        return {id(replayed): _track(self.recording, replayed, self.requests) for replayed in replays}

    @cached_property
    def size(self) -> int:
        """Tokens that its first policy sent."""
        return sum(point.tokens for point in self.outcomes[0].replayed.points)

    @cached_property
    def threshold(self) -> int | None:
        """Window less reserve, as the default settings have it."""
        if self.window is None:
            return None
        profile = with_window(lookup(self.model), self.window)
        limits = limits_of(PRESETS["balanced"], profile, self.outcomes[0].replayed.overhead)
        return None if limits is None else limits.threshold

    @property
    def chosen(self) -> int:
        """The policy that is shown first."""
        return focus([one.replayed.policy for one in self.outcomes])

    def pauses(self) -> Iterator[tuple[int, float]]:
        """Requests before which the session lay idle for longer than the cache lives, and for how many seconds."""
        lives = lookup(self.model).cache.lives
        if not lives:
            return
        last: float | None = None
        for number, asked in enumerate(self.recording.asked):
            if last is not None and asked.time is not None and asked.time - last > lives[0].seconds:
                yield number, asked.time - last
            last = asked.time if asked.time is not None else last


@value
class Detail:
    """How much of each session is drawn, so that a page stays below two megabytes or so."""

    columns: int
    """Places along the requests; where a session has more requests, some share one."""
    rows: int
    """Of edits and of losses."""

    @property
    def shapes_apart(self) -> float:
        """Part of a chart's width that two shapes of one rung lie apart at least."""
        return max(0.008, 1.8 / self.columns)


@value
class Edit:
    """One rung that changed what a policy sent."""

    number: int
    """Counted from 1."""
    request: int
    """Counted from 0."""
    rung: Rung | str
    step: Step | None
    """None where the policy does not tell."""


def sessions_of(outcomes: Sequence[Outcome]) -> list[Session]:
    """The outcomes by what they are about, in order."""
    groups: dict[tuple[int, str, int | None], list[Outcome]] = {}
    for outcome in outcomes:
        key = (id(outcome.recording), outcome.replayed.model, outcome.replayed.window)
        groups.setdefault(key, []).append(outcome)
    return [
        Session(recording=group[0].recording, outcomes=tuple(group), place=place)
        for place, group in enumerate(groups.values(), start=1)
    ]


def detail_for(sessions: Sequence[Session]) -> Detail:
    """As much as there is room for."""
    panels = max(1, sum(len(session.outcomes) for session in sessions))
    return Detail(columns=max(80, min(480, 8_000 // panels)), rows=max(10, min(60, 1_000 // panels)))


def focus(policies: Sequence[str]) -> int:
    """The policy that a reader most likely came for."""
    if "balanced" in policies:
        return policies.index("balanced")
    return next((place for place, name in enumerate(policies) if name not in BASELINES), 0)


def shade(policy: str, place: int) -> int:
    """The colour of a policy: the same in every session, whichever were replayed."""
    return _SHADES.index(policy) if policy in _SHADES else len(_SHADES) + place % 2


def numbered(session: Session, replayed: Replayed) -> Sequence[tuple[int, Point]]:
    """Points with the request that each belongs to, counted from 0; a recorded bill leaves some requests out."""
    return session.tracks[id(replayed)]


def edits_of(session: Session, replayed: Replayed) -> list[Edit]:
    """Every edit in order."""
    found = [
        (number, rung, point.steps[place] if place < len(point.steps) else None)
        for number, point in numbered(session, replayed)
        for place, rung in enumerate(point.rungs)
    ]
    return [
        Edit(number=place, request=number, rung=rung, step=step)
        for place, (number, rung, step) in enumerate(found, start=1)
    ]


def _track(recording: Recording, replayed: Replayed, requests: int) -> list[tuple[int, Point]]:
    asked = recording.asked
    if len(asked) == len(replayed.points):
        return list(enumerate(replayed.points))
    found: list[tuple[int, Point]] = []
    number = 0
    for point in replayed.points:
        while number < len(asked) and asked[number].at != point.at:
            number += 1
        found.append((min(number, requests - 1), point))
        number += 1
    return found
