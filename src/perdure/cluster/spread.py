"""A sweep on a Dask cluster: workers read and replay, this process keeps the results and asks for nothing twice.

It knows a scheduler, tasks and what a lost worker means. It must never compute a figure. Two tasks for each file: a
worker says what it holds, by content; what is not kept here under that content is then worked out. Whatever has come
back is kept at once, so a run that ends early goes on where it stopped, on a cluster or without one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from perdure.cluster.inputs import here, is_address
from perdure.kernel.errors import PerdureError, UserError
from perdure.kernel.value import value
from perdure.lab.recall import RecallPrice
from perdure.lab.sweep import (
    Done,
    Plan,
    Results,
    digest_of,
    keep,
    missing,
    taken,
    together,
    version_of_code,
    worked_out,
)
from perdure.lab.trial import Trial

CONNECT = 10.0
"""Seconds to reach the scheduler."""

WORKERS = 60.0
"""Seconds to wait for a first worker: without any, tasks would wait for ever."""

AHEAD = 3
"""Tasks for each thread of the cluster that are handed out at a time: enough to keep it busy, few enough to hold."""


@value
class Seen:
    """What a worker says of a file."""

    digest: str = ""
    results: Results | None = None
    """None where it was only looked at."""
    trouble: str = ""
    version: str = ""
    """Of the worker's code."""


Tasks: TypeAlias = dict[str, tuple[int, Results]]
"""By the key of a task: the number of its file, and what was kept of it already."""


def spread(places: Sequence[str], plan: Plan, scheduler: str) -> Generator[Done]:
    """Every file, in the order in which they are done. Paths have to mean the same on every worker.

    Raises:
        UserError: the scheduler cannot be reached, it has no workers, or they run other code than this.
    """
    client = _connected(scheduler)
    try:
        yield from _Run(client, places, plan).done()
    except (ImportError, RuntimeError) as error:
        # What a worker without this package says while it unpacks the first task.
        raise UserError(
            f"a worker could not run the task: {error}; install 'perdure[cluster]' of this version on each"
        ) from error
    finally:
        client.close()


def _connected(scheduler: str) -> Client:
    try:
        client = Client(scheduler, timeout=CONNECT, set_as_default=False, name="perdure-lab")
    except (OSError, ValueError) as error:
        raise UserError(
            f"the scheduler at {scheduler!r} cannot be reached: {error}; start one with `dask scheduler`"
        ) from error
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError as error:
        client.close()
        raise UserError(
            f"the scheduler at {scheduler!r} has no workers; start some with "
            f"`dask worker {scheduler} --nworkers -1 --nthreads 1`"
        ) from error
    return client


class _Run:
    """The tasks of one sweep that are out."""

    def __init__(self, client: Client, places: Sequence[str], plan: Plan) -> None:
        self._client = client
        self._places = places
        self._plan = plan
        self._tasks: Tasks = {}
        self._out: as_completed[Seen] = as_completed(loop=client.loop)

    def done(self) -> Iterator[Done]:
        waiting = iter(range(len(self._places)))
        for number in waiting:
            self._begin(number)
            while len(self._tasks) >= self._most():
                yield from self._next()
        while self._tasks:
            yield from self._next()

    def _most(self) -> int:
        """Asked again each time: workers come and go."""
        return AHEAD * max(1, sum(self._client.nthreads().values()))

    def _begin(self, number: int) -> None:
        """A look first, where something may be kept; else all of it at once."""
        trials = self._plan.trials if self._plan.kept is None else ()
        self._submit(number, {}, trials)

    def _submit(self, number: int, kept: Results, trials: Sequence[Trial]) -> None:
        place = self._places[number]
        future = self._client.submit(work_there, _everywhere(place), tuple(trials), self._plan.price, pure=False)
        self._tasks[future.key] = number, kept
        self._out.add(future)

    def _next(self) -> Iterator[Done]:
        future = next(self._out)
        number, kept = self._tasks.pop(future.key)
        try:
            seen = future.result()
        except KilledWorker as error:
            seen = Seen(trouble=f"{self._places[number]!r} was given up: {error}", version=self._plan.version)
        if seen.version != self._plan.version:
            raise UserError("a worker runs other code than this; install the same version of Perdure everywhere")
        done = self._taken_in(number, seen, kept)
        yield from () if done is None else (done,)

    def _taken_in(self, number: int, seen: Seen, kept: Results) -> Done | None:
        """The file where it is done; None where it has to be worked out."""
        place, plan = self._places[number], self._plan
        if seen.trouble:
            return Done(place=place, trouble=seen.trouble.replace(_everywhere(place), place))
        if seen.results is None:
            kept = taken(seen.digest, plan)
            if left := missing(kept, plan):
                self._submit(number, kept, left)
                return None
            return Done(place=place, rows=together(kept, plan))
        keep(seen.digest, seen.results, plan)
        return Done(place=place, rows=together({**kept, **seen.results}, plan))


def _everywhere(place: str) -> str:
    """Other machines have other working directories."""
    return place if is_address(place) else str(Path(place).absolute())


def work_there(place: str, trials: tuple[Trial, ...], price: RecallPrice) -> Seen:
    """On the worker: what a file is, and the rows of the trials that are asked for."""
    try:
        with here(place) as path:
            seen = _work(path, trials, price)
    except PerdureError as error:
        return Seen(trouble=str(error), version=_version())
    return replace(seen, trouble=seen.trouble.replace(str(path), place))


def _work(path: Path, trials: tuple[Trial, ...], price: RecallPrice) -> Seen:
    try:
        digest = digest_of(path)
        results = worked_out(path, trials, price) if trials else None
    except PerdureError as error:
        return Seen(trouble=str(error), version=_version())
    except OSError as error:
        return Seen(trouble=f"{str(path)!r} cannot be read: {error.strerror or error}", version=_version())
    return Seen(digest=digest, results=results, version=_version())


@cache
def _version() -> str:
    return version_of_code()
