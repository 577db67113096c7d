"""Making room: the oldest originals that lie in blobs go, because somebody asked.

It knows ages and sizes. It must never run by itself, and takes nothing that a log holds.
"""

from __future__ import annotations

from perdure.archive.archive import Archive
from perdure.kernel.errors import ArchiveDamaged, HandleGone
from perdure.kernel.value import value


@value
class Collected:
    """What was removed, or would be."""

    originals: int
    bytes: int
    """Of blobs."""
    left: int
    """Bytes of the blobs that stay."""


def weigh_blobs(archive: Archive) -> int:
    """Bytes that the blobs of an archive take."""
    return sum(archive.blobs.size(name) for name in archive.blobs.names())


def doomed(archive: Archive, before: float | None, most: int | None) -> list[int]:
    """The originals to remove: those that left a view before a time, and the oldest until `most` bytes are kept."""
    chosen: list[int] = []
    left = weigh_blobs(archive)
    for row in archive.index.oldest_in_blobs():
        too_old = before is not None and row.time < before
        if not too_old and (most is None or left <= most):
            continue
        chosen.append(row.id)
        left -= sum(archive.blobs.size(piece.blob) for _, piece in archive.index.pieces_of(row.id) if piece.blob)
    return chosen


def collect(archive: Archive, now: float, before: float | None = None, most: int | None = None) -> Collected:
    """Remove them. Their handles say from then on that they are gone.

    A crash on the way leaves blobs that nothing points to; the next collection takes them.

    Raises:
        DiskError: something could not be removed.
    """
    with archive.lock:
        return _collect(archive, now, before, most)


def _collect(archive: Archive, now: float, before: float | None, most: int | None) -> Collected:
    index = archive.index
    whole = weigh_blobs(archive)
    with index.writing():
        chosen = doomed(archive, before, most)
        for original in chosen:
            for number in index.forget(original, now):
                piece = index.piece_numbered(number)
                if piece is not None and piece.blob:
                    index.drop(number, _text(archive, number))
    # The lock of the index is taken again: what a session keeps meanwhile has its row before the lock is given back.
    with index.writing():
        held = index.blobs()
        for name in [name for name in archive.blobs.names() if name not in held]:
            archive.blobs.remove(name)
    index.compact()
    left = weigh_blobs(archive)
    return Collected(originals=len(chosen), bytes=whole - left, left=left)


def _text(archive: Archive, number: int) -> str:
    piece = archive.index.piece_numbered(number)
    try:
        return archive.text_of(piece) if piece is not None else ""
    except (ArchiveDamaged, HandleGone):
        return ""
