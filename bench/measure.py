"""Measuring, and what a measurement looks like.

It knows clocks and figures. It must never know what is measured. Processor time is what is judged, since other work on
the machine does not add to it; the wall clock stands beside it.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["ms", "MB/s", "MiB", "x", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Milliseconds of one piece of work, or a middle of several."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row of the table."""

    what: str
    ours: float
    """By processor time, where it is a time or follows from one."""
    unit: Unit = "ms"
    wall: float | None = None
    """The same by the wall clock."""
    most: float | None = None
    """The goal, where less is better."""
    least: float | None = None
    """The goal, where more is better."""
    peer: str = ""
    theirs: float | None = None
    faster: float | None = None
    """The goal for the peer's figure over ours."""

    @property
    def ratio(self) -> float | None:
        """The peer's figure over ours."""
        return None if self.theirs is None or not self.ours else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the goal was met; None where there is none."""
        if self.most is not None:
            return self.ours < self.most
        if self.least is not None:
            return self.ours >= self.least
        if self.faster is not None and self.ratio is not None:
            return self.ratio >= self.faster
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that could not be measured, and why."""

    what: str


Row: TypeAlias = Figure | Missing


def once(work: Callable[[], object]) -> Took:
    """Do it once, and hold the watch."""
    wall, cpu = perf_counter(), process_time()
    work()
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return Took(cpu=1_000 * cpu, wall=1_000 * wall)


def repeat(work: Callable[[], object], rounds: int) -> Took:
    """The median of several rounds. The first warms up and does not count."""
    work()
    return middle([once(work) for _ in range(rounds)])


def prepared(make: Callable[[], Callable[[], object]], rounds: int) -> Took:
    """The median of several rounds, each of which has its own preparation that is not measured."""
    return middle([once(make()) for _ in range(rounds)])


def in_turns(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[Took, Took]:
    """The medians of two works that alternate, so that what else the machine does meets both.

    The collector of cycles rests meanwhile, as with `timeit`: when it runs depends on what others left in memory.
    """
    taken: tuple[list[Took], list[Took]] = ([], [])
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            taken[0].append(once(first))
            taken[1].append(once(second))
    finally:
        gc.enable()
    return middle(taken[0]), middle(taken[1])


def middle(taken: Sequence[Took]) -> Took:
    """The medians."""
    return Took(cpu=median(one.cpu for one in taken), wall=median(one.wall for one in taken))


def high(taken: Sequence[Took], part: float = 0.99) -> Took:
    """What that part of all stayed under."""
    place = min(len(taken) - 1, int(part * len(taken)))
    return Took(cpu=sorted(one.cpu for one in taken)[place], wall=sorted(one.wall for one in taken)[place])


def peak(work: Callable[[], object]) -> float:
    """MiB that it held at its peak beyond what there was before, as the allocator sees it. Slows the work down."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 2**20
    finally:
        tracemalloc.stop()
