"""Sessions of browsers: a cookie that says which key signed in, signed, without the key.

It knows cookies. It must never hold a key, nor keep a session: any replica reads what another wrote, and a key that
ends ends its sessions.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from perdure.kernel.value import value

COOKIE = "perdure_session"

LASTING = 12 * 3_600
"""Seconds of a session."""

LONGEST_FORM = 4_096
"""Bytes of what a browser sends to sign in."""


@value
class Sessions:
    """Signs sessions and knows them again."""

    key: bytes = field(repr=False)

    def cookie(self, key_id: str, now: float, *, secure: bool) -> str:
        """The header that begins a session."""
        until = int(now) + LASTING
        return _cookie(f"{key_id}.{until}.{self._mac(key_id, until)}", LASTING, secure=secure)

    def named(self, headers: Mapping[str, str], now: float) -> str | None:
        """The id of the key that signed in; None where nobody did."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return None
        key_id, _, rest = (found.value if found else "").partition(".")
        until, _, mac = rest.partition(".")
        if not (until.isdecimal() and until.isascii() and len(until) < 12) or int(until) <= now:
            return None
        return key_id if hmac.compare_digest(self._mac(key_id, int(until)).encode(), mac.encode()) else None

    def _mac(self, key_id: str, until: int) -> str:
        return hmac.digest(self.key, f"perdure: session {len(key_id)} {key_id} {until}".encode(), sha256).hex()


def ended(*, secure: bool) -> str:
    """The header that ends a session."""
    return _cookie("", 0, secure=secure)


def shown_key(form: bytes) -> str:
    """The key in what a browser sent; empty where there is none."""
    try:
        fields = parse_qs(form.decode("ascii"), max_num_fields=8, strict_parsing=True)
    except ValueError:
        return ""
    return fields.get("key", [""])[0].strip()


def from_own_page(headers: Mapping[str, str]) -> bool:
    """Whether no other site sent this: else it could sign a visitor in with a key of its own, or out."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host", "")


def _cookie(text: str, seconds: int, *, secure: bool) -> str:
    rest = "; Secure" if secure else ""
    return f"{COOKIE}={text}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{rest}"
