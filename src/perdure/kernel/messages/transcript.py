"""The transcript: every message that ever was, as it was.

It knows order and identity, and keeps the sums of its messages' weights. It must never know an edit: nothing here
removes, replaces or reorders. Appending gives a new value and costs the new messages alone, since the values of one
line of history share their store; appending to an older value forks the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import is_
from typing import overload

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages.media import Media
from perdure.kernel.messages.message import Message
from perdure.kernel.messages.weight import Weight, weigh


class Transcript(Sequence[Message]):
    """An immutable, append-only sequence of messages with unique ids."""

    __slots__ = ("_length", "_store")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Hold these messages.

        Raises:
            InvalidMessage: a message without an id, or with one that came before.
        """
        self._store = _Store()
        for message in messages:
            self._store.add(message)
        self._length = len(self._store.messages)

    def append(self, *messages: Message) -> Transcript:
        """A transcript with these messages at its end; this one stays as it is.

        Raises:
            InvalidMessage: a message without an id, or with one that came before.
        """
        store = self._store
        if len(store.messages) != self._length:
            store = _Store()
            for message in self:
                store.add(message)
        try:
            for message in messages:
                store.add(message)
        except BaseException:
            store.cut(self._length)
            raise
        longer = Transcript.__new__(Transcript)
        longer._store = store
        longer._length = len(store.messages)
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            held = self._store.messages
            start, stop, step = index.indices(self._length)
            # A stop of -1 ends a backward range before the first message; in a slice it would mean the last one.
            return tuple(held[start:stop] if step == 1 else [held[at] for at in range(start, stop, step)])
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"the transcript has {self._length} messages, none at {index}")
        return self._store.messages[index]

    def __iter__(self) -> Iterator[Message]:
        messages = self._store.messages
        for index in range(self._length):
            yield messages[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transcript):
            return NotImplemented
        return self[:] == other[:]

    def __hash__(self) -> int:
        return hash((self._length, self._store.messages[self._length - 1].id if self._length else ""))

    def __repr__(self) -> str:
        return f"Transcript({self._length} messages)"

    def index_of(self, message_id: str) -> int | None:
        """The position of the message with this id, or None."""
        index = self._store.places.get(message_id)
        return index if index is not None and index < self._length else None

    def weight(self, start: int = 0, stop: int | None = None) -> Weight:
        """The summed weight of the messages from `start` up to `stop`, in the time of two look-ups."""
        first, last, _ = slice(start, stop).indices(self._length)
        last = max(first, last)
        store = self._store
        return Weight(
            bytes=store.bytes[last] - store.bytes[first],
            chars=store.chars[last] - store.chars[first],
            blocks=store.blocks[last] - store.blocks[first],
            media=tuple(media for index, media in store.media if first <= index < last),
        )


def same_start(first: Sequence[Message], second: Sequence[Message]) -> int:
    """How many messages both begin with: the very same values, found without looking into any."""
    most = min(len(first), len(second))
    return sum(takewhile(bool, map(is_, first[:most], second[:most])))


class _Store:
    """What the transcripts of one line of history share. It only grows, beyond the length of each that looks at it."""

    __slots__ = ("blocks", "bytes", "chars", "media", "messages", "places")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.places: dict[str, int] = {}
        self.bytes: list[int] = [0]
        self.chars: list[int] = [0]
        self.blocks: list[int] = [0]
        self.media: list[tuple[int, Media]] = []

    def add(self, message: Message) -> None:
        index = len(self.messages)
        if not message.id:
            raise InvalidMessage(f"the message at {index} has no id; give each message of a transcript its own")
        if message.id in self.places:
            raise InvalidMessage(
                f"the message at {index} has the id {message.id!r} of the one at {self.places[message.id]}"
            )
        weight = weigh(message)
        self.places[message.id] = index
        self.messages.append(message)
        self.bytes.append(self.bytes[-1] + weight.bytes)
        self.chars.append(self.chars[-1] + weight.chars)
        self.blocks.append(self.blocks[-1] + weight.blocks)
        self.media.extend((index, media) for media in weight.media)

    def cut(self, length: int) -> None:
        """Take back what a failed append added."""
        for message in self.messages[length:]:
            del self.places[message.id]
        del self.messages[length:], self.bytes[length + 1 :], self.chars[length + 1 :], self.blocks[length + 1 :]
        self.media = [(index, media) for index, media in self.media if index < length]
