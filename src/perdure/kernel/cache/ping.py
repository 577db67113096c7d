"""Whether a request that only keeps the cache alive pays, and when it has to go.

It knows pauses, lives and prices. It must never know a request, and it sends nothing. A ping reads the whole prefix at
the price of a read; it pays where somebody comes back often enough within the life that it buys, since the prefix would
have to be written again otherwise. Measured on recorded sessions, three in a row are about as good as it gets.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value

MOST_PINGS = 3
"""In one pause."""

SPARE = 0.05
"""The part of a life that is kept spare, for a clock that differs and a request that takes its time."""


@value
class Pause:
    """A conversation that waits for its user."""

    prefix: int
    """Tokens that the provider holds."""
    started: float
    """When the last request started, pings included; Unix seconds."""
    life: float
    """Seconds that the prefix lives from then on."""
    pings: int = 0
    """Sent in this pause so far."""


def next_ping(pause: Pause, gaps: Sequence[float], profile: ModelProfile) -> float | None:
    """The Unix time at which the next ping has to go; None where none pays.

    `gaps` are the pauses between requests of the same conversation so far, in seconds. They say how likely the user
    comes back within each further life; besides them one pause is assumed from which nobody came back.
    """
    if pause.pings >= MOST_PINGS or not profile.cache.lives or pause.prefix < profile.cache.min_tokens:
        return None
    if _best(pause, gaps, profile) <= 0:
        return None
    return pause.started + pause.life * (1 - SPARE)


def _best(pause: Pause, gaps: Sequence[float], profile: ModelProfile) -> float:
    """What the best number of pings saves, in units of one fresh input token."""
    write = next((life.write for life in profile.cache.lives if life.seconds >= pause.life), 0.0)
    write = write or profile.cache.lives[-1].write
    read = profile.cache.read
    waited = pause.life * (pause.pings + 1)
    at_risk = sum(gap >= waited for gap in gaps) + 1
    worth, best = 0.0, 0.0
    for ping in range(MOST_PINGS - pause.pings):
        since = waited + ping * pause.life
        still_away = sum(gap >= since for gap in gaps) + 1
        back = sum(since <= gap < since + pause.life for gap in gaps)
        worth += pause.prefix * (back * (write - read) - still_away * read) / at_risk
        best = max(best, worth)
    return best
