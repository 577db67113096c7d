"""What of the world a provider touches, as values: a connection, a clock, a pause, a die.

It knows how each is made where none is handed in. It must never know what is sent. Tests hand in their own and wait for
nothing.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Edge:
    """Everything outside."""

    client: httpx.AsyncClient = field(default_factory=new_client)
    """To be closed by whoever made the edge: `await edge.client.aclose()`."""
    clock: Callable[[], float | None] = wall_clock
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    dice: random.Random = field(default_factory=random.SystemRandom)
    """Spreads retries."""
