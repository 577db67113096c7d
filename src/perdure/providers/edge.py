"""What of the world a provider touches, as values: a connection, a clock, a pause, a die.

It knows how each is made where none is handed in. It must never know what is sent. Tests hand in their own and wait for
nothing.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from threading import Lock

import httpx

SILENCE = 300.0
"""Seconds without a byte after which an answer is given up; providers send keep-alives while a model thinks."""

CONNECT = 10.0
"""Seconds until a connection has to stand."""


def new_client() -> httpx.AsyncClient:
    """A connection pool with our timeouts."""
    return httpx.AsyncClient(timeout=httpx.Timeout(SILENCE, connect=CONNECT), follow_redirects=False)


def wall_clock() -> float:
    """Unix seconds."""
    # The edge is where the time comes from.
    return time.time()  # noqa: TID251


class Edge:
    """Everything outside."""

    def __init__(
        self,
        client: httpx.AsyncClient | None = None,
        clock: Callable[[], float | None] = wall_clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        dice: random.Random | None = None,
    ) -> None:
        """The world, or a part of it.

        Args:
            client: Connections; None for `new_client()`.
            clock: Unix seconds.
            sleep: Waits before a retry.
            dice: Spreads retries.
        """
        self._client, self._made = client, Lock()
        self.clock, self.sleep, self.dice = clock, sleep, dice or random.SystemRandom()

    @property
    def client(self) -> httpx.AsyncClient:
        """The connections. Made when they are first needed, in whichever thread: that loads the certificates."""
        with self._made:
            self._client = self._client or new_client()
            return self._client

    async def close(self) -> None:
        """Close the connections, where there are any."""
        if self._client is not None:
            await self._client.aclose()
