"""One server that keeps the context of any client, in front of any upstream."""

from perdure.gateway.app import Gateway, Parts
from perdure.gateway.callers import Caller, KeyStore, StaticKey
from perdure.gateway.config import Config, Route, config_of, read_config
from perdure.gateway.state import Found, Head, MemoryState, Record, StateStore

__all__ = [
    "Caller",
    "Config",
    "Found",
    "Gateway",
    "Head",
    "KeyStore",
    "MemoryState",
    "Parts",
    "Record",
    "Route",
    "StateStore",
    "StaticKey",
    "config_of",
    "read_config",
]
