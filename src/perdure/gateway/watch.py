"""Looking at an answer while it passes, for what the provider counted.

It knows where dialects put usage. It must never change or hold back a byte, and what makes no sense to it is no error:
the client gets it anyway.
"""

from __future__ import annotations

from perdure.kernel.errors import UserError
from perdure.kernel.messages import Usage
from perdure.kernel.wire import Codec
from perdure.providers.sse import EventReader


class Watch:
    """Watches one answer."""

    def __init__(self, codec: Codec, streamed: bool) -> None:
        self._codec, self._streamed = codec, streamed
        self._reader, self._decoder = EventReader(), codec.stream()
        self._whole = bytearray()
        self._lost = False

    def feed(self, piece: bytes) -> None:
        """Some bytes passed."""
        if not self._streamed:
            self._whole += piece
            return
        if self._lost:
            return
        try:
            for event in self._reader.feed(piece):
                self._decoder.feed(event)
        except UserError:
            self._lost = True

    def usage(self) -> Usage | None:
        """What was counted; None where the answer did not come to its end."""
        try:
            if not self._streamed:
                return self._codec.decode_response(bytes(self._whole)).message.usage
            if self._lost or not self._decoder.complete or self._decoder.error is not None:
                return None
            return self._decoder.response().message.usage
        except UserError:
            return None
