"""distil and headroom, which write outputs shorter and keep the originals, as they are called from a loop of one's own.

They are loaded by name, since the environment of the checks does not have them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.peers.peer import Peer, Piece, Written, pieces_of, rebuilt
from perdure.kernel.messages import JsonObject, Message, encode_json

MODEL = "claude-sonnet-4-5-20250929"


def distil_peers() -> dict[str, Callable[[], Peer]]:
    """By name."""
    library = importlib.import_module("distil")
    return {
        "distil compress_messages": lambda: Distil(library, verbatim=False),
        "distil compress_messages, verbatim": lambda: Distil(library, verbatim=True),
    }


def headroom_peers() -> dict[str, Callable[[], Peer]]:
    """By name. The model that shortens prose has to be fetched first, so it is off."""
    library = importlib.import_module("headroom")
    return {
        "headroom compress": lambda: Headroom(library, {}),
        "headroom compress, frozen prefix": lambda: Headroom(library, {"protect_recent": 0}, frozen=True),
    }


class _Session:
    """The session as dictionaries, one for each piece."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self.given: list[dict[str, Any]] = []

    def take_in(self, new: Sequence[Message]) -> None:
        pieces = [piece for message in new for piece in pieces_of(message)]
        self._pieces += pieces
        self.given += map(_translated, pieces)

    def back(self, messages: Sequence[dict[str, Any]]) -> list[Message]:
        return rebuilt(zip(self._pieces, [str(one["content"] or "") for one in messages], strict=True))


class Distil(_Session):
    """The whole session before each request; what it makes of a text does not depend on where it stands."""

    def __init__(self, library: Any, *, verbatim: bool) -> None:
        super().__init__()
        self._library, self._verbatim = library, verbatim
        self._originals: dict[str, str] = {}

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """What it makes of the session."""
        self.take_in(new)
        result = self._library.compress_messages(self.given, verbatim=self._verbatim)
        for handle in result.handles:
            if handle not in self._originals:
                self._originals[handle] = self._library.expand_handle(handle) or ""
        return self.back(result.messages)

    def recalled(self) -> Mapping[str, str]:
        """What it gives back for its handles."""
        return self._originals


class Headroom(_Session):
    """The session before each request; with a frozen prefix, what was sent before goes in as it was sent."""

    def __init__(self, library: Any, options: Mapping[str, object], *, frozen: bool = False) -> None:
        super().__init__()
        self._library, self._options, self._frozen = library, options, frozen
        self._sent: list[dict[str, Any]] = []
        self._originals: dict[str, str] = {}

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """What it makes of the session."""
        self.take_in(new)
        before = len(self._sent) if self._frozen else 0
        asked = [*self._sent, *self.given[before:]] if self._frozen else self.given
        result = self._library.compress(
            asked, model=MODEL, kompress_model="disabled", frozen_message_count=before, **self._options
        )
        self._sent = list(result.messages)
        self._look_up(encode_json([str(one["content"]) for one in self._sent]).decode())
        return self.back(self._sent)

    def recalled(self) -> Mapping[str, str]:
        """What its store gives back for the hashes in its markers."""
        return self._originals

    def _look_up(self, text: str) -> None:
        store = importlib.import_module("headroom.cache.compression_store").get_compression_store()
        for name in set(re.findall(r"(?:hash=|<<ccr:)([0-9a-f]{8,})", text)) - self._originals.keys():
            entry = store.retrieve(name)
            self._originals[name] = "" if entry is None else str(entry.original_content)


def _translated(piece: Piece) -> dict[str, Any]:
    if piece.key[1]:
        return {"role": "tool", "tool_call_id": piece.key[1], "content": piece.text}
    if piece.message.role == "assistant":
        calls: list[JsonObject] = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": use.name, "arguments": encode_json(dict(use.input)).decode()},
            }
            for use in piece.message.tool_uses
        ]
        return {"role": "assistant", "content": piece.text, **({"tool_calls": calls} if calls else {})}
    return {"role": "user", "content": piece.text}
