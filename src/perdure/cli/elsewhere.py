"""Sessions and workers that are not on this machine: the cluster is loaded where one of them is named, and only there.

It knows what a place looks like. It must never know storage or tasks: `perdure.cluster` does.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType

from perdure.kernel.errors import UserError
from perdure.lab.readers import walk
from perdure.lab.sweep import Done, Plan, sweep

FILES = "a recorded session, or a folder of them; also an address of storage that fsspec knows, as s3://bucket/folder"


def listed(names: Sequence[str]) -> Iterator[str]:
    """Every file in what was named: paths of this machine, and addresses of storage.

    Raises:
        PerdureError: storage cannot be reached, or what reaches it is not installed.
    """
    for name in names:
        if _is_address(name):
            yield from _cluster("inputs").found(name)
        else:
            yield from map(str, walk([Path(name)]))


def here(place: str) -> AbstractContextManager[Path]:
    """A path of this machine for a place, for as long as it is read."""
    if not _is_address(place):
        return nullcontext(Path(place))
    fetched: AbstractContextManager[Path] = _cluster("inputs").here(place)
    return fetched


def swept(places: Sequence[str], plan: Plan, jobs: int, scheduler: str | None) -> Iterator[Done]:
    """Every file worked through: by processes of this machine, or by a cluster's workers."""
    if scheduler is not None:
        done: Iterator[Done] = _cluster("spread").spread(places, plan, scheduler)
        return done
    if any(map(_is_address, places)):
        return sweep(places, plan, jobs, _cluster("inputs").work_anywhere)
    return sweep(places, plan, jobs)


def _is_address(name: str) -> bool:
    return "://" in name


def _cluster(module: str) -> ModuleType:
    try:
        return importlib.import_module(f"perdure.cluster.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "perdure":
            raise
        raise UserError(f"this needs {error.name}, which is not installed; pip install 'perdure[cluster]'") from error
