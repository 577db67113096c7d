"""Handles: the names by which evicted originals are recalled.

It knows how a name is made. It must never know where an original is kept. A name follows from what it names, so that
a resumed or forked session gives the same one without asking anybody.
"""

from __future__ import annotations

from hashlib import sha256

LENGTH = 10
"""Hexadecimal digits of a name: ten thousand originals in one session share one with a chance of 1 in 20,000."""


def handle_of(message_id: str, place: str) -> str:
    """The handle of a place in a message: `result:ID`, `input:ID`, `thinking`, `text:N`, or `through`, all up to it."""
    # The id of a call is the provider's text, and JSON text may hold a lone surrogate.
    return "h" + sha256(f"{message_id}\0{place}".encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]
