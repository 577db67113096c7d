"""Where a gateway keeps things, as its configuration says: files for one process, a server for many.

It knows which store goes with which. It must never know what is kept.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256

from perdure.gateway.callers import KeyStore, StaticKey
from perdure.gateway.config import Config
from perdure.gateway.keys import BookKeys
from perdure.gateway.meter import MemoryMeter, Meter
from perdure.gateway.postgres_keys import PostgresKeys
from perdure.gateway.postgres_meter import PostgresMeter
from perdure.gateway.postgres_pool import Pool
from perdure.gateway.postgres_state import PostgresState
from perdure.gateway.sqlite_keys import SqliteKeys
from perdure.gateway.sqlite_meter import SqliteMeter
from perdure.gateway.sqlite_state import SqliteState
from perdure.gateway.state import MemoryState, StateStore
from perdure.kernel.value import value
from perdure.memory import FileStore, MemoryStore, Principal
from perdure.memory.postgres import PostgresStore


@value
class Stores:
    """What a gateway keeps things in."""

    keys: KeyStore
    state: StateStore
    meter: Meter
    memory: MemoryStore | None
    closing: tuple[Callable[[], None], ...] = ()
    """Close them all."""


def opened(config: Config, clock: Callable[[], float]) -> Stores:
    """The stores of a configuration.

    Raises:
        StoreUnreachable: a file cannot be opened. A server may be down: it is asked when it is needed.
        InvalidSetting: the server's address is none.
    """
    if config.store is not None:
        return _server(config, config.store, clock)
    closing: list[Callable[[], None]] = []
    keys: KeyStore = static(config)
    if config.keys is not None:
        book = SqliteKeys(config.keys)
        closing.append(book.close)
        keys = BookKeys(book=book, clock=clock)
    state: StateStore = MemoryState()
    meter: Meter = MemoryMeter()
    if config.state is not None:
        state, meter = SqliteState(config.state), SqliteMeter(config.state)
        closing += [state.close, meter.close]
    memory = FileStore(root=config.memory) if config.memory else None
    return Stores(keys=keys, state=state, meter=meter, memory=memory, closing=tuple(closing))


def static(config: Config) -> StaticKey:
    """The one key of a configuration, or none."""
    return StaticKey(key=config.key, principal=Principal(tenant=config.tenant, user=config.user))


def signing_key(config: Config) -> bytes:
    """What signs compaction blocks: the same on all replicas."""
    if config.secret:
        return config.secret.encode()
    if config.store is not None:
        return hmac.digest(config.store_key.encode(), b"perdure: compaction blocks", sha256)
    return secrets.token_bytes(32)


def _server(config: Config, address: str, clock: Callable[[], float]) -> Stores:
    pool = Pool(conninfo=address, key=config.store_key.encode())
    memory = PostgresStore(conninfo=pool.conninfo, key=pool.key)
    own = config.key is not None or config.open
    keys = BookKeys(book=PostgresKeys(pool), clock=clock)
    if config.keys is not None:
        keys = BookKeys(book=SqliteKeys(config.keys), clock=clock)
    return Stores(
        keys=static(config) if own else keys,
        state=PostgresState(pool),
        meter=PostgresMeter(pool),
        memory=memory if any(route.memory for route in config.routes) else None,
        closing=(pool.close, memory.close),
    )
