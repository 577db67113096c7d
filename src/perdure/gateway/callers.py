"""Who calls: the key of a request, and the tenant and user that it stands for.

It knows where clients put keys. It must never know what a caller may do beyond that it may call, and it tells nobody
why a key is refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from perdure.gateway.grants import Grant
from perdure.kernel.value import value
from perdure.memory import Principal

OWN_HEADER = "perdure-key"
"""Holds the gateway's key where the usual places hold that of the upstream."""


@value
class Caller:
    """Somebody who may call."""

    principal: Principal
    """Whose conversations and memory these are."""
    spent: frozenset[str] = frozenset()
    """Headers that hold the gateway's key, which no upstream may see."""
    key: str = ""
    """The id of the key, where there are several."""
    account: str = ""
    """What is used is counted under it; empty: it is not counted."""
    grant: Grant = field(default_factory=Grant)
    operator: bool = False
    """Whether it answers for all tenants, as whoever has the only key does."""


class KeyStore(Protocol):
    """Knows keys."""

    async def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """Who sent these headers (names in lower case); None for nobody who may call."""
        ...

    async def holder(self, key_id: str) -> Caller | None:
        """Who has the key with this id, which was shown before; None where it has ended."""
        ...


@value
class StaticKey:
    """One key for one user; or, on this machine alone, none."""

    key: str | None
    principal: Principal

    async def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """See `KeyStore`."""
        if self.key is None:
            return Caller(principal=self.principal, spent=frozenset({OWN_HEADER}), operator=True)
        spent = frozenset(name for name, shown in keys_in(headers).items() if same(shown, self.key))
        return Caller(principal=self.principal, spent=spent | {OWN_HEADER}, operator=True) if spent else None

    async def holder(self, key_id: str) -> Caller | None:
        """See `KeyStore`."""
        return None if key_id else Caller(principal=self.principal)


def keys_in(headers: Mapping[str, str]) -> dict[str, str]:
    """The keys that headers hold, by header. Newer SDKs of Anthropic's use `authorization` (SDK 2.14)."""
    found = {name: headers[name].strip() for name in (OWN_HEADER, "x-api-key") if headers.get(name)}
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        found["authorization"] = token.strip()
    return found


def same(shown: str, known: str) -> bool:
    """Whether two keys are the same, in a time that does not tell how much of them is."""
    return hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), known.encode())
