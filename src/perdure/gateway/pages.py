"""The addresses for people: the status page, and the way in and out.

It knows which page answers what. It must never show anything of anybody but the caller, who is known first.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from hashlib import sha256

from perdure.gateway.callers import OWN_HEADER, Caller, KeyStore
from perdure.gateway.door import Arrived, Reply, json_reply
from perdure.gateway.sessions import Sessions, ended, from_own_page, shown_key
from perdure.gateway.state import StateStore
from perdure.gateway.status import MOST, Status, status_json, told_of
from perdure.gateway.status_page import status_page, way_in
from perdure.kernel.errors import CallRefused

PAGE, DATA, IN, OUT = "/", "/status.json", "/signin", "/signout"

SHOWN = frozenset({PAGE, DATA})
"""What a session shows, as a key does."""

DOORS = frozenset({IN, OUT})
"""What is reached without a key, to show one or to forget it."""


def sessions_of(signing: bytes, key: str | None) -> Sessions:
    """The sessions of a gateway: they end with its one key, where there is one."""
    return Sessions(key=hmac.digest(signing, b"perdure: sessions " + (key or "").encode(), sha256))


async def signed_in(sessions: Sessions, keys: KeyStore, headers: Mapping[str, str], now: float) -> Caller | None:
    """Who signed in, as long as the key lives.

    Raises:
        StoreUnreachable: nobody knows.
    """
    named = sessions.named(headers, now)
    return None if named is None else await keys.holder(named)


async def key_shown(keys: KeyStore, arrived: Arrived) -> Caller | None:
    """Whose key a browser shows.

    Raises:
        CallRefused: another site sent this.
        StoreUnreachable: nobody knows.
    """
    _check(arrived)
    return await keys.caller({OWN_HEADER: shown_key(arrived.body)})


def went_in(sessions: Sessions, caller: Caller, now: float, *, secure: bool) -> Reply:
    """To the page, with a session."""
    return Reply(status=303, headers={"location": PAGE, "set-cookie": sessions.cookie(caller.key, now, secure=secure)})


def went_out(arrived: Arrived, *, secure: bool) -> Reply:
    """To the page, without one.

    Raises:
        CallRefused: another site sent this.
    """
    _check(arrived)
    return Reply(status=303, headers={"location": PAGE, "set-cookie": ended(secure=secure)})


def is_browser(headers: Mapping[str, str]) -> bool:
    """Whether a page is wanted, and not what a program reads."""
    return "text/html" in headers.get("accept", "")


async def shown(arrived: Arrived, caller: Caller, state: StateStore, now: float) -> Reply:
    """The status of the caller's conversations, for people or for programs.

    Raises:
        StoreUnreachable: the store does not answer.
    """
    if arrived.path == PAGE and not is_browser(arrived.headers):
        return json_reply({"status": "ok"})
    owner = caller.principal
    told = tuple(told_of(record, now) for record in await state.newest(owner, MOST))
    status = Status(tenant=owner.tenant, user=owner.user, now=now, told=told)
    if arrived.path == DATA:
        return json_reply(status_json(status), headers={"cache-control": "no-store"})
    return status_page(status, stays="stay=1" in arrived.query, leaves="cookie" in arrived.headers)


def turned_away(wrong: str = "", *, status: int = 401) -> Reply:
    """The way in, for who has not come in."""
    return way_in(wrong, status=status)


def _check(arrived: Arrived) -> None:
    if arrived.method != "POST":
        raise CallRefused("this is to be called with POST", status=405)
    if not from_own_page(arrived.headers):
        raise CallRefused("another site's page asked for this", status=403)
