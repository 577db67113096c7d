"""What is kept of conversations, and the port behind which it is kept.

It knows values and the promises of a store. It must never know a database. Everything belongs to a principal, and
nothing of one can be found by another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol

from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.messages import JsonObject
from perdure.memory import Principal

__all__ = ["Found", "Head", "MemoryState", "Record", "StateStore", "StoreUnreachable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a request of a conversation ended."""

    hash: str
    """Of everything up to there."""
    prefix: str
    """Of tools and system."""
    conversation: str
    items: int
    """Items of the wire's list."""
    messages: int
    """Messages that they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One conversation, without its words."""

    id: str
    family: str
    """Shared by everything that was forked from one conversation: its originals are found under it."""
    version: int = 0
    """Grows with each commit."""
    items: int = 0
    """Where its newest request ended."""
    edits: tuple[JsonObject, ...] = ()
    """The ledger."""
    turns: tuple[JsonObject, ...] = ()
    """What the provider counted, newest last: `messages` (of the request), `time` and `usage`."""
    splices: tuple[JsonObject, ...] = ()
    """Rounds that the client has not seen: `at`, the `shown` items and the `actual` ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An original in a list."""

    handle: str
    what: str
    tokens: int


class StateStore(Protocol):
    """Keeps conversations. Every method may be slow, and raises `StoreUnreachable` where the store fails."""

    async def find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        """The head with the first of these hashes that there is; of several, one with this prefix, else the newest."""
        ...

    async def load(self, owner: Principal, conversation: str) -> Record | None:
        """A conversation as it was last committed."""
        ...

    async def commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        """Keep a record whose version is one more than that of the kept one, with a head; False where it is not."""
        ...

    async def keep(self, owner: Principal, family: str, originals: Mapping[str, JsonObject]) -> None:
        """Keep originals by their handles; one that is there already stays."""
        ...

    async def original(self, owner: Principal, family: str, handle: str) -> JsonObject | None:
        """An original; an empty `family` means any of the owner's."""
        ...

    async def originals(self, owner: Principal, family: str, words: Sequence[str], most: int) -> list[Found]:
        """The newest originals that hold all these words; an empty `family` means any of the owner's."""
        ...

    async def ready(self) -> bool:
        """Whether it answers."""
        ...


@dataclass(slots=True)
class MemoryState:
    """A store that lives as long as the process."""

    heads: dict[tuple[Principal, str], list[Head]] = field(default_factory=dict[tuple[Principal, str], list[Head]])
    records: dict[tuple[Principal, str], Record] = field(default_factory=dict[tuple[Principal, str], Record])
    kept: dict[tuple[Principal, str], dict[str, JsonObject]] = field(
        default_factory=dict[tuple[Principal, str], dict[str, JsonObject]]
    )
    lock: Lock = field(default_factory=Lock)

    async def find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        """See `StateStore`."""
        for wanted in hashes:
            if found := self.heads.get((owner, wanted)):
                return next((head for head in reversed(found) if head.prefix == prefix), found[-1])
        return None

    async def load(self, owner: Principal, conversation: str) -> Record | None:
        """See `StateStore`."""
        return self.records.get((owner, conversation))

    async def commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        """See `StateStore`."""
        with self.lock:
            known = self.records.get((owner, record.id))
            if (known.version if known else 0) != record.version - 1:
                return False
            self.records[owner, record.id] = replace(record)
            if head is not None:
                places = self.heads.setdefault((owner, head.hash), [])
                places[:] = [place for place in places if place.conversation != head.conversation] + [head]
            return True

    async def keep(self, owner: Principal, family: str, originals: Mapping[str, JsonObject]) -> None:
        """See `StateStore`."""
        kept = self.kept.setdefault((owner, family), {})
        for handle, original in originals.items():
            kept.setdefault(handle, original)

    async def original(self, owner: Principal, family: str, handle: str) -> JsonObject | None:
        """See `StateStore`."""
        return dict(self._kept_of(owner, family)).get(handle)

    async def originals(self, owner: Principal, family: str, words: Sequence[str], most: int) -> list[Found]:
        """See `StateStore`."""
        kept = reversed(self._kept_of(owner, family))
        matching = [found_of(handle, original) for handle, original in kept if holds(original, words)]
        return matching[:most]

    async def ready(self) -> bool:
        """See `StateStore`."""
        return True

    def _kept_of(self, owner: Principal, family: str) -> list[tuple[str, JsonObject]]:
        shelves = [kept for (whose, name), kept in self.kept.items() if whose == owner and family in ("", name)]
        return [item for kept in shelves for item in kept.items()]


def found_of(handle: str, original: JsonObject) -> Found:
    """An original as a list tells it."""
    tokens = original.get("tokens")
    return Found(handle=handle, what=str(original.get("what", "")), tokens=tokens if isinstance(tokens, int) else 0)


def holds(original: JsonObject, words: Sequence[str]) -> bool:
    """Whether the readable text of an original holds all these words, letter case ignored."""
    text = str(original.get("text", "")).casefold()
    return all(word.casefold() in text for word in words)
