"""What is kept of conversations, and the port behind which it is kept.

It knows values and the promises of a store. It must never know a database. Everything belongs to a principal, and
nothing of one can be found by another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from threading import Lock
from typing import Protocol

from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.kernel.value import record, value
from perdure.memory import Principal

__all__ = ["Found", "Head", "MemoryState", "Record", "StateStore", "StoreUnreachable"]


@value
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


@value
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
    model: str = ""
    window: int | None = None
    """Tokens of its window, where that is known."""
    seen: float = 0.0
    """When its newest request came."""
    sums: Mapping[str, float] = field(default_factory=dict[str, float])
    """What its answers came to: see `SUMS`."""


SUMS = ("requests", "prompt_tokens", "cache_read_tokens", "output_tokens", "usd", "saved_tokens", "saved_usd")
"""What is summed up for a conversation; `saved` is what edits kept out of its requests, at the price of cache reads."""


@value
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

    async def version(self, owner: Principal, conversation: str) -> int:
        """The version of a conversation; 0 where there is none."""
        ...

    async def newest(self, owner: Principal, most: int) -> list[Record]:
        """Conversations, the one that was seen last first."""
        ...

    async def size(self, owner: Principal) -> int:
        """Bytes that are kept for an owner."""
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


@record()
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

    async def version(self, owner: Principal, conversation: str) -> int:
        """See `StateStore`."""
        known = self.records.get((owner, conversation))
        return known.version if known else 0

    async def newest(self, owner: Principal, most: int) -> list[Record]:
        """See `StateStore`."""
        mine = [record for (whose, _), record in self.records.items() if whose == owner]
        return sorted(mine, key=lambda record: record.seen, reverse=True)[:most]

    async def size(self, owner: Principal) -> int:
        """See `StateStore`."""
        records = [record for (whose, _), record in self.records.items() if whose == owner]
        told = [len(encode_json(part)) for record in records for part in (*record.edits, body_of(record))]
        return sum(told) + sum(len(encode_json(original)) for _, original in self._kept_of(owner, ""))

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


def body_of(record: Record) -> JsonObject:
    """A record as databases keep it, but for its edits, its id and its version."""
    return {
        "family": record.family,
        "items": record.items,
        "turns": [*record.turns],
        "splices": [*record.splices],
        "model": record.model,
        "window": record.window,
        "seen": record.seen,
        "sums": {**record.sums},
    }


def record_from(conversation: str, version: int, body: JsonObject, edits: Sequence[JsonObject]) -> Record:
    """The record whose body this is. What an older version did not write yet is as it was before."""
    window, seen, sums = body.get("window"), body.get("seen"), body.get("sums")
    return Record(
        id=conversation,
        family=str(body["family"]),
        version=version,
        items=whole(body["items"]),
        edits=tuple(edits),
        turns=_objects(body["turns"]),
        splices=_objects(body["splices"]),
        model=str(body.get("model", "")),
        window=window if isinstance(window, int) else None,
        seen=float(seen) if isinstance(seen, int | float) else 0.0,
        sums={
            name: value
            for name, value in (sums if isinstance(sums, dict) else {}).items()
            if isinstance(value, int | float)
        },
    )


def whole(value: object) -> int:
    """A whole number; 0 for what is none."""
    return value if isinstance(value, int) else 0


def _objects(value: Json) -> tuple[JsonObject, ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def found_of(handle: str, original: JsonObject) -> Found:
    """An original as a list tells it."""
    tokens = original.get("tokens")
    return Found(handle=handle, what=str(original.get("what", "")), tokens=tokens if isinstance(tokens, int) else 0)


def holds(original: JsonObject, words: Sequence[str]) -> bool:
    """Whether the readable text of an original holds all these words, letter case ignored."""
    text = str(original.get("text", "")).casefold()
    return all(word.casefold() in text for word in words)
