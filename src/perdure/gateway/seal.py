"""Signatures on compaction blocks: bound to who asked and to every byte of the summary.

It knows keys and text. It must never know a protocol. A block is signed and not encrypted: it holds the words of the
conversation that its owner sent, and goes back to that owner alone.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import field
from hashlib import sha256
from typing import Literal, TypeAlias

from perdure.kernel.value import value
from perdure.memory import Principal

SIGNED = "pdc1."
"""Begins a signature of ours, so that it can be told from a provider's."""

CARRYING = "pdc2."
"""Begins one that carries the text too."""

Purpose: TypeAlias = Literal["threshold", "on_demand", "item"]


@value
class Seal:
    """A key that signs."""

    key: bytes = field(repr=False)

    def sign(self, owner: Principal, purpose: Purpose, text: str) -> str:
        """A signature beside a text."""
        return SIGNED + self._mac(owner, purpose, text)

    def holds(self, owner: Principal, purpose: Purpose, text: str, signature: str) -> bool:
        """Whether a signature was made here, for this owner and this very text."""
        made = self.sign(owner, purpose, text)
        return hmac.compare_digest(made.encode(), signature.encode("utf-8", "replace"))

    def carry(self, owner: Principal, text: str) -> str:
        """A text with its signature, as one opaque word."""
        hidden = base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()
        return f"{CARRYING}{self._mac(owner, 'item', text)}.{hidden}"

    def carried(self, owner: Principal, word: str) -> str | None:
        """The text in such a word; None where it was not made here for this owner."""
        mac, _, hidden = word.removeprefix(CARRYING).partition(".")
        try:
            text = base64.urlsafe_b64decode(hidden.encode()).decode("utf-8", "surrogatepass")
        except ValueError:
            return None
        made = self._mac(owner, "item", text)
        return text if hmac.compare_digest(made.encode(), mac.encode("utf-8", "replace")) else None

    def _mac(self, owner: Principal, purpose: Purpose, text: str) -> str:
        parts = [purpose, owner.tenant, owner.user, text]
        # Lengths stand before the parts, so that no two lists of parts give the same bytes.
        told = b"".join(b"%d:" % len(part) + part for part in (item.encode("utf-8", "surrogatepass") for item in parts))
        return base64.urlsafe_b64encode(hmac.digest(self.key, told, sha256)).decode().rstrip("=")


def is_ours(word: object) -> bool:
    """Whether a signature says that it was made by a gateway like this."""
    return isinstance(word, str) and word.startswith((SIGNED, CARRYING))
