"""Which files the model has seen in this session, and in which state, so that none is changed blindly.

It knows paths, hashes and line numbers. It must never touch a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.kernel.value import value

Touch: TypeAlias = Literal["read", "modified"]

Span: TypeAlias = tuple[int, int]
"""First and last line, counted from 1."""


@value
class Sight:
    """What the model knows of a file."""

    digest: str
    """Of the whole content that it saw or wrote."""
    mtime: float
    """When the file had last been changed then, in seconds since 1970."""
    lines: int
    """How many it had."""
    spans: tuple[Span, ...]
    """The lines that were shown, in order, without overlaps."""
    touch: Touch
    """`modified` once the model changed the file, whatever it did since."""
    time: float
    """When it was last shown or written, in seconds since 1970."""

    @property
    def whole(self) -> bool:
        """Whether each line was shown."""
        return not self.lines or self.spans == ((1, self.lines),)


class Seen:
    """What one session's model has seen. Paths are those of the files themselves, links resolved."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sights: dict[Path, Sight] = {}

    def sight(self, path: Path) -> Sight | None:
        """What the model knows of a file; None where it has not seen it, or not since a checkpoint."""
        return self._sights.get(path)

    def saw(self, path: Path, digest: str, *, mtime: float, lines: int, span: Span) -> None:
        """Lines of a file were shown. Earlier ones count as long as the content is the same."""
        before = self._sights.get(path)
        spans = (span,) if before is None or before.digest != digest else _merged((*before.spans, span))
        touch = before.touch if before else "read"
        sight = Sight(digest=digest, mtime=mtime, lines=lines, spans=spans, touch=touch, time=self._clock())
        self._put(path, sight)

    def wrote(self, path: Path, digest: str, *, mtime: float, lines: int) -> None:
        """The model wrote all of a file."""
        span = ((1, lines),)
        sight = Sight(digest=digest, mtime=mtime, lines=lines, spans=span, touch="modified", time=self._clock())
        self._put(path, sight)

    def changed(self, path: Path, digest: str, *, mtime: float, lines: int) -> None:
        """The model changed a part of a file: it knows the whole of it only if it did before."""
        before = self._sights.get(path)
        self.wrote(path, digest, mtime=mtime, lines=lines)
        if before is not None and not before.whole:
            self._sights[path] = replace(self._sights[path], spans=before.spans)

    def forget(self, paths: Iterable[Path]) -> None:
        """These files are no longer in view: they have to be read again before they are changed."""
        for path in paths:
            self._sights.pop(path, None)

    def recent(self) -> tuple[tuple[Path, Touch, float], ...]:
        """The files that are in view, the latest first: path, what was done, and when."""
        return tuple((path, sight.touch, sight.time) for path, sight in reversed(self._sights.items()))

    def _put(self, path: Path, sight: Sight) -> None:
        self._sights.pop(path, None)
        self._sights[path] = sight


def digest_of(content: bytes) -> str:
    """The hash by which two states of a file are told apart."""
    return sha256(content).hexdigest()


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)
