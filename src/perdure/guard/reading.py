"""Reads a file that somebody else may have made: bounded, regular, text, and where it claims to be.

It knows what can be wrong with a file. It must never know what the file is for. Nothing here raises for the sake of a
file, and nothing waits: a FIFO is opened without blocking and refused, a link is followed only where it may lead.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from perdure.guard.plain import one_line
from perdure.kernel.value import value

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW


@value
class Caution:
    """Something that was wrong with a file, and what was done about it; for a person to read."""

    place: str
    """The file, on one line."""
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@value
class Reading:
    """What was read of a file."""

    text: str = ""
    """Without the byte order mark; empty where the file was refused."""
    size: int = 0
    """Bytes of the whole file."""
    cut: bool = False
    """Whether the file goes on behind `text`."""
    caution: Caution | None = None
    path: Path | None = None
    """The file itself, links resolved; None where none was read."""
    time: float = 0.0
    """When it was last changed, in seconds since the epoch."""


def read_file(path: Path, *, limit: int, within: Path | None = None, owned: bool = False) -> Reading | None:
    """Read at most `limit` bytes of a text file; None where there is no file of this name.

    `within` is a folder that the file may not lead out of by a link; None lets it lead anywhere. `owned` refuses a file
    that belongs neither to this user nor to root: in a folder that many write to, anybody may have put it there.
    """
    try:
        real = path.resolve(strict=True)
        # A real path lies below a folder's name only where that name is real too, so most folders need no resolving.
        if within is not None and not (real.is_relative_to(within) or real.is_relative_to(within.resolve())):
            return _refused(path, "is a link that leads out of its folder; it was not read")
        return _read(path, real, limit, owned)
    except (FileNotFoundError, NotADirectoryError):
        return _refused(path, "is a link to nothing; it was not read") if _is_link(path) else None
    except RuntimeError:
        # `resolve` raises it for a circle of links before Python 3.13, and OSError since.
        return _refused(path, "is a circle of links; it was not read")
    except OSError as error:
        what = "is a circle of links" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
        return _refused(path, f"{what}; it was left out")
    except ValueError:
        return _refused(path, "has a name that no file can have; it was left out")


def _read(path: Path, real: Path, limit: int, owned: bool) -> Reading:
    descriptor = os.open(real, FLAGS)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return _refused(path, "is no regular file; it was not read")
        if owned and about.st_uid not in (0, os.geteuid()):
            return _refused(path, "belongs to another user; it was not read")
        data = _bytes_of(descriptor, limit + 1)
    finally:
        os.close(descriptor)
    if b"\0" in data[:limit]:
        return _refused(path, "is binary; it was not read")
    cut = len(data) > limit
    text = data[:limit].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    caution = None
    if cut:
        # The limit may have cut a character in two.
        text = text.rstrip("\ufffd")
        caution = Caution(place=_shown(path), what=f"has {about.st_size:,} bytes; the first {limit:,} were read")
    return Reading(text=text, size=about.st_size, cut=cut, caution=caution, path=real, time=about.st_mtime)


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def _bytes_of(descriptor: int, most: int) -> bytes:
    chunks: list[bytes] = []
    while most > 0 and (chunk := os.read(descriptor, most)):
        chunks.append(chunk)
        most -= len(chunk)
    return b"".join(chunks)


def _refused(path: Path, what: str) -> Reading:
    return Reading(caution=Caution(place=_shown(path), what=what))


def _shown(path: Path) -> str:
    return one_line(str(path))
