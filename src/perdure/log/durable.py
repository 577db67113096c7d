"""A file that only grows, and whose writes have happened when they return.

It knows descriptors, locks and the errors of a disk. It must never know what the bytes mean. Files are 0600 in folders
of 0700, since a log holds what was said.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from perdure.kernel.errors import DiskError, DiskFull, DiskRefused, LogLocked

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DurableFile:
    """An open file with one writer, itself."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over a descriptor, whose lock is held."""
        self.path = path
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        """Bytes that are there and were acknowledged."""
        self._failed = ""

    def append(self, data: bytes) -> int:
        """Write `data` at the end, and give the place where it begins once it cannot be lost any more.

        Raises:
            DiskFull: no room; nothing of it was kept.
            DiskRefused: the disk failed; nothing of it was kept, or the file must be opened anew.
        """
        if self._failed:
            raise DiskRefused(f"{str(self.path)!r} cannot be written since {self._failed}; open the session again")
        start = self.size
        self._check_untouched()
        try:
            write_all(self._descriptor, data)
            os.fsync(self._descriptor)
        except OSError as error:
            self._take_back(start, error)
            raise disk_error(self.path, error) from error
        self.size = start + len(data)
        return start

    def cut(self, size: int) -> None:
        """Let the file end earlier.

        Raises:
            DiskError: the disk failed.
        """
        try:
            os.ftruncate(self._descriptor, size)
            os.fsync(self._descriptor)
        except OSError as error:
            raise disk_error(self.path, error) from error
        self.size = size

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the file.

        Raises:
            DiskError: reading failed.
        """
        try:
            return read_at(self._descriptor, start, size)
        except OSError as error:
            raise disk_error(self.path, error) from error

    def close(self) -> None:
        """Close it, which gives the lock back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._failed = "it was closed"

    def _check_untouched(self) -> None:
        """Refuse to write where nobody would find it, or behind what a program without manners wrote."""
        found = os.fstat(self._descriptor)
        if found.st_nlink == 0:
            raise DiskRefused(f"{str(self.path)!r} was removed while it was open; fork the session to go on")
        if found.st_size != self.size:
            raise DiskRefused(f"another program changed {str(self.path)!r}; open the session again")

    def _take_back(self, start: int, error: OSError) -> None:
        """Cut what was written of a line. Where that fails too, nothing may follow: it would continue the torn line."""
        try:
            os.ftruncate(self._descriptor, start)
            os.fsync(self._descriptor)
        except OSError:
            self._failed = f"a write failed ({error.strerror}) and could not be taken back"
            return
        if error.errno not in _FULL:
            # After a failed fsync nobody knows what the disk holds.
            self._failed = f"a write failed ({error.strerror})"


def open_for_writing(path: Path) -> DurableFile:
    """Open an existing file and lock it.

    Raises:
        LogLocked: another process holds it.
        DiskError: it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError as error:
        raise disk_error(path, error) from error
    return _locked(path, descriptor)


def open_for_reading(path: Path) -> DurableFile:
    """Open an existing file without a lock.

    Raises:
        DiskError: it cannot be opened.
    """
    try:
        return DurableFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        raise disk_error(path, error) from error


def create(path: Path, data: bytes) -> DurableFile:
    """Make a file that holds `data` from the moment it can be found, and lock it.

    Raises:
        DiskError: there is such a file already, or it cannot be made.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        make_folder(path.parent)
        descriptor = os.open(draft, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise disk_error(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        write_all(descriptor, data)
        os.fsync(descriptor)
        # A link, unlike a renaming, never takes the place of another file.
        path.hardlink_to(draft)
        draft.unlink()
        sync_folder(path.parent)
        return DurableFile(path, descriptor)
    except OSError as error:
        os.close(descriptor)
        with suppress(OSError):
            draft.unlink()
        raise disk_error(path, error) from error


def make_folder(folder: Path) -> None:
    """Make a folder of 0700, with those above it, unless it is there."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: without it a new file may be gone after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one call may take fewer than it was given."""
    rest = memoryview(data)
    while rest:
        written = os.write(descriptor, rest)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]


def read_at(descriptor: int, start: int, size: int) -> bytes:
    """Bytes from a place on; fewer where the file ends."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(descriptor, size, start)):
        parts.append(part)
        start += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def disk_error(path: Path, error: OSError) -> DiskError:
    """The error of ours for one of the system's, with the next step."""
    name, said = repr(str(path)), error.strerror or str(error)
    if error.errno in _FULL:
        return DiskFull(f"no room to write {name}: {said}; make room and try again, nothing of it was kept")
    match error:
        case FileExistsError():
            return DiskRefused(f"{name} exists already; choose another name, or open it")
        case FileNotFoundError():
            return DiskRefused(f"there is no {name}; check the name")
        case _:
            return DiskRefused(f"{name} cannot be used: {said}; check its folder, permissions and disk")


def _locked(path: Path, descriptor: int) -> DurableFile:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return DurableFile(path, descriptor)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LogLocked(f"another process writes {str(path)!r}; wait for it, or open a fork of the session") from error
    except OSError as error:
        os.close(descriptor)
        raise disk_error(path, error) from error
