"""Files and folders by descriptor: every step of a path is opened below the one before, and no link is followed.

It knows system calls. It must never know a path of more than one name: what a name leads to is decided when it is
opened, and what was opened stays what it is, so that nothing can be exchanged between a check and its use.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from perdure.kernel.errors import MemoryFault, StoreUnreachable

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""A FIFO or a device opens without waiting, and is then refused."""
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

REPLACED = 100
"""How often a file is opened again that was replaced between opening and looking. Each time means that a write was made
durable in an instant, so that more than twice in a row is hardly ever seen."""

_STRANGE = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.ENODEV, errno.EISDIR}
"""What the system answers for a link or a device where a file or a folder should be."""


class Folder(AbstractContextManager["Folder"]):
    """An open folder. Closes when the block ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        os.close(self.descriptor)

    def folder(self, name: str) -> Folder | None:
        """The folder of that name in it; None where there is nothing of that name, or a plain file.

        Raises:
            StoreUnreachable: there is something else, such as a link.
        """
        try:
            return Folder(os.open(name, FOLDER, dir_fd=self.descriptor))
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            if self._is_plain(name):
                return None
            raise refused(error) from error
        except OSError as error:
            raise refused(error) from error

    def _is_plain(self, name: str) -> bool:
        """Whether a plain file of one name stands there; what has gone in the meantime was none."""
        try:
            found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return False
        # None: it was replaced while it was looked at.
        return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1

    def make(self, name: str) -> Folder:
        """The folder of that name in it, made where there is none, for its owner alone."""
        try:
            os.mkdir(name, 0o700, dir_fd=self.descriptor)
            os.fsync(self.descriptor)
        except FileExistsError:
            pass
        except OSError as error:
            raise refused(error) from error
        made = self.folder(name)
        if made is None:
            raise StoreUnreachable("a folder of the memory store vanished while it was made: try again")
        return made

    def kind(self, name: str) -> int | None:
        """The mode of what stands under a name, without following it; None where nothing does."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refused(error) from error

    def names(self) -> list[str]:
        """The names in it, sorted."""
        with os.scandir(self.descriptor) as entries:
            return sorted(entry.name for entry in entries)

    def read(self, name: str, limit: int) -> bytes | None:
        """The content of the plain file of that name, up to `limit` bytes; None where there is nothing.

        Raises:
            StoreUnreachable: there is no plain file, or one that another name shares.
        """
        for _ in range(REPLACED):
            try:
                descriptor = os.open(name, READ, dir_fd=self.descriptor)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise refused(error) from error
            try:
                if is_named(descriptor):
                    return b"".join(_chunks(descriptor, limit))
            except OSError as error:
                raise refused(error) from error
            finally:
                os.close(descriptor)
        raise StoreUnreachable("the file was replaced again and again while it was read: try again")


def is_named(descriptor: int) -> bool:
    """Whether an open plain file still has its one name; without any, another took its place since it was opened.

    Raises:
        StoreUnreachable: it is a device, a pipe or the like, or a second name of some other file.
    """
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnreachable(
            "what stands there is no plain file; the memory store has not made it and leaves it alone"
        )
    if found.st_nlink > 1:
        raise StoreUnreachable("the file has a second name outside of this path; the memory store leaves it alone")
    return found.st_nlink == 1


def descend(root: Folder, names: Iterable[str], stack: ExitStack) -> Folder | None:
    """The folder that the names lead to, one below the other; None where one is missing. `stack` closes them."""
    folder = root
    for name in names:
        below = folder.folder(name)
        if below is None:
            return None
        folder = stack.enter_context(below)
    return folder


def make_way(root: Folder, names: Iterable[str], stack: ExitStack) -> Folder:
    """The folder that the names lead to, made where it is missing. `stack` closes them."""
    folder = root
    for name in names:
        folder = stack.enter_context(folder.make(name))
    return folder


def put(data: bytes, name: str, *, scratch: Folder, folder: Folder) -> None:
    """Replace the file of that name in one step, durably. It is written as `new` in `scratch` first.

    Whoever holds the lock is the only writer of `scratch`, so that what a killed one left there can go.
    """
    try:
        discard("new", scratch)
        descriptor = os.open("new", CREATE, 0o600, dir_fd=scratch.descriptor)
        try:
            os.fchmod(descriptor, 0o600)
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename("new", name, src_dir_fd=scratch.descriptor, dst_dir_fd=folder.descriptor)
        os.fsync(folder.descriptor)
    except OSError as error:
        raise refused(error) from error


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it: a call may write less than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def discard(name: str, folder: Folder) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(name, dir_fd=folder.descriptor)
    except FileNotFoundError:
        return


def refused(error: OSError) -> MemoryFault:
    """What a failed system call means, without a path of this machine."""
    if error.errno in _STRANGE:
        return StoreUnreachable(
            "what stands there is a link or no plain file; the memory store has not made it and leaves it alone"
        )
    reason = os.strerror(error.errno) if error.errno else "unknown error"
    return StoreUnreachable(f"the memory store failed: {reason}. Nothing that was acknowledged is lost.")


def _chunks(descriptor: int, limit: int) -> Iterator[bytes]:
    left = limit
    while left > 0:
        chunk = os.read(descriptor, min(left, 1 << 18))
        if not chunk:
            return
        left -= len(chunk)
        yield chunk
