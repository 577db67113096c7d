"""The prompt cache as a model: what of a request it reads, what it writes, and what it holds afterwards.

It knows the providers' rules and pure state. It must never know a clock: the start of each request is an argument.
Sources: Anthropic, prompt caching guide, 2026-08; OpenAI, prompt caching guide, 2026-11. A state is one workspace's;
one value may serve several sessions and models, as the provider's cache does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from perdure.kernel.cache.bill import Bill, Parts, bill
from perdure.kernel.cache.chain import PrefixChain, chain_of, last_markable
from perdure.kernel.messages import Mark, Request
from perdure.kernel.models import CacheRules, ModelProfile
from perdure.kernel.value import value

LIVELY = 128
"""Entries beyond which the dead ones are swept out, each time that `SWEEP` more have come."""

SWEEP = 32

PREFIXES = 32
"""Prefixes that an automatic cache is taken to hold, the newest first: subagents and branches beside the main line."""


@value
class Entry:
    """One prefix that was written at a mark."""

    life: int
    """Seconds it lives from each use on."""
    expires: float
    """Unix seconds."""


@value
class Held:
    """One whole prompt that an automatic cache saw."""

    chain: PrefixChain
    expires: float


@value
class PromptCache:
    """What a provider still holds. `price` gives the next state; this one stays as it is."""

    entries: Mapping[bytes, Entry] = field(default_factory=lambda: MappingProxyType({}))
    """By the hash of their prefix: caches that are written at marks."""
    held: tuple[Held, ...] = ()
    """Newest first: caches that need no marks."""


EMPTY = PromptCache()


def price(
    cache: PromptCache, chain: PrefixChain, marks: Sequence[Mark], now: float, *, output_tokens: int = 0
) -> tuple[Bill, PromptCache]:
    """What a request that starts `now` costs, and the cache behind it.

    The model is that of the chain's head. Marks that stand on no block of the chain do nothing; that they are legal is
    for the validity checker to say.
    """
    profile = chain.head.profile
    if not profile.cache.lives:
        return bill(Parts(fresh=chain.tokens, output=output_tokens), profile), cache
    if profile.dialect == "anthropic":
        parts, after = _marked(cache, chain, marks, now)
    elif profile.cache.max_marks:
        parts, after = _marked(cache, chain, (*marks, *_implicit(chain)), now)
    else:
        parts, after = _automatic(cache, chain, now)
    return bill(replace(parts, output=output_tokens), profile), after


def price_request(cache: PromptCache, request: Request, profile: ModelProfile, now: float) -> tuple[Bill, PromptCache]:
    """What a whole request that starts `now` costs with its own marks, tokens being estimated."""
    chain = chain_of(request, profile)
    return price(cache, chain, marks_of(request, chain), now)


def marks_of(request: Request, chain: PrefixChain) -> tuple[Mark, ...]:
    """The marks of a request, with the one that a top-level `cache_control` sets: on the last block that may carry one
    (Anthropic, prompt caching guide, automatic caching, 2026-08)."""
    automatic = request.params.get("cache_control")
    last = last_markable(chain, len(chain), chain.overhead)
    if not isinstance(automatic, dict) or last is None:
        return request.marks
    mark = chain.mark_at(last, "1h" if automatic.get("ttl") == "1h" else None)
    taken = any(chain.position_of(other) == last for other in request.marks)
    return request.marks if taken else (*request.marks, mark)


def readable(cache: PromptCache, chain: PrefixChain, marks: Sequence[Mark], now: float) -> int:
    """Tokens that the request would read if it started `now`: 0 is a cold cache."""
    return price(cache, chain, marks, now)[0].read


def life_of(mark: Mark, rules: CacheRules) -> int:
    """Seconds that an entry written at this mark lives."""
    wanted = 3_600 if mark.ttl == "1h" else 0
    return next((life.seconds for life in rules.lives if life.seconds >= wanted), rules.lives[-1].seconds)


def _marked(cache: PromptCache, chain: PrefixChain, marks: Sequence[Mark], now: float) -> tuple[Parts, PromptCache]:
    """Each mark looks back for the longest living entry. All up to the longest hit is read; what lies behind it is
    written up to the last mark, for an hour up to the last mark that asks for one. Entries come into being at marks
    alone, and not before the end of what was read."""
    rules = chain.head.profile.cache
    placed = _placed(chain, marks)
    hits = [hit for position in placed if (hit := _look_back(cache, chain, position, now)) is not None]
    entries = dict(cache.entries)
    for position in hits:
        key = chain.hash_at(position)
        life = entries[key].life
        entries[key] = Entry(life=life, expires=now + life)
    end = max(hits, default=-1)
    for position, mark in placed.items():
        if position > end:
            life = life_of(mark, rules)
            entries[chain.hash_at(position)] = Entry(life=life, expires=now + life)
    if len(entries) > LIVELY and len(entries) // SWEEP > len(cache.entries) // SWEEP:
        entries = {key: entry for key, entry in entries.items() if entry.expires > now}
    read = chain.tokens_through(end) if hits else 0
    long = max((chain.tokens_through(at) for at, mark in placed.items() if mark.ttl == "1h"), default=0)
    last = max((chain.tokens_through(at) for at in placed), default=0)
    until_long, until_last = max(read, long), max(read, long, last)
    parts = Parts(
        read=read, written_long=until_long - read, written=until_last - until_long, fresh=chain.tokens - until_last
    )
    return parts, PromptCache(entries=MappingProxyType(entries), held=cache.held)


def _implicit(chain: PrefixChain) -> tuple[Mark, ...]:
    """The mark that OpenAI sets itself, from GPT-5.6 on, where writing is billed: at the end of each prompt."""
    return (chain.mark_at(len(chain) - 1),) if len(chain) else ()


def _placed(chain: PrefixChain, marks: Sequence[Mark]) -> dict[int, Mark]:
    """Marks by position, without those that stand on no block or too early to be cached."""
    least = chain.head.profile.cache.min_tokens
    positions = ((chain.position_of(mark), mark) for mark in marks)
    return {at: mark for at, mark in positions if at is not None and chain.tokens_through(at) >= least}


def _look_back(cache: PromptCache, chain: PrefixChain, position: int, now: float) -> int | None:
    """The nearest living entry at or before a mark; the mark's own position is the first of those searched."""
    lookback = chain.head.profile.cache.lookback or len(chain)
    for place in range(position, max(-1, position - lookback), -1):
        entry = cache.entries.get(chain.hash_at(place))
        if entry is not None and entry.expires > now:
            return place
    return None


def _automatic(cache: PromptCache, chain: PrefixChain, now: float) -> tuple[Parts, PromptCache]:
    """The longest prefix in common with anything held is read, in whole steps; all of the prompt is held afterwards,
    which costs nothing extra.

    Within a block that differs, equal beginnings are not counted: a lower bound, and exact where requests only grow.
    """
    rules = chain.head.profile.cache
    alive = [held for held in cache.held if held.expires > now]
    common = [chain.common(held.chain) for held in alive]
    longest = max(common, default=0)
    read = _in_steps(chain.tokens_through(longest - 1) if longest else 0, rules)
    expires = now + rules.lives[0].seconds
    others = [
        Held(chain=held.chain, expires=max(held.expires, expires)) if shared == longest and read else held
        for held, shared in zip(alive, common, strict=True)
        if shared < len(held.chain)
    ]
    held = (Held(chain=chain, expires=expires), *others)[:PREFIXES]
    return Parts(read=read, fresh=chain.tokens - read), PromptCache(entries=cache.entries, held=held)


def _in_steps(tokens: int, rules: CacheRules) -> int:
    """The part of a prefix that is cached."""
    return tokens // rules.step * rules.step if tokens >= rules.min_tokens else 0
