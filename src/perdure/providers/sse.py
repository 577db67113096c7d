"""Server-sent events: bytes in, JSON objects out.

It knows the framing (WHATWG HTML, 9.2.6). It must never know what an event means. The name of an event is not used:
every provider repeats it inside the data.
"""

from __future__ import annotations

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, decode_json

LONGEST = 64 * 1024 * 1024
"""Bytes of one event; a server that sends more is not talking sense."""


class EventReader:
    """Cuts a stream of bytes into events, wherever the network cut it."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._held = 0
        self.done = False
        """The closing `[DONE]` of OpenAI's streams came."""

    def feed(self, chunk: bytes) -> list[JsonObject]:
        """The events that these bytes complete.

        Raises:
            InvalidJson: an event whose data is no JSON object, or that has no end.
        """
        self._rest += chunk
        if len(self._rest) + self._held > LONGEST:
            raise InvalidJson(f"an event of more than {LONGEST} bytes")
        if b"\n" not in chunk and b"\r" not in chunk:
            return []
        found: list[JsonObject] = []
        *lines, rest = _lines(self._rest)
        self._rest = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
                self._held += len(line)
            elif not line and self._data:
                found.extend(self._event())
        return found

    def end(self) -> list[JsonObject]:
        """The event that the end of the stream completes: some servers leave out the last empty line."""
        return self.feed(b"\n\n")

    def _event(self) -> list[JsonObject]:
        data, self._data, self._held = b"\n".join(self._data), [], 0
        if data.strip() == b"[DONE]":
            self.done = True
            return []
        value = decode_json(data)
        if not isinstance(value, dict):
            raise InvalidJson("the data of an event is no JSON object")
        return [value]


def _lines(text: bytearray) -> list[bytes]:
    """Lines at any of the three ends; a carriage return at the very end may be half of one, and stays."""
    whole = bytes(text)
    held = b""
    if whole.endswith(b"\r"):
        whole, held = whole[:-1], b"\r"
    lines = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    lines[-1] += held
    return lines
