"""Whether an account may make another call, and what it owes after it.

It knows limits and what was used. It must never know a database. Where the meter does not answer, an account with
limits waits: else whoever can take the meter down has no limits. What a call used is never forgotten while the process
lives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from perdure.gateway.callers import Caller
from perdure.gateway.grants import Limits
from perdure.gateway.meter import Account, Meter, Reading, Spent, remaining
from perdure.gateway.metrics import Metrics
from perdure.gateway.state import StateStore
from perdure.kernel.errors import CallRefused, StoreUnreachable
from perdure.kernel.value import record
from perdure.memory import Principal

SIZED = 60.0
"""Seconds that the size of what is kept is not asked for again."""

FULL = 3_600
"""Seconds after which it is worth trying again where the storage is full."""

HELD = 5
"""Seconds after which it is worth trying again where calls under way hold what is left."""

NOT_ASKED = Spent(requests=-1)
"""A call that was refused is no request: trying again costs nothing."""

DOWN = 5
"""Seconds after which it is worth trying again where the meter does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A call that was let in."""

    account: Account
    hold: Spent
    """What is set aside for it."""


@record()
class Quotas:
    """Lets calls in, and counts them out."""

    meter: Meter
    state: StateStore
    metrics: Metrics
    clock: Callable[[], float]
    owed: list[tuple[Ticket, Spent, float]] = field(default_factory=list[tuple[Ticket, Spent, float]])
    """Calls that ended while the meter did not answer, and when what they used is counted."""
    sizes: dict[Principal, tuple[int, float]] = field(default_factory=dict[Principal, tuple[int, float]])

    async def enter(self, caller: Caller, hold: Spent) -> Ticket | None:
        """Let a call begin that may come to so much; None where nothing is counted. What is let in has to `leave`.

        Raises:
            CallRefused: a limit is reached, or nobody knows.
        """
        limits = caller.grant.limits
        if not caller.account or not limits.any:
            return None
        ticket, now = Ticket(account=Account(owner=caller.principal, name=caller.account), hold=hold), self.clock()
        try:
            refused = await self._full(caller.principal, limits, now)
            if refused is None:
                # Whoever is cancelled in here was counted, or was not: it has to be known.
                with anyio.CancelScope(shield=True):
                    reading = await self.meter.enter(ticket.account, hold, now)
                    refused = over(limits, reading, hold, now)
                    if refused is not None:
                        await self._count(ticket, NOT_ASKED, now)
        except StoreUnreachable as error:
            raise CallRefused("the limits of this key cannot be checked now", status=503, retry_after=DOWN) from error
        if refused is not None:
            self.metrics.add("over_quota")
            raise refused
        return ticket

    async def leave(self, ticket: Ticket, spent: Spent) -> None:
        """A call that was let in ended, and used so much."""
        await self._count(ticket, spent, self.clock())

    async def _count(self, ticket: Ticket, spent: Spent, at: float) -> None:
        self.owed.append((ticket, spent, at))
        await self.settle()

    async def settle(self) -> None:
        """Count what could not be counted before."""
        while self.owed:
            ticket, spent, at = owing = self.owed.pop()
            try:
                await self.meter.leave(ticket.account, ticket.hold, spent, at)
            except StoreUnreachable:
                self.metrics.add("state_failures")
                self.owed.append(owing)
                return
            except BaseException:
                self.owed.append(owing)
                raise

    async def _full(self, owner: Principal, limits: Limits, now: float) -> CallRefused | None:
        if limits.storage is None:
            return None
        size, at = self.sizes.get(owner, (0, float("-inf")))
        if now - at >= SIZED:
            size = await self.state.size(owner)
            self.sizes[owner] = (size, now)
        if size < limits.storage:
            return None
        return _refusal(f"{limits.storage} bytes kept of conversations", FULL)


def over(limits: Limits, reading: Reading, own: Spent, now: float) -> CallRefused | None:
    """The refusal that a reading calls for, if any. The call that is refused stands in the reading already, with what
    is set aside for it: what others hold is as good as used, and its own may go over the limit once."""
    minute, day, month = (reading.spent[period] for period in ("minute", "day", "month"))
    others = reading.held.minus(own)
    if limits.requests_per_minute is not None and minute.requests > limits.requests_per_minute:
        return _refusal(f"{limits.requests_per_minute} requests a minute", remaining("minute", now))
    if limits.tokens_per_day is not None and day.tokens + others.tokens >= limits.tokens_per_day:
        used_up = day.tokens >= limits.tokens_per_day
        return _refusal(f"{limits.tokens_per_day} tokens a day", remaining("day", now) if used_up else HELD)
    if limits.usd_per_month is not None and month.usd + others.usd >= limits.usd_per_month:
        used_up = month.usd >= limits.usd_per_month
        return _refusal(f"{limits.usd_per_month:g} USD a month", remaining("month", now) if used_up else HELD)
    if limits.concurrent is not None and reading.running > limits.concurrent:
        return _refusal(f"{limits.concurrent} calls at one time", 1)
    return None


def _refusal(limit: str, seconds: int) -> CallRefused:
    return CallRefused(f"this key's limit is reached: {limit}", status=429, code="quota_reached", retry_after=seconds)
