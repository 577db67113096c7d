"""What a peer is: another library that clears old tool results before a request, holding the session in its own types.

It knows the shape that the benchmark calls. It must never import a peer: each has a file of its own, which may fail to
import where the extra `bench` is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

KEPT = 3
"""The newest results that stay, by default of both peers."""

Call: TypeAlias = Callable[[], object]
"""What a peer does before one request leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One way of calling one peer."""

    name: str
    begin: Callable[[int], Call]
    """Begins a session with a trigger in tokens."""
