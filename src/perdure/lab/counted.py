"""A request at the size that the provider counted: what an estimate says of each block, made to add up to that count.

It knows chains and one count for each. It must never know what was read from a cache.
"""

from __future__ import annotations

from perdure.kernel.cache import PrefixChain

FAR = 3.0
"""By which an estimate of what is new is off at most; beyond, what was known before cannot have been right."""


def as_counted(chain: PrefixChain, before: PrefixChain | None, tokens: int) -> PrefixChain:
    """The chain, sized so that all of it is `tokens` tokens.

    What it has in common with the chain before keeps the sizes that were counted there; the rest takes what is left,
    each block its share by the estimate.
    """
    ends = [chain.tokens_through(place) for place in range(len(chain))]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    known = chain.common(before) if before is not None else 0
    held = ends[known - 1] if known else 0
    estimated = sum(sizes[known:])
    if not estimated or not estimated / FAR <= tokens - held <= estimated * FAR:
        known, held, estimated = 0, 0, sum(sizes)
    if not estimated:
        return chain
    whole = [*ends[:known], *(held + (end - held) * (tokens - held) // estimated for end in ends[known:])]
    return chain.counted([end - start for start, end in zip([0, *whole], whole, strict=False)])
