"""Files of the workspace: opened only where they are regular, replaced whole or not at all.

It knows what can be wrong with a path and tells it to the model. It must never know what a file is for.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from perdure.kernel.value import value
from perdure.tools.encoding import shown
from perdure.tools.failed import ToolFailed

NEAR = 3
"""Names that are suggested for one that is not there."""
LOOKED_AT = 10_000
"""Names of a folder among which they are looked for."""

_KINDS = (
    (stat.S_ISDIR, "a folder; list it with ls"),
    (stat.S_ISFIFO, "a named pipe, which could be waited for for ever"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@value
class State:
    """Which state of a file was looked at: any change of it changes this."""

    inode: int
    size: int
    nanoseconds: int

    @staticmethod
    def of(about: os.stat_result) -> State:
        """The state that a stat tells."""
        return State(inode=about.st_ino, size=about.st_size, nanoseconds=about.st_mtime_ns)


def real(path: Path) -> Path:
    """The file that a path leads to, links resolved; as far as that goes where there is none, or a circle of links."""
    return Path(os.path.realpath(path))


@contextmanager
def opened(path: Path) -> Generator[tuple[BinaryIO, os.stat_result]]:
    """A regular file for reading, and what is known of it. Nothing here waits.

    Raises:
        ToolFailed: there is none, or it cannot be read.
    """
    with _told(path):
        # Without O_NONBLOCK a named pipe would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            _require_regular(path, about.st_mode)
            yield file, about


def existing_folder(path: Path) -> Path:
    """The path, if there is a folder that can be listed.

    Raises:
        ToolFailed: there is none.
    """
    with _told(path):
        about = path.stat()
        if not stat.S_ISDIR(about.st_mode):
            raise ToolFailed(f"{shown(str(path))!r} is a file, no folder.")
        with os.scandir(path):
            return path


def replace_file(target: Path, content: bytes, before: os.stat_result | None) -> os.stat_result:
    """Give a file this content, whole or not at all; folders above it are made. `target` is the file itself, with links
    resolved. `before` is the state that it has to be in still; None for a file that may not exist yet.

    Raises:
        ToolFailed: it changed meanwhile, or cannot be written.
    """
    with _told(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        about = _state_now(target)
        if (about and State.of(about)) != (before and State.of(before)):
            raise ToolFailed(f"{shown(str(target))!r} changed on disk a moment ago. Read it again.")
        if about is not None:
            _require_regular(target, about.st_mode)
            if not os.access(target, os.W_OK):
                raise ToolFailed(f"{shown(str(target))!r} may not be written (its mode is {about.st_mode & 0o777:o}).")
        # A file under two names has to stay one; and a folder may allow no new file.
        if about is not None and (about.st_nlink > 1 or not os.access(target.parent, os.W_OK)):
            target.write_bytes(content)
        else:
            _swap(target, content, about)
        return target.stat()


def _swap(target: Path, content: bytes, about: os.stat_result | None) -> None:
    descriptor, name = tempfile.mkstemp(prefix=".perdure-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if about is None:
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            else:
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), about.st_uid, about.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(about.st_mode))
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    # There is no other way to ask; it belongs to the process, so it is put back at once.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _state_now(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _require_regular(path: Path, mode: int) -> None:
    for holds, what in _KINDS:
        if holds(mode):
            raise ToolFailed(f"{shown(str(path))!r} is {what}.")


@contextmanager
def _told(path: Path) -> Generator[None]:
    name = shown(str(path))
    try:
        yield
    except FileNotFoundError as error:
        raise ToolFailed(_missing(path)) from error
    except IsADirectoryError as error:
        raise ToolFailed(f"{name!r} is a folder.") from error
    except (NotADirectoryError, FileExistsError) as error:
        raise ToolFailed(f"{name!r} leads through a file, which has nothing below it.") from error
    except PermissionError as error:
        raise ToolFailed(f"{name!r} cannot be used: permission denied.") from error
    except OSError as error:
        why = "it is a circle of links" if error.errno == errno.ELOOP else (error.strerror or "the disk failed")
        raise ToolFailed(f"{name!r} cannot be used: {why}.") from error


def _missing(path: Path) -> str:
    name = shown(str(path))
    if path.is_symlink():
        return f"{name!r} is a link to {shown(str(path.readlink()))!r}, which does not exist."
    folder = next(above for above in path.parents if above.is_dir())
    lost = path.relative_to(folder).parts[0]
    what = "There is no file" if folder == path.parent else f"There is no folder {lost!r} on the way to"
    near = [shown(str(folder / other)) for other in _names_like(lost, folder)]
    return f"{what} {name!r}." + (f" Near it: {', '.join(near)}." if near else " Look with glob or ls.")


def _names_like(name: str, folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(LOOKED_AT), strict=False)]
    except OSError:
        return []
    folded = {other.casefold(): other for other in names}
    stem = name.casefold().split(".")[0]
    near = difflib.get_close_matches(name.casefold(), folded, NEAR, 0.6)
    near += [other for other in sorted(folded) if stem and other.split(".")[0] == stem and other not in near]
    return [folded[other] for other in near[:NEAR]]
