"""Where a session's living document is kept: one file, replaced in one step.

    <!-- perdure session memory {"covers_until":"m41","generation":3,...} -->
    # Session memory
    ...

It knows the file. It must never know when it is written. People may read it and edit what stands below the first line.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from perdure.kernel.errors import InvalidJson, StoreUnreachable
from perdure.kernel.messages import decode_object, encode_json
from perdure.kernel.value import value
from perdure.memory.descriptors import FOLDER, Folder, put, refused
from perdure.memory.files import wait_for
from perdure.memory.session.document import LONGEST, SessionDocument

NAME = "session-memory.md"
_OPENING = "<!-- perdure session memory "
_CLOSING = " -->\n"


@value
class SessionMemoryFile:
    """The document of one session, in that session's own folder."""

    folder: Path
    """Made when it is missing, for its owner alone."""

    def read(self) -> SessionDocument:
        """The document; the template where there is none, or where its first line says nothing.

        Raises:
            StoreUnreachable: the file is a link or the like, or the disk fails.
        """
        if not self.folder.is_dir():
            return SessionDocument()
        with self._open() as folder:
            return self._read(folder)

    @contextmanager
    def change(self) -> Generator[Change]:
        """The document, with nobody else able to change it until the block ends.

        Raises:
            StoreUnreachable: the disk fails, or somebody else holds it for too long.
        """
        with self._open() as folder, ExitStack() as stack:
            try:
                lock = os.open(
                    "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder.descriptor
                )
            except OSError as error:
                raise refused(error) from error
            stack.callback(os.close, lock)
            wait_for(lock)
            yield Change(document=self._read(folder), folder=folder)

    @contextmanager
    def _open(self) -> Generator[Folder]:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = Folder(os.open(self.folder, FOLDER))
        except OSError as error:
            raise refused(error) from error
        with opened:
            yield opened

    def _read(self, folder: Folder) -> SessionDocument:
        data = folder.read(NAME, LONGEST * 8)
        return decode(data.decode("utf-8", errors="replace")) if data else SessionDocument()


@value
class Change:
    """The document under its lock."""

    document: SessionDocument
    folder: Folder

    def put(self, document: SessionDocument) -> None:
        """Replace it, in one step and durably."""
        with self.folder.make("scratch") as scratch:
            put(encode(document), NAME, scratch=scratch, folder=self.folder)


def encode(document: SessionDocument) -> bytes:
    """The file's bytes."""
    about = encode_json(
        {
            "covers_until": document.covers_until,
            "generation": document.generation,
            "running_since": document.running_since,
        }
    )
    # An id could hold what ends a comment; as an escape it says the same to JSON.
    safe = about.decode("utf-8").replace("-->", "--\\u003e")
    return f"{_OPENING}{safe}{_CLOSING}{document.text}".encode("utf-8", errors="replace")


def decode(text: str) -> SessionDocument:
    """The document in a file; the template where its first line is not ours.

    Raises:
        StoreUnreachable: the first line is ours and cannot be read.
    """
    head, closing, body = text.partition(_CLOSING)
    if not head.startswith(_OPENING) or not closing:
        return SessionDocument()
    try:
        about = decode_object(head.removeprefix(_OPENING))
    except InvalidJson as error:
        raise StoreUnreachable("the first line of the session memory cannot be read: remove the file") from error
    covers, generation, since = (about.get(name) for name in ("covers_until", "generation", "running_since"))
    return SessionDocument(
        text=body,
        covers_until=covers if isinstance(covers, str) else "",
        generation=generation if isinstance(generation, int) else 0,
        running_since=float(since) if isinstance(since, int | float) else None,
    )
