"""Pieces of a streamed text, such that no piece holds half of a character.

It knows deltas. It must never change a whole block: a decoder joins those by itself. A screen cannot show a half, and a
log cannot write it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from perdure.kernel.messages.pieces import ends_in_half, join_pieces
from perdure.kernel.wire import BlockDone, BlockGrew, Delta


class Halves:
    """Holds the first half of a character back until the other comes, or the block ends without it."""

    def __init__(self) -> None:
        self._held: dict[int, BlockGrew] = {}

    def joined(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        """The same deltas, with halves joined."""
        for delta in deltas:
            match delta:
                case BlockGrew(index=index):
                    held = self._held.pop(index, None)
                    whole = delta if held is None else replace(delta, piece=join_pieces((held.piece, delta.piece)))
                    if ends_in_half(whole.piece):
                        self._held[index] = replace(whole, piece=whole.piece[-1])
                        whole = replace(whole, piece=whole.piece[:-1])
                    if whole.piece or not delta.piece:
                        yield whole
                case BlockDone(index=index):
                    self._held.pop(index, None)
                    yield delta
                case _:
                    yield delta
