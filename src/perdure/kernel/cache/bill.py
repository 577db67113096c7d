"""What a request costs: its tokens by the price that each is billed at.

It knows prices and parts. It must never know why a token was read or written: `price` does.
"""

from __future__ import annotations

from perdure.kernel.messages import Usage
from perdure.kernel.models import CacheRules, ModelProfile, Prices
from perdure.kernel.value import value


@value
class Bill:
    """The tokens of one request by price, and what they come to. Parts add up to the whole prompt."""

    read: int
    """Tokens read from the cache."""
    written: int
    """Tokens written to the cache for its shortest life (Anthropic: five minutes)."""
    written_long: int
    """Tokens written for its longest life (Anthropic: one hour)."""
    fresh: int
    """Tokens neither read nor written."""
    output: int
    units: float
    """The price of all this in units of one fresh input token; output counts where its price is known."""
    usd: float | None
    """The price in USD; None where nobody publishes the model's prices."""

    @property
    def prompt_tokens(self) -> int:
        """The whole request."""
        return self.read + self.written + self.written_long + self.fresh


@value
class Parts:
    """The tokens of a prompt by how each is billed, and of its answer."""

    read: int = 0
    written: int = 0
    written_long: int = 0
    fresh: int = 0
    output: int = 0


def bill(parts: Parts, profile: ModelProfile) -> Bill:
    """What these tokens cost with this model."""
    return Bill(
        read=parts.read,
        written=parts.written,
        written_long=parts.written_long,
        fresh=parts.fresh,
        output=parts.output,
        units=_units(parts, profile),
        usd=None if profile.prices is None else _usd(parts, profile.prices, profile.cache),
    )


def bill_of(usage: Usage, profile: ModelProfile) -> Bill:
    """What a response cost, by the provider's own count."""
    parts = Parts(
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens - usage.cache_write_1h_tokens,
        written_long=usage.cache_write_1h_tokens,
        fresh=usage.input_tokens,
        output=usage.output_tokens,
    )
    return bill(parts, profile)


def _units(parts: Parts, profile: ModelProfile) -> float:
    rules, prices = profile.cache, profile.prices
    short, long = _write_multipliers(rules)
    output = prices.output / prices.input if prices is not None and prices.input else 0.0
    return (
        parts.fresh
        + parts.read * rules.read
        + parts.written * short
        + parts.written_long * long
        + parts.output * output
    )


def _usd(parts: Parts, prices: Prices, rules: CacheRules) -> float:
    """By the tier that the whole prompt reaches: a long prompt's every token costs more."""
    tier = prices.at(parts.read + parts.written + parts.written_long + parts.fresh)
    long = tier.cache_write_long if tier.cache_write_long is not None else tier.input * _write_multipliers(rules)[1]
    millions = (
        parts.fresh * tier.input
        + parts.read * tier.cache_read
        + parts.written * tier.cache_write
        + parts.written_long * long
        + parts.output * tier.output
    )
    return millions / 1_000_000


def _write_multipliers(rules: CacheRules) -> tuple[float, float]:
    return (rules.lives[0].write, rules.lives[-1].write) if rules.lives else (1.0, 1.0)
