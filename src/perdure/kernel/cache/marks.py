"""Where the marks of a request go.

It knows the parts of a request by their rate of change. It must never know what the cache holds: marks follow from the
request, the end of what no later edit can change, and where the last request ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.cache.chain import PrefixChain, last_markable
from perdure.kernel.messages import Mark, Ttl

REACH = 18
"""Blocks that may come between two requests before the lookback from the rolling mark could miss where the last one
stood. Anthropic looks back over 20 positions, of which the mark itself is the first; one more is kept spare."""


def plan_marks(
    chain: PrefixChain, static: Sequence[bool], *, frontier: int | None, previous: Mark | None
) -> tuple[Mark, ...]:
    """The marks of a request, in prefix order; none for a provider that sets them itself.

    `static` says for each system block whether it stays for the session: the first of them and the last one before any
    that changes are marked, for the long life where one is offered; without such blocks the last tool is. `frontier` is
    the index of the last message that no later edit can change. `previous` is the rolling mark of the last request,
    None after a change of the prefix: where more than `REACH` blocks came since, it is marked again, before the
    frontier is. The rolling mark stands on the last block that may carry one. Places before the model's minimum get no
    mark.
    """
    rules = chain.head.profile.cache
    if chain.head.profile.dialect != "anthropic" or not rules.lives:
        return ()
    first, last = _static_ends(chain, static)
    rolling = last_markable(chain, len(chain), chain.overhead)
    before = chain.position_of(previous) if previous is not None else None
    left_behind = before is not None and rolling is not None and rolling - before > REACH
    wanted = [rolling, before if left_behind else None, last, first, _frontier(chain, frontier)]
    possible = [place for place in wanted if place is not None and _worth_it(chain, place)]
    chosen = sorted(dict.fromkeys(possible))
    if len(chosen) > rules.max_marks:
        chosen = sorted(list(dict.fromkeys(possible))[: rules.max_marks])
    long: Ttl | None = "1h" if any(life.seconds >= 3_600 for life in rules.lives[1:]) else None
    return tuple(chain.mark_at(place, long if place in {first, last} else None) for place in chosen)


def rolling_mark(marks: Sequence[Mark]) -> Mark | None:
    """The mark among the planned ones that the next plan needs as `previous`."""
    return marks[-1] if marks and marks[-1].part == "messages" else None


def _static_ends(chain: PrefixChain, static: Sequence[bool]) -> tuple[int | None, int | None]:
    """The first and the last static system block, up to the first that is not; the last tool where there is none."""
    start = chain.overhead - len(chain.head.system)
    steady = next((index for index, stays in enumerate(static) if not stays), len(static))
    last = last_markable(chain, min(start + steady, chain.overhead), 0)
    if last is None or last < start:
        return None, last
    return next(place for place in range(start, last + 1) if chain.markable(place)), last


def _frontier(chain: PrefixChain, frontier: int | None) -> int | None:
    if frontier is None or frontier < 0:
        return None
    return last_markable(chain, chain.message_end(min(frontier, chain.messages - 1)), chain.overhead)


def _worth_it(chain: PrefixChain, place: int) -> bool:
    return chain.tokens_through(place) >= chain.head.profile.cache.min_tokens
