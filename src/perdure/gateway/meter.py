"""What accounts have used, and how many of their calls are under way: the port, and a meter in memory.

It knows numbers and periods. It must never decide whether they are too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeAlias

from perdure.kernel.value import record, value
from perdure.memory import Principal

Period: TypeAlias = Literal["minute", "day", "month"]

PERIODS: tuple[Period, ...] = ("minute", "day", "month")


@value
class Account:
    """What use is counted under; it belongs to one user of one tenant."""

    owner: Principal
    name: str


@value
class Spent:
    """What was used."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(
            requests=self.requests + other.requests, tokens=self.tokens + other.tokens, usd=self.usd + other.usd
        )

    def minus(self, other: Spent) -> Spent:
        """One without the other; what is left is not less than nothing."""
        return Spent(
            requests=max(0, self.requests - other.requests),
            tokens=max(0, self.tokens - other.tokens),
            usd=max(0.0, self.usd - other.usd),
        )


@value
class Reading:
    """What a meter shows when a call enters, the call included."""

    spent: Mapping[Period, Spent]
    running: int
    """Calls under way, over all replicas."""
    held: Spent = field(default_factory=Spent)
    """What is set aside for them."""


class Meter(Protocol):
    """Counts. Every method may be slow, and raises `StoreUnreachable` where its store fails."""

    async def enter(self, account: Account, hold: Spent, now: float) -> Reading:
        """Count a call that begins, and set something aside for it."""
        ...

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        """Count what a call used that ended, and give back what was set aside for it."""
        ...

    async def read(self, account: Account, now: float) -> Reading:
        """What there is, and nothing counted."""
        ...

    async def beat(self, now: float) -> None:
        """Say that this replica is alive: the calls of one that is not are no longer under way."""
        ...


def starts(now: float) -> dict[Period, int]:
    """When the periods that a time lies in began, in seconds since the epoch."""
    time = datetime.fromtimestamp(now, tz=UTC)
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "minute": int(now // 60) * 60,
        "day": int(day.timestamp()),
        "month": int(day.replace(day=1).timestamp()),
    }


def remaining(period: Period, now: float) -> int:
    """Seconds until the next such period begins."""
    if period == "minute":
        return int(60 - now % 60) + 1
    if period == "day":
        return int(86_400 - now % 86_400) + 1
    first = datetime.fromtimestamp(now, tz=UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (first + timedelta(days=32)).replace(day=1)
    return int(following.timestamp() - now) + 1


@record()
class Running:
    """The calls of one process that are under way, by account."""

    calls: dict[Account, tuple[int, Spent]] = field(default_factory=dict[Account, tuple[int, Spent]])

    def enter(self, account: Account, hold: Spent) -> None:
        """One more."""
        count, held = self.of(account)
        self.calls[account] = (count + 1, held.plus(hold))

    def leave(self, account: Account, hold: Spent) -> None:
        """One less."""
        count, held = self.of(account)
        if count <= 1:
            self.calls.pop(account, None)
        else:
            self.calls[account] = (count - 1, held.minus(hold))

    def of(self, account: Account) -> tuple[int, Spent]:
        """How many, and what is set aside for them."""
        return self.calls.get(account, (0, Spent()))


@record()
class MemoryMeter:
    """A meter that lives as long as the process."""

    counts: dict[tuple[Account, Period, int], Spent] = field(default_factory=dict[tuple[Account, Period, int], Spent])
    running: Running = field(default_factory=Running)

    async def enter(self, account: Account, hold: Spent, now: float) -> Reading:
        """See `Meter`."""
        self._add(account, Spent(requests=1), now)
        self.running.enter(account, hold)
        return await self.read(account, now)

    async def leave(self, account: Account, hold: Spent, spent: Spent, now: float) -> None:
        """See `Meter`."""
        self._add(account, spent, now)
        self.running.leave(account, hold)

    async def read(self, account: Account, now: float) -> Reading:
        """See `Meter`."""
        found = dict[Period, Spent]()
        for period, start in starts(now).items():
            found[period] = self.counts.get((account, period, start), Spent())
        count, held = self.running.of(account)
        return Reading(spent=found, running=count, held=held)

    async def beat(self, now: float) -> None:
        """See `Meter`: what is past is not needed any more."""
        first = min(starts(now).values())
        for key in [key for key in self.counts if key[2] < first]:
            del self.counts[key]

    def _add(self, account: Account, spent: Spent, now: float) -> None:
        for period, start in starts(now).items():
            known = self.counts.get((account, period, start), Spent())
            self.counts[account, period, start] = known.plus(spent)
