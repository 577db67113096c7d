"""Keys of the gateway: made, kept as salted hashes, and checked in a time that tells nothing.

It knows what a key looks like. It must never keep one: a key is shown once, when it is made. A key has 256 random
bits, so that a fast hash is as good as a slow one: nobody can try them all.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Protocol

import anyio
import anyio.to_thread

from perdure.gateway.callers import OWN_HEADER, Caller, keys_in
from perdure.gateway.grants import Grant
from perdure.kernel.errors import StoreUnreachable
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value
from perdure.memory import Principal

BEGINS = "pdk"
"""Begins every key, so that a scanner for secrets knows one."""

FRESH = 10.0
"""Seconds that a key is known for without asking the store: so long a revoked key may live."""

STALE = 300.0
"""The same, while the store does not answer: a database that starts again turns nobody away."""

MOST_KNOWN = 4_096
"""Keys that are known so."""

_FORM = pattern(rf"{BEGINS}_([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})")

LOOK_UPS = 4
"""Keys that are looked up at one time. Those that were valid before have as many of their own, so that nobody who
guesses makes them wait."""

_NOBODY = bytes(32)
"""Compared with where there is no such key, so that both take the same time."""


@value
class KeyRecord:
    """A key, without the key."""

    id: str
    """Stands in the key itself, in the open."""
    account: str
    """What its use is counted under: a rotated key goes on with the account of the one before it."""
    principal: Principal
    name: str
    """For people."""
    grant: Grant
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    created: float
    until: float | None = None
    """When it ends, or ended; None: never."""

    def alive(self, now: float) -> bool:
        """Whether it may be used."""
        return self.until is None or now < self.until


class KeyBook(Protocol):
    """Keeps records of keys. Every method may be slow, and raises `StoreUnreachable` where the store fails."""

    def find(self, key_id: str) -> KeyRecord | None:
        """The record of a key."""
        ...

    def records(self) -> list[KeyRecord]:
        """All records, the oldest first."""
        ...

    def add(self, record: KeyRecord) -> None:
        """Keep a new record."""
        ...

    def end(self, key_id: str, until: float) -> bool:
        """Let a key end at a time, if it does not end before; False where there is none."""
        ...


def issued(
    principal: Principal, grant: Grant, name: str, now: float, *, until: float | None = None, account: str = ""
) -> tuple[str, KeyRecord]:
    """A new key, and what is kept of it.

    Raises:
        InvalidSetting: the grant makes no sense.
    """
    key_id, secret, salt = secrets.token_hex(8), secrets.token_urlsafe(32), secrets.token_bytes(16)
    record = KeyRecord(
        id=key_id,
        account=account or key_id,
        principal=principal,
        name=name,
        grant=grant.check(),
        salt=salt,
        digest=digest(secret, salt),
        created=now,
        until=until,
    )
    return f"{BEGINS}_{key_id}_{secret}", record


def rotated(book: KeyBook, old: KeyRecord, now: float, grace: float) -> tuple[str, KeyRecord]:
    """A key in the place of another, which ends after the grace (seconds). Both count under one account."""
    key, record = issued(old.principal, old.grant, old.name, now, until=old.until, account=old.account)
    book.add(record)
    book.end(old.id, now + grace)
    return key, record


def follower(records: Sequence[KeyRecord], old: KeyRecord) -> KeyRecord | None:
    """The key that came in the place of another last, where there is one: the other ends soon."""
    mine = [record for record in records if record.account == old.account]
    newest = max(mine, key=lambda record: record.created, default=old)
    return newest if newest.created > old.created else None


def digest(secret: str, salt: bytes) -> bytes:
    """What is kept of a secret."""
    return blake2b(secret.encode("utf-8", "surrogateescape"), digest_size=32, salt=salt, person=b"perdure.key").digest()


def parted(shown: str) -> tuple[str, str] | None:
    """The id and the secret of a key; None for what cannot be one, which costs no look-up."""
    found = _FORM.fullmatch(shown)
    return (found[1], found[2]) if found else None


@record()
class BookKeys:
    """The keys of a book (see `KeyStore`)."""

    book: KeyBook
    clock: Callable[[], float]
    known: OrderedDict[bytes, tuple[KeyRecord, float]] = field(
        default_factory=OrderedDict[bytes, tuple[KeyRecord, float]]
    )
    """Records by a hash of the whole key, with the time at which the book said so."""
    first: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(LOOK_UPS))
    again: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(LOOK_UPS))

    async def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """See `KeyStore`.

        Raises:
            StoreUnreachable: nobody knows.
        """
        shown = keys_in(headers)
        for key in dict.fromkeys(shown.values()):
            record = await self._record(key)
            if record is not None and record.alive(self.clock()):
                # One that was revoked, or is somebody else's, is no upstream's either.
                spent = frozenset(name for name, value in shown.items() if value == key or parted(value))
                return _holder(record, spent | {OWN_HEADER})
        return None

    async def holder(self, key_id: str) -> Caller | None:
        """See `KeyStore`.

        Raises:
            StoreUnreachable: nobody knows.
        """
        record = await anyio.to_thread.run_sync(self.book.find, key_id, limiter=self.again)
        return _holder(record, frozenset()) if record is not None and record.alive(self.clock()) else None

    async def _record(self, key: str) -> KeyRecord | None:
        parts = parted(key)
        if parts is None:
            return None
        name, now = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=32).digest(), self.clock()
        known = self.known.get(name)
        if known is not None and now - known[1] < FRESH:
            return known[0]
        key_id, secret = parts
        try:
            limiter = self.again if known else self.first
            record = await anyio.to_thread.run_sync(self.book.find, key_id, limiter=limiter)
        except StoreUnreachable:
            if known is not None and now - known[1] < STALE:
                return known[0]
            raise
        salt, expected = (record.salt, record.digest) if record else (bytes(16), _NOBODY)
        if not hmac.compare_digest(digest(secret, salt), expected) or record is None:
            self.known.pop(name, None)
            return None
        self.known[name] = (record, now)
        self.known.move_to_end(name)
        while len(self.known) > MOST_KNOWN:
            self.known.popitem(last=False)
        return record


def _holder(record: KeyRecord, spent: frozenset[str]) -> Caller:
    return Caller(principal=record.principal, spent=spent, key=record.id, account=record.account, grant=record.grant)
