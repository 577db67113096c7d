"""Many trials over many files: a process for each core, results kept by content, so that a run can be taken up again.

It knows files, processes and where results are kept. It must never compute a figure. What a result is kept under is the
file's content, the trial and the code that made it: a change of any of them makes it anew.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from perdure.kernel.errors import InvalidJson, PerdureError
from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json
from perdure.kernel.value import value
from perdure.lab.readers import read
from perdure.lab.recall import RecallPrice
from perdure.lab.trial import Trial, rows_of

CODE = ("kernel", "lab")
"""The packages whose code decides a figure."""

Results: TypeAlias = dict[Trial, list[JsonObject]]
"""Rows of one file: one for each of its recordings, by trial."""


@value
class Plan:
    """What is done with each file."""

    trials: tuple[Trial, ...]
    price: RecallPrice
    kept: Path | None = None
    """The folder of results; None keeps none."""
    version: str = ""
    """Of the code; `version_of_code`."""


@value
class Done:
    """A file that was worked through."""

    place: str
    """Where it lies: a path, or whatever else whoever worked on it can open."""
    rows: tuple[JsonObject, ...] = ()
    trouble: str = ""
    """Why it could not be read."""


Worker: TypeAlias = Callable[[str, Plan], Done]
"""What works on one file; a function that another process can import."""


def sweep(places: Sequence[str], plan: Plan, workers: int, worker: Worker | None = None) -> Iterator[Done]:
    """Every file, in the order in which they are done; at most two files wait for each worker."""
    todo = worker or work
    if workers <= 1 or len(places) <= 1:
        yield from (todo(place, plan) for place in places)
        return
    # Forked children would share this process's locks and open files; spawned ones start clean on every system.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_deaf)
    running: set[Future[Done]] = set()
    try:
        for place in places:
            running.add(pool.submit(todo, place, plan))
            if len(running) >= 2 * workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _deaf() -> None:
    """A terminal interrupts the whole group: the parent answers, the children end with the file that they are at."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def work(place: str, plan: Plan) -> Done:
    """One file: what is kept is taken, the rest is worked out and kept."""
    path = Path(place)
    try:
        digest = digest_of(path)
        kept = taken(digest, plan)
        made = worked_out(path, missing(kept, plan), plan.price)
        keep(digest, made, plan)
    except PerdureError as error:
        return Done(place=place, trouble=str(error))
    except OSError as error:
        return Done(place=place, trouble=f"{place!r} cannot be read: {error.strerror or error}")
    return Done(place=place, rows=together({**kept, **made}, plan))


def digest_of(path: Path) -> str:
    """What a file's results are kept under: its content.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def taken(digest: str, plan: Plan) -> Results:
    """What is kept of a file's trials."""
    found = {trial: _kept(plan.kept, _name(digest, trial, plan)) for trial in plan.trials}
    return {trial: rows for trial, rows in found.items() if rows is not None}


def missing(kept: Results, plan: Plan) -> tuple[Trial, ...]:
    """The trials that have to be worked out."""
    return tuple(trial for trial in plan.trials if trial not in kept)


def worked_out(path: Path, trials: Sequence[Trial], price: RecallPrice) -> Results:
    """The rows of some trials of one file, which is read only if there are any.

    Raises:
        PerdureError: it cannot be read, or is no recorded session.
    """
    made: Results = {trial: [] for trial in trials}
    for recording in read(path) if trials else ():
        for trial, row in zip(trials, rows_of(recording, trials, price, time.perf_counter), strict=True):
            made[trial].append(row)
    return made


def keep(digest: str, made: Results, plan: Plan) -> None:
    """Keep rows for the next run, where results are kept at all.

    Raises:
        OSError: the folder of results cannot be written.
    """
    if plan.kept is not None:
        for trial, rows in made.items():
            _keep(plan.kept, _name(digest, trial, plan), rows)


def together(found: Results, plan: Plan) -> tuple[JsonObject, ...]:
    """The rows of one file, in the order of the trials."""
    return tuple(row for trial in plan.trials for row in found[trial])


def version_of_code() -> str:
    """A digest of the code that decides a figure."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for package in CODE:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _name(digest: str, trial: Trial, plan: Plan) -> str:
    price: JsonObject = asdict(plan.price)
    whole = encode_json([digest, plan.version, trial.key, price])
    return hashlib.blake2b(whole, digest_size=16).hexdigest()


def _kept(folder: Path | None, name: str) -> list[JsonObject] | None:
    """What is kept under a name; None where there is nothing, or only a part of it."""
    if folder is None:
        return None
    try:
        value: Json = decode_json((folder / name[:2] / name).read_bytes())
    except (OSError, InvalidJson):
        return None
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else None


def _keep(folder: Path, name: str, rows: list[JsonObject]) -> None:
    """Whole or not at all: an interrupted run leaves nothing that could be taken for a result."""
    place = folder / name[:2] / name
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_name(f"{name}.{os.getpid()}")
    half.write_bytes(encode_json([*rows]))
    half.replace(place)
