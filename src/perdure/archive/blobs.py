"""Originals that no log holds: compressed files, each named by what it holds.

It knows bytes and files. It must never know what an original is. A file is whole from the moment it has its name.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from perdure.kernel.errors import ArchiveDamaged, HandleGone
from perdure.log.durable import disk_error, make_folder, sync_folder, write_all

LEVEL = 6
"""Of zlib: text becomes a fifth of its size, at 50 MB/s."""


class Blobs:
    """A folder of blobs."""

    def __init__(self, folder: Path) -> None:
        """Use this folder; it is made when it is needed."""
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keep `data`, durably when this returns, and give its name.

        Raises:
            DiskError: it could not be written.
        """
        name = sha256(data).hexdigest()
        path = self._path(name)
        draft = path.with_suffix(f".{os.getpid()}")
        try:
            if path.exists():
                return name
            make_folder(path.parent)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                write_all(descriptor, zlib.compress(data, LEVEL))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            draft.rename(path)
            sync_folder(path.parent)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise disk_error(path, error) from error
        return name

    def get(self, name: str) -> bytes:
        """What `put` was given.

        Raises:
            HandleGone: there is no such blob any more.
            ArchiveDamaged: its bytes are not those that were written.
            DiskError: reading failed.
        """
        path = self._path(name)
        try:
            data = zlib.decompress(path.read_bytes())
        except FileNotFoundError as error:
            raise HandleGone(f"the original in {str(path)!r} is gone and will not come back") from error
        except OSError as error:
            raise disk_error(path, error) from error
        except zlib.error as error:
            raise ArchiveDamaged(f"{str(path)!r} is damaged: {error}") from error
        if sha256(data).hexdigest() != name:
            raise ArchiveDamaged(f"{str(path)!r} is damaged: it holds other bytes than it is named for")
        return data

    def size(self, name: str) -> int:
        """Bytes that a blob takes on the disk; 0 where there is none."""
        try:
            return self._path(name).stat().st_size
        except OSError:
            return 0

    def names(self) -> Iterator[str]:
        """Every blob that there is."""
        for path in sorted(self.folder.glob("??/*")):
            if not path.suffix:
                yield path.name

    def remove(self, name: str) -> None:
        """Remove a blob.

        Raises:
            DiskError: it cannot be removed.
        """
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error(path, error) from error

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name
