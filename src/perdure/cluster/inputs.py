"""Sessions that lie elsewhere: what is below an address, and a copy of one file for as long as it is read.

It knows storage, by fsspec, and temporary files. It must never know what is in a file.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from fsspec.core import url_to_fs

from perdure.kernel.errors import PerdureError, UnreadableFile
from perdure.lab.readers.files import ENDINGS
from perdure.lab.sweep import Done, Plan, work

BLOCK = 1 << 20
"""Bytes that are copied at a time."""


def is_address(place: str) -> bool:
    """Whether a place is an address of some storage, such as `s3://bucket/folder`, and no path."""
    return "://" in place


def found(address: str) -> Iterator[str]:
    """The files at an address: itself, or what may be a recording below it, sorted, hidden names left out.

    Raises:
        UnreadableFile: the storage cannot be reached, or has nothing there.
    """
    with _told(address):
        storage, path = url_to_fs(address)
        if not storage.isdir(path):
            if not storage.exists(path):
                raise UnreadableFile(f"{address!r} does not exist")
            yield address
            return
        below = sorted(storage.find(path))
    start = len(PurePosixPath(path).parts)
    for name in below:
        inner = PurePosixPath(name)
        hidden = any(part.startswith(".") for part in inner.parts[start:])
        if inner.suffix.lower() in ENDINGS and not hidden:
            yield storage.unstrip_protocol(name)


@contextmanager
def here(place: str) -> Generator[Path]:
    """A path of this machine for a place: itself, or a copy that is gone afterwards.

    Raises:
        UnreadableFile: it cannot be fetched.
    """
    if not is_address(place):
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="perdure-") as folder:
        with _told(place):
            storage, path = url_to_fs(place)
            copy = Path(folder) / (PurePosixPath(path).name or "session")
            with storage.open(path, "rb") as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, BLOCK)
        yield copy


def work_anywhere(place: str, plan: Plan) -> Done:
    """One file, wherever it lies, on this machine."""
    try:
        with here(place) as path:
            done = work(str(path), plan)
    except PerdureError as error:
        return Done(place=place, trouble=str(error))
    return Done(place=place, rows=done.rows, trouble=done.trouble.replace(str(path), place))


@contextmanager
def _told(address: str) -> Generator[None]:
    """What a storage raises, as an error that names the address."""
    try:
        yield
    except PerdureError:
        raise
    # Each kind of storage is a library of its own and raises its own errors; what they have in common is Exception.
    except Exception as error:
        raise UnreadableFile(f"{address!r} cannot be read: {error}") from error
