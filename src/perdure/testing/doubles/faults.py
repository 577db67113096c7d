"""What can go wrong between a provider and a client, on demand.

It knows failures by name. It must never know a provider's words for them: each double says them in its own.
Where time would pass, a callable is called instead, so that nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from perdure.kernel.value import value


@value
class Overloaded:
    """529 from Anthropic, 503 from OpenAI, before anything is sampled."""


@value
class RateLimited:
    """429."""

    retry_after: int | None = 1
    """Seconds in the `retry-after` header. None: no header, as for a spending cap, which no retry cures."""


@value
class ServerError:
    """500."""


@value
class CompactionUnavailable:
    """529 with the code `compaction_unavailable`; Anthropic only."""


@value
class ErrorInStream:
    """A stream that begins well and ends with an error event. Without streaming: a plain 5xx."""

    after: int = 2
    """Events sent before it."""


@value
class Cut:
    """The connection closes in the middle of the answer. Over a socket only: in process there is none to close."""

    after: int = 2
    """Events sent before; half of the body is, without streaming."""


@value
class Slow:
    """A long silence before the answer."""

    wait: Callable[[], object]
    """Called where the time would pass, for instance to jump the double's clock. Blocking stops the server."""
    pings: int = 3
    """Keep-alives sent before the first event of a stream, where the provider has them."""


Fault: TypeAlias = "Overloaded | RateLimited | ServerError | CompactionUnavailable | ErrorInStream | Cut | Slow"
