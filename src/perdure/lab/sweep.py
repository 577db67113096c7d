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
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

from perdure.kernel.errors import InvalidJson, PerdureError
from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json
from perdure.kernel.value import value
from perdure.lab.readers import read
from perdure.lab.recall import RecallPrice
from perdure.lab.trial import Trial, rows_of

CODE = ("kernel", "lab")
"""The packages whose code decides a figure."""


DEAREST = 10
"""Sessions of a trial whose dearest moments are kept: the ten dearest of all are among them."""


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

    path: Path
    rows: tuple[JsonObject, ...] = ()
    trouble: str = ""
    """Why it could not be read."""


def sweep(paths: Sequence[Path], plan: Plan, workers: int) -> Iterator[Done]:
    """Every file, in the order in which they are done; at most two files wait for each worker."""
    if workers <= 1 or len(paths) <= 1:
        yield from (work(path, plan) for path in paths)
        return
    # Forked children would share this process's locks and open files; spawned ones start clean on every system.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_deaf)
    running: set[Future[Done]] = set()
    try:
        for path in paths:
            running.add(pool.submit(work, path, plan))
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


def work(path: Path, plan: Plan) -> Done:
    """One file: what is kept is taken, the rest is worked out and kept."""
    try:
        digest = _digest(path)
        names = [_name(digest, trial, plan) for trial in plan.trials]
        kept = [_kept(plan.kept, name) for name in names]
        missing = [trial for trial, rows in zip(plan.trials, kept, strict=True) if rows is None]
        made: dict[Trial, list[JsonObject]] = {trial: [] for trial in missing}
        if missing:
            for recording in read(path):
                for trial, row in zip(missing, rows_of(recording, missing, plan.price, time.perf_counter), strict=True):
                    made[trial].append(row)
        rows: list[JsonObject] = []
        for trial, name, found in zip(plan.trials, names, kept, strict=True):
            rows += made[trial] if found is None else found
            if found is None and plan.kept is not None:
                _keep(plan.kept, name, made[trial])
    except PerdureError as error:
        return Done(path=path, trouble=str(error))
    except OSError as error:
        return Done(path=path, trouble=f"{str(path)!r} cannot be read: {error.strerror or error}")
    return Done(path=path, rows=tuple(rows))


class Slimming:
    """Takes from rows what only a few of them are asked for, so that a folder of any size fits into memory: the size
    over time is kept of each trial's longest session, and the dearest moments of its ten dearest sessions."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._longest: dict[str, JsonObject] = {}
        self._dearest: dict[str, list[JsonObject]] = {}

    def slim(self, row: JsonObject) -> JsonObject:
        """The row as it is kept; rows that were kept before may lose something now."""
        label = str(row["label"])
        longest = self._longest.get(label)
        if longest is not None and _by_length(longest) <= _by_length(row):
            row["curve"] = []
        else:
            if longest is not None:
                longest["curve"] = []
            self._longest[label] = row
        dearest = self._dearest.setdefault(label, [])
        dearest.append(row)
        dearest.sort(key=_by_price)
        for one in dearest[DEAREST:]:
            one["worst"] = []
        del dearest[DEAREST:]
        return row


def _by_length(row: JsonObject) -> tuple[float, str, str]:
    """The longest first; names decide between equals, since files are done in any order."""
    return -_figure(row["requests"]), str(row.get("path")), str(row["file"])


def _by_price(row: JsonObject) -> tuple[float, str, str]:
    return -_highest(row), str(row.get("path")), str(row["file"])


def _highest(row: JsonObject) -> float:
    worst = row["worst"]
    first = worst[0] if isinstance(worst, list) and worst else None
    return _figure(first["units"]) if isinstance(first, dict) else 0.0


def _figure(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def version_of_code() -> str:
    """A digest of the code that decides a figure."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for package in CODE:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


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
