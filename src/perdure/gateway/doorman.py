"""Refusals at the door: each costs an address more time than the one before.

It knows addresses and how often each showed no valid key. It must never keep a valid caller waiting, since an address
may be that of a proxy with many people behind it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import field
from ipaddress import ip_address, ip_network

import anyio

from perdure.kernel.errors import CallRefused
from perdure.kernel.value import record

FREE = 3
"""Refusals that cost nothing: a client with a wrong setting."""

FIRST, LONGEST = 0.25, 8.0
"""Seconds that the next one costs, doubled each time up to the longest."""

FORGIVEN = 60.0
"""Seconds without a refusal after which an address begins anew."""

MOST_WAITING = 200
"""Refusals that wait at one time; those beyond are told to come later, and hold no connection."""

MOST_KNOWN = 10_000
"""Addresses that are remembered."""


@record()
class Doorman:
    """Refuses callers without a valid key."""

    clock: Callable[[], float]
    pause: Callable[[float], Awaitable[None]] = anyio.sleep
    strikes: OrderedDict[str, tuple[int, float]] = field(default_factory=OrderedDict[str, tuple[int, float]])
    waiting: int = 0

    async def refuse(self, address: str) -> CallRefused:
        """The refusal for an address, after the time that it costs."""
        seconds = self._cost(address)
        if not seconds:
            return CallRefused("a valid key is needed", status=401)
        if self.waiting >= MOST_WAITING:
            return CallRefused("too many calls without a valid key", status=429, retry_after=int(LONGEST))
        self.waiting += 1
        try:
            await self.pause(seconds)
        finally:
            self.waiting -= 1
        return CallRefused("a valid key is needed", status=401)

    def _cost(self, address: str) -> float:
        now, address = self.clock(), neighbourhood(address)
        count, last = self.strikes.get(address, (0, now))
        count = 1 if now - last > FORGIVEN else count + 1
        self.strikes[address] = (count, now)
        self.strikes.move_to_end(address)
        while len(self.strikes) > MOST_KNOWN:
            self.strikes.popitem(last=False)
        return 0.0 if count <= FREE else min(LONGEST, FIRST * 2.0 ** min(count - FREE - 1, 10))


def neighbourhood(address: str) -> str:
    """What one guesser has for the asking: an address, and of version 6 a network of them (RFC 6177).

    An address of version 4 that is written as one of version 6 (RFC 4291, 2.5.5.2) is one of version 4.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else str(ip_network((found, 64), strict=False))
