"""The protocol of memory stores, and its values.

It knows what a store promises. It must never know how one keeps it: files and PostgreSQL stand beside this file, and
`perdure.testing.memory_store` holds any store to the same contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

from perdure.kernel.errors import MemoryChanged, MemoryFault, MemoryFull, MemoryNotFound, MemoryPathRefused, MemoryTaken
from perdure.kernel.messages import Provenance
from perdure.kernel.value import value
from perdure.memory.path import ROOT, MemoryPath
from perdure.memory.principal import Principal

TRUST: tuple[Provenance, ...] = ("user", "assistant", "harness", "peer", "tool", "web")
"""From the most to the least trusted. A file has the least trusted of what was ever written into it."""

BY_NAME: Mapping[str, Provenance] = dict(zip(TRUST, TRUST, strict=True))
"""The provenances by the names under which stores keep them."""


@value
class Caps:
    """What a namespace may hold."""

    file_bytes: int = 256 * 1024
    """Of one file, in UTF-8."""
    files: int = 1_000
    """Files of one principal. Folders need files, so they are bounded too."""


@value
class Kept:
    """A file as it was read."""

    text: str
    version: str
    """Equal for equal content, and only then."""
    provenance: Provenance = "assistant"


@value
class Entry:
    """A file in a listing."""

    path: MemoryPath
    size: int
    """In bytes of UTF-8."""


class MemoryStore(Protocol):
    """Keeps the files of each principal apart from everybody else's.

    Every method may block on a disk or a server, may be called from any thread, and raises `NoPrincipal` without a
    principal and `StoreUnreachable` where the disk or the server fails. A write is whole and durable when it returns,
    and was not made when it raises (`StoreUnreachable` alone leaves that open).
    """

    def read(self, principal: Principal | None, path: MemoryPath) -> Kept | None:
        """The file at a path; None where there is none, also where it is a folder."""
        ...

    def files(self, principal: Principal | None, path: MemoryPath) -> tuple[Entry, ...] | None:
        """All files below a folder, sorted by path; None where there is no folder. The root is always there."""
        ...

    def write(
        self,
        principal: Principal | None,
        path: MemoryPath,
        text: str,
        *,
        expected: str | None,
        provenance: Provenance = "assistant",
    ) -> None:
        """Put a text at a path, with the least trusted provenance of old and new; folders come by themselves.

        `expected` is the version that the writer saw, None where it saw no file.

        Raises:
            MemoryChanged: the file has another version by now, or is gone.
            MemoryTaken: the writer saw no file and there is one, or a folder, or a name that differs in case alone.
            MemoryFull: a cap would be exceeded.
        """
        ...

    def delete(self, principal: Principal | None, path: MemoryPath) -> None:
        """Remove a file, or a folder with all that is in it.

        Raises:
            MemoryNotFound: nothing is there.
            MemoryPathRefused: it is the root.
        """
        ...

    def rename(self, principal: Principal | None, old: MemoryPath, new: MemoryPath) -> None:
        """Move a file or a folder.

        Raises:
            MemoryNotFound: there is nothing at `old`.
            MemoryTaken: there is something at `new`.
            MemoryPathRefused: one of them is the root, or `new` lies inside `old`.
        """
        ...


def version_of(text: str) -> str:
    """The version of a content."""
    return sha256(text.encode("utf-8")).hexdigest()


def least_trusted(one: Provenance, other: Provenance) -> Provenance:
    """The one of two provenances that is to be trusted less."""
    return one if TRUST.index(one) >= TRUST.index(other) else other


def encoded(text: str, path: MemoryPath, caps: Caps) -> bytes:
    """The bytes of a content that may be kept.

    Raises:
        MemoryFull: it is larger than one file may be.
        MemoryFault: it holds a zero character or half of a surrogate pair, which not every store can keep.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MemoryFault(f"the text for {str(path)!r} holds half of a surrogate pair: leave it out") from error
    if b"\0" in data:
        raise MemoryFault(f"the text for {str(path)!r} holds a zero character: leave it out")
    size = len(data)
    if size > caps.file_bytes:
        raise MemoryFull(f"{str(path)!r} would have {size} bytes of at most {caps.file_bytes}: split it by topic")
    return data


def check_count(count: int, caps: Caps) -> None:
    """Let one more file come.

    Raises:
        MemoryFull: there are as many as there may be.
    """
    if count >= caps.files:
        raise MemoryFull(f"there are {count} files, and {caps.files} are the most: delete or merge some first")


def check_move(old: MemoryPath, new: MemoryPath) -> None:
    """Let a rename pass that could be made.

    Raises:
        MemoryPathRefused: one of the two is the root, or `new` lies inside `old`.
    """
    if old.is_root or new.is_root:
        raise MemoryPathRefused(f"{ROOT!r} itself cannot be renamed or replaced")
    if new != old and new.inside(old):
        raise MemoryPathRefused(f"{str(new)!r} lies inside {str(old)!r}: a folder cannot be moved into itself")


def changed(path: MemoryPath) -> MemoryChanged:
    """The error of a lost update that was prevented."""
    return MemoryChanged(
        f"{str(path)!r} was changed by another writer since you last saw it. "
        f"Nothing was written, so that nothing of theirs is lost: view it again, then repeat the change."
    )


def not_found(path: MemoryPath) -> MemoryNotFound:
    """The error for a path under which nothing is kept."""
    return MemoryNotFound(f"nothing is kept at {str(path)!r}")


def taken(path: MemoryPath) -> MemoryTaken:
    """The error for a path under which something is kept already."""
    return MemoryTaken(f"something is kept at {str(path)!r} already, or under a name that differs in case alone")
