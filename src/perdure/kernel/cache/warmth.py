"""Whether the provider still holds the prefix of the last request.

It knows times. It must never know entries: `price` does, for whoever has them.
"""

from __future__ import annotations


def warmth(last_start: float | None, now: float, life: float) -> float:
    """Seconds for which the prefix stays warm; 0.0: it is cold.

    `last_start` is when the last request started (Unix seconds; None: there was none), `life` the seconds that its
    entry lives. Lives count from the start of a request, so that a long answer uses them up.
    """
    if last_start is None:
        return 0.0
    return max(0.0, last_start + life - now)
