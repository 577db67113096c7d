"""OpenAI's prompt cache, kept by the double's own clock.

It knows token prefixes. It must never know `perdure.kernel.cache`. Prompts of 1,024 tokens or more are cached by
themselves, in steps of 128 tokens (seen in every recorded session), on the machine that the first 256 tokens and
`prompt_cache_key` lead to (OpenAI, prompt caching guide, 2026). From 5.6 on prefixes end at breakpoints and are billed.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable

from perdure.kernel.value import value

MINIMUM = 1_024
STEP = 128
ROUTED_BY = 256
"""Tokens at the start of a prompt that choose the machine."""

MATCHED_BREAKPOINTS = 80


@value
class Tokens:
    """A prompt as tokens, and where prefixes of it may end."""

    tokens: tuple[int, ...]
    breakpoints: tuple[int, ...] | None = None
    """Token positions, for models that cache at breakpoints; None: steps."""


@value
class Cached:
    """What the cache did for one request."""

    read: int
    written: int
    """Tokens written and billed; 0 where writing is free."""


class PromptCache:
    """Prefixes that were seen, by machine."""

    def __init__(self) -> None:
        self._machines: dict[str, dict[int, dict[bytes, float]]] = {}

    def use(self, route: str, prompt: Tokens, lifetime: float, now: float) -> Cached:
        """Look a prompt up and keep it for `lifetime` seconds from `now`."""
        first = array("I", prompt.tokens[:ROUTED_BY]).tobytes()
        machine = self._machines.setdefault(hashlib.sha256(route.encode() + first).hexdigest(), {})
        size = len(prompt.tokens)
        own = range(MINIMUM, size + 1, STEP) if prompt.breakpoints is None else prompt.breakpoints
        known = own if prompt.breakpoints is None else sorted(machine)[-MATCHED_BREAKPOINTS:]
        hashes = _hashes(prompt.tokens, {*own, *known})
        hits = [n for n in known if n <= size and machine.get(n, {}).get(hashes[n], 0.0) > now]
        read = max(hits, default=0)
        for position in {*hits, *(n for n in own if MINIMUM <= n <= size)}:
            machine.setdefault(position, {})[hashes[position]] = now + lifetime
        written = 0
        if prompt.breakpoints is not None:
            written = max(0, max((n for n in own if n >= MINIMUM), default=0) - read)
        return Cached(read=read, written=written)


def _hashes(tokens: tuple[int, ...], positions: Iterable[int]) -> dict[int, bytes]:
    running = hashlib.sha256()
    hashes: dict[int, bytes] = {}
    start = 0
    for position in sorted(n for n in positions if n <= len(tokens)):
        running.update(array("I", tokens[start:position]).tobytes())
        start = position
        hashes[position] = running.digest()
    return hashes
