"""Conversations found again: in memory, else in the store, else begun.

It knows the order of the search, and what a fork takes along. It must never know a protocol. What is kept in memory is
bounded, and nothing depends on it.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field, replace

import anyio

from perdure.gateway.conversation import Conversation, revive
from perdure.gateway.identity import extend, prefix_hash
from perdure.gateway.metrics import Metrics
from perdure.gateway.state import Head, Record, StateStore
from perdure.kernel.context import Settings
from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.messages import Json, JsonObject, Transcript
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import record, value
from perdure.kernel.wire import Codec
from perdure.memory import Principal

FORKS = 8
"""Of one beginning."""

IDLE = 600.0
"""Seconds after which what nobody asked for is held no longer: decoded messages take three times their bytes."""

MOST = 256
"""Beginnings of conversations held in memory; others are made again from the store and the next request."""


@value
class Wanted:
    """What a request says of its conversation."""

    owner: Principal
    codec: Codec
    profile: ModelProfile
    settings: Settings
    seed: bytes
    told: list[Json]
    """Tools and system, normal."""
    overhead: int
    items: list[JsonObject]
    """Not empty."""
    now: float


@record()
class Shelf:
    """Conversations that begin with the same message."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by whoever looks at one or changes it."""
    held: list[Conversation] = field(default_factory=list[Conversation])
    seen: float = 0.0
    """When it was asked for last."""


@record()
class Conversations:
    """All that are held."""

    store: StateStore
    metrics: Metrics
    shelves: OrderedDict[tuple[Principal, bytes], Shelf] = field(
        default_factory=OrderedDict[tuple[Principal, bytes], Shelf]
    )

    def shelf(self, wanted: Wanted) -> Shelf:
        """Where the conversation of a request stands, or will."""
        key = (wanted.owner, extend(wanted.seed, wanted.items[:1])[0])
        shelf = self.shelves.setdefault(key, Shelf())
        self.shelves.move_to_end(key)
        shelf.seen = wanted.now
        while len(self.shelves) > MOST or next(iter(self.shelves.values())).seen < wanted.now - IDLE:
            self.shelves.popitem(last=False)
        return shelf

    async def open(self, shelf: Shelf, wanted: Wanted) -> Conversation:
        """The conversation that a request belongs to, with what the request adds taken in. Needs the shelf's lock.

        Raises:
            UserError: it adds what no message is.
            CallRefused: what is kept cannot be read.
        """
        while candidates := [one for one in shelf.held if not one.ahead and one.extends(wanted.items)]:
            found = max(candidates, key=lambda one: len(one.items))
            if await self._is_old(found):
                shelf.held.remove(found)
                continue
            more = extend(found.hashes[-1], wanted.items[len(found.items) :])
            found.take(wanted.items, more, wanted.now)
            return found
        found = await self._found(wanted, extend(wanted.seed, wanted.items))
        if found.adrift:
            return found
        shelf.held.append(found)
        del shelf.held[:-FORKS]
        return found

    async def _is_old(self, held: Conversation) -> bool:
        """Whether another replica went on with it; while the store does not answer, nobody can say."""
        try:
            return await self.store.version(held.owner, held.record.id) != held.record.version
        except StoreUnreachable:
            self.metrics.add("state_failures")
            return False

    async def _found(self, wanted: Wanted, hashes: Sequence[bytes]) -> Conversation:
        prefix = prefix_hash(wanted.told)
        kept = await self._kept(wanted, hashes, prefix)
        record, at = kept or (_begun(), 0)
        conversation = Conversation(
            owner=wanted.owner,
            codec=wanted.codec,
            record=record,
            engine=revive(record, wanted.profile, wanted.settings, wanted.overhead),
            prefix=prefix,
            items=[],
            hashes=[],
            transcript=Transcript(),
            told=wanted.told,
            overhead=wanted.overhead,
            adrift=kept is None,
        )
        if at:
            conversation.take(wanted.items[:at], hashes[:at], wanted.now)
            conversation.engine.sync(conversation.transcript, conversation.engine.ledger)
        conversation.take(wanted.items, hashes[at:], wanted.now)
        return conversation

    async def _kept(self, wanted: Wanted, hashes: Sequence[bytes], prefix: str) -> tuple[Record, int] | None:
        """What is kept of the longest history that this request begins with, and how many items that is; None where
        the store does not say."""
        try:
            head = await self.store.find(wanted.owner, [item.hex() for item in reversed(hashes)], prefix)
            record = await self.store.load(wanted.owner, head.conversation) if head else None
        except StoreUnreachable:
            self.metrics.add("state_failures")
            return None
        if head is None or record is None:
            return _begun(), 0
        if head.items == record.items and head.prefix == prefix and not _left_behind(record, head):
            return record, head.items
        return _forked(record, head, secrets.token_hex(12), same=head.prefix == prefix), head.items


def _begun() -> Record:
    name = secrets.token_hex(12)
    return Record(id=name, family=name)


def _forked(record: Record, head: Head, name: str, *, same: bool) -> Record:
    """What another conversation with the same beginning takes along: what was decided up to there. What the answers to
    the first one came to stays with that one."""
    edits = [edit for edit in record.edits if _planned_at(edit) <= head.messages]
    turns = [turn for turn in record.turns if _number(turn["messages"]) <= head.messages] if same else []
    splices = [splice for splice in record.splices if _number(splice["at"]) < head.items]
    return replace(
        record,
        id=name,
        version=0,
        items=head.items,
        edits=tuple(edits),
        turns=tuple(turns),
        splices=tuple(splices),
        sums={},
    )


def _left_behind(record: Record, head: Head) -> bool:
    """Whether it was edited in a hidden round whose end nobody waited for, so that no splice tells of it."""
    spliced = any(splice["at"] == head.items for splice in record.splices)
    return not spliced and any(_planned_at(edit) > head.messages for edit in record.edits)


def _planned_at(edit: JsonObject) -> int:
    reason = edit.get("reason")
    return _number(reason.get("at")) if isinstance(reason, dict) else 0


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
