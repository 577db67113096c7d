"""What can go wrong between a provider and a client, on demand.

It knows failures by name. It must never know a provider's words for them: each double says them in its own.
Where time would pass, a callable is called instead, so that nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Overloaded:
    """529 from Anthropic, 503 from OpenAI, before anything is sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimited:
    """429."""

    retry_after: int | None = 1
    """Seconds in the `retry-after` header. None: no header, as for a spending cap, which no retry cures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerError:
    """500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUnavailable:
    """529 with the code `compaction_unavailable`; Anthropic only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInStream:
    """A stream that begins well and ends with an error event. Without streaming: a plain 5xx."""

    after: int = 2
    """Events sent before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The connection closes in the middle of the answer. Over a socket only: in process there is none to close."""

    after: int = 2
    """Events sent before; half of the body is, without streaming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """A long silence before the answer."""

    wait: Callable[[], object]
    """Called where the time would pass, for instance to jump the double's clock. Blocking stops the server."""
    pings: int = 3
    """Keep-alives sent before the first event of a stream, where the provider has them."""


Fault: TypeAlias = "Overloaded | RateLimited | ServerError | CompactionUnavailable | ErrorInStream | Cut | Slow"
