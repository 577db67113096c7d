"""Caches and prices of providers by name, to ask what the same sessions would cost elsewhere.

It knows which rules of a profile a provider's model changes. It must never change a window or a tokenizer: what is
compared is the price of the same requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from perdure.kernel.context import with_window
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.models import CacheLife, CacheRules, ModelProfile, lookup

DEFAULT_MODEL = "claude-sonnet-4-5"
DEFAULT_WINDOW = 200_000
"""Tokens, where neither the option nor the model's profile tells."""


def priced_by(profile: ModelProfile, provider: str) -> ModelProfile:
    """The model with another provider's cache.

    Raises:
        InvalidSetting: no provider of that name.
    """
    if provider not in PROVIDERS:
        raise InvalidSetting(f"no provider model {provider!r}; there are {', '.join(PROVIDERS)}")
    rules = PROVIDERS[provider]()
    prices = profile.prices
    if prices is not None:
        prices = replace(
            prices,
            cache_read=prices.input * rules.read,
            cache_write=prices.input * rules.write_multiplier(0),
            cache_write_long=prices.input * rules.lives[-1].write if len(rules.lives) > 1 else None,
            above=(),
        )
    return replace(profile, cache=rules, prices=prices)


def profile_of(recorded: str | None, model: str | None, window: int | None, provider: str | None) -> ModelProfile:
    """The model to price a recording as; the default where its own is not known."""
    profile = lookup(model or recorded or DEFAULT_MODEL)
    profile = profile if profile.known else lookup(DEFAULT_MODEL)
    if window is not None:
        profile = with_window(profile, window)
    elif profile.window.tokens is None:
        profile = with_window(profile, DEFAULT_WINDOW)
    return profile if provider is None else priced_by(profile, provider)


def _anthropic(read: float = 0.1, *, life: int | None = None) -> CacheRules:
    rules = lookup(DEFAULT_MODEL).cache
    lives = tuple(one for one in rules.lives if life is None or one.seconds == life)
    return replace(rules, read=read, lives=lives)


def _openai_billed() -> CacheRules:
    """From GPT-5.6 on: writes cost a quarter more, live half an hour, and stand at marks (OpenAI, prompt caching guide,
    2026-11)."""
    return replace(lookup("gpt-5").cache, lives=(CacheLife(seconds=1_800, write=1.25),), max_marks=4)


PROVIDERS: Mapping[str, Callable[[], CacheRules]] = {
    "anthropic-5m": _anthropic,
    "anthropic-1h": lambda: _anthropic(life=3_600),
    "anthropic-5m-0.05": lambda: _anthropic(0.05),
    "anthropic-1h-0.05": lambda: _anthropic(0.05, life=3_600),
    "anthropic-5m-0.025": lambda: _anthropic(0.025),
    "anthropic-1h-0.025": lambda: _anthropic(0.025, life=3_600),
    "openai": lambda: lookup("gpt-5").cache,
    "openai-billed-writes": _openai_billed,
    "gemini": lambda: lookup("gemini-2.5-pro").cache,
    "deepseek": lambda: lookup("deepseek-chat").cache,
    "none": lambda: replace(lookup(DEFAULT_MODEL).cache, lives=()),
}
"""Anthropic with history cached for five minutes or an hour (tools and system blocks for an hour in both) and reads at
a tenth, a twentieth or a fortieth; OpenAI before and since writes are billed; implicit caches; none, as with a local
server, where tokens cost seconds of prefill and no money."""
