"""Keeping a provider's cache warm while the user thinks.

It knows requests that say nothing new. It must never decide whether one pays (`kernel/cache` does), and never become
part of a conversation: no message, no turn, no other byte before the last mark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from perdure.kernel.agent import Failure, Resting
from perdure.kernel.cache import bill_of, next_ping
from perdure.kernel.messages import Usage
from perdure.kernel.value import value
from perdure.providers.edge import Edge
from perdure.providers.http_model import HttpModel


@value
class Ping:
    """A request that kept the cache warm."""

    started: float
    """Unix seconds."""
    warm_until: float
    """Unix seconds until which the provider holds the prefix now."""
    usage: Usage
    usd: float | None
    """Its price; None where nobody publishes one."""


async def keep_warm(
    model: HttpModel, resting: Resting, edge: Edge, tell: Callable[[Ping], None] = lambda _ping: None
) -> int:
    """Ping as long as it pays, at most three times, and give how often. To be cancelled when the user is back.

    `tell` hears each ping at once: a session tells its watch (`CacheWatch.pinged`) and counts the price. Ends without a
    word where the cache was cold all the same, the machine slept, or the provider failed.
    """
    pause = resting.pause
    while (due := next_ping(pause, resting.gaps, model.profile)) is not None:
        now = edge.clock()
        if now is None:
            break
        await edge.sleep(max(0.0, due - now))
        started = edge.clock()
        if started is None or started >= pause.started + pause.life:
            break
        usage = await model.ping(resting.ask)
        if isinstance(usage, Failure):
            break
        usd = bill_of(usage, model.profile).usd
        tell(Ping(started=started, warm_until=started + pause.life, usage=usage, usd=usd))
        pause = replace(pause, started=started, pings=pause.pings + 1)
        if usage.cache_read_tokens < usage.prompt_tokens // 2:
            # The prefix was written again instead of read: what was to be saved has been paid.
            break
    return pause.pings
