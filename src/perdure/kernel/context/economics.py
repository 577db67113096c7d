"""What an edit costs, what it brings, and how large a history should grow before the next checkpoint.

It knows prices in units of one uncached input token. It must never know a transcript.
"""

from __future__ import annotations

from math import sqrt

from perdure.kernel.context.results import Price
from perdure.kernel.models import ModelProfile

AUTO_LEAST, AUTO_MOST = 40_000, 100_000
"""Bounds of the growth that `fold="auto"` chooses, in tokens. Simulated on 124 recorded sessions, the best fixed growth
lay between them for every price of reading from 0.025 to 0.1."""

SUMMARY_TOKENS = 2_000
"""Tokens of a narrative that a model writes; harnesses bound it between 1,500 and 6,000."""


def cache_life(profile: ModelProfile) -> float:
    """Seconds that the history's cache entries live: the shortest life on offer; 0 where nothing is cached."""
    return float(profile.cache.lives[0].seconds) if profile.cache.lives else 0.0


def is_cold(profile: ModelProfile, idle: float | None) -> bool:
    """Whether the provider has lost the prefix. Where the pause is not known it is taken to be warm."""
    return idle is not None and idle > cache_life(profile)


def price_of(profile: ModelProfile, *, rewritten: int, saved: int, cold: bool, asked: int = 0) -> Price:
    """The price of an edit.

    Args:
        profile: The model, for its multipliers.
        rewritten: Tokens that stand behind the first change.
        saved: Tokens that each further request no longer carries.
        cold: Whether the prefix must be written again anyway.
        asked: Tokens that a model read to write a narrative; 0 where none was asked.
    """
    read = profile.cache.read
    write = profile.cache.write_multiplier(0) if profile.cache.lives else 1.0
    model = 0.0
    if asked:
        model = asked * (write if cold else read) + SUMMARY_TOKENS * output_units(profile)
    return Price(
        rewritten=rewritten,
        cost=0.0 if cold else rewritten * max(0.0, write - read),
        saving=saved * read,
        model=model,
    )


def output_units(profile: ModelProfile) -> float:
    """The price of a token of output, in input tokens. Without known prices 5, which Claude models share."""
    prices = profile.prices
    return prices.output / prices.input if prices is not None and prices.input > 0 else 5.0


def best_growth(profile: ModelProfile, *, context: int, kept: int, per_request: int) -> int:
    """Tokens of history after which the next checkpoint pays, between `AUTO_LEAST` and `AUTO_MOST`.

    A checkpoint costs F units: its model reads the context and writes, and what is kept is written again. Reading the
    history costs r units a token and request, and each request adds d tokens; the sum of both is least at a growth of
    sqrt(2 F d / r).

    Args:
        profile: The model, for its prices.
        context: Tokens that the model reads to write the narrative.
        kept: Tokens of the new view behind the fixed overhead: checkpoint and tail.
        per_request: Tokens that a request adds to the history.
    """
    read = max(profile.cache.read, 0.005)
    write = profile.cache.write_multiplier(0) if profile.cache.lives else 1.0
    cost = context * read + SUMMARY_TOKENS * output_units(profile) + kept * write
    return int(min(AUTO_MOST, max(AUTO_LEAST, sqrt(2 * cost * per_request / read))))
