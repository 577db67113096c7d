"""From a user's settings to a profile.

Knows the plain keys that settings use, and checks each value. Must never read a file: a mapping is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar, cast, get_args

from perdure.kernel.errors import InvalidProfile
from perdure.kernel.models.lookup import lookup, unknown
from perdure.kernel.models.profile import (
    CacheLife,
    CacheRules,
    Dialect,
    Features,
    ModelProfile,
    NativeFeature,
    Prices,
    Source,
    ThinkingKept,
    ThinkingRules,
    Tokenizer,
    Window,
)
from perdure.kernel.value import record

_Choice = TypeVar("_Choice", bound=str)

KEYS: Mapping[str, str] = {
    "id": "the model's name as requests carry it",
    "like": "a model of the table whose facts hold unless another key says otherwise",
    "dialect": "`anthropic` or `openai`; without `like` only",
    "window": "tokens that a request may fill",
    "max_output": "tokens of the longest response",
    "min_cacheable": "tokens below which a prefix is not cached",
    "cache_seconds": "lifetimes of cache entries in seconds, shortest first; an empty list: no cache",
    "cache_write": "price of a write per lifetime, in units of an input token; as many as `cache_seconds`",
    "cache_read": "price of a read, in units of an input token",
    "bytes_per_token": "UTF-8 bytes of code and prose per token",
    "tokens_per_wide": "tokens per CJK character",
    "binds_thinking": "whether a thinking block's signature covers all bytes before it",
    "thinking_kept": "`all`, `last_turn` or `none`",
    "native": "names of what the provider does itself",
    "price_input": "USD per million tokens",
    "price_output": "USD per million tokens",
    "price_cache_read": "USD per million tokens; default: input times `cache_read`",
    "price_cache_write": "USD per million tokens, shortest life; default: input times `cache_write`",
}
"""Every key that `declare` accepts, and what it means."""


def declare(settings: Mapping[str, object]) -> ModelProfile:
    """A profile from plain keys (`KEYS`), for `lookup(..., declared=[...])`.

    What is not given comes from the model named by `like`, or else from the safe default for unknown models.
    Raises `InvalidProfile` for an unknown key, a wrong type, or a number out of its range.
    """
    given = _Given(settings)
    given.refuse_unknown_keys()
    start = _starting_point(given)
    cache = _cache(given, start.cache)
    return replace(
        start,
        id=given.id,
        window=Window(
            tokens=given.integer("window", start.window.tokens, least=1),
            max_output=given.integer("max_output", start.window.max_output, least=1),
        ),
        cache=cache,
        tokenizer=_tokenizer(given, start.tokenizer),
        thinking=_thinking(given, start.thinking),
        features=_features(given, start.features),
        prices=_prices(given, start.prices, cache),
        source=Source(text="declared in the settings", date=""),
        known=True,
    )


@record(frozen=True)
class _Given:
    """The settings of one model, read with checks; each reader returns its default where the key is absent."""

    settings: Mapping[str, object]

    @property
    def id(self) -> str:
        name = self.text("id")
        if not name:
            raise InvalidProfile("a declared model needs an `id`: the model's name as requests carry it")
        return name

    def refuse_unknown_keys(self) -> None:
        for key in self.settings:
            if key not in KEYS:
                near = get_close_matches(key, KEYS, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(KEYS)}"
                raise InvalidProfile(f"the declared model has an unknown key {key!r}: {hint}")

    def text(self, key: str) -> str | None:
        value = self.settings.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(key, "a string")

    def integer(self, key: str, default: int | None, *, least: int) -> int | None:
        value = self.settings.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, f"a whole number from {least} on")
        return value

    def number(self, key: str, *, above: float) -> float | None:
        value = self.settings.get(key)
        return None if value is None else self._finite(key, value, above)

    def numbers(self, key: str, *, above: float) -> tuple[float, ...] | None:
        value = self.items(key)
        return None if value is None else tuple(self._finite(key, item, above) for item in value)

    def items(self, key: str) -> Sequence[object] | None:
        value = self.settings.get(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.wrong(key, "a list")
        return cast("Sequence[object]", value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.settings.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def wrong(self, key: str, wanted: str) -> InvalidProfile:
        return InvalidProfile(
            f"{key!r} of a declared model must be {wanted} ({KEYS[key]}); it is {self.settings[key]!r}"
        )

    def _finite(self, key: str, value: object, above: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < above:
            raise self.wrong(key, f"finite, and at least {above:g}")
        return float(value)


def _one_of(given: _Given, key: str, choices: tuple[_Choice, ...]) -> _Choice | None:
    text = given.text(key)
    if text is None:
        return None
    found = next((choice for choice in choices if choice == text), None)
    if found is None:
        raise given.wrong(key, "one of " + ", ".join(choices))
    return found


def _starting_point(given: _Given) -> ModelProfile:
    like = given.text("like")
    dialects: tuple[Dialect, ...] = get_args(Dialect)
    dialect: Dialect | None = _one_of(given, "dialect", dialects)
    if like is None:
        return unknown(given.id, dialect)
    if dialect is not None:
        raise InvalidProfile("a declared model has both `like` and `dialect`: leave `dialect` out, `like` brings it")
    found = lookup(like)
    if not found.known:
        raise given.wrong("like", "a model that the table has")
    return found


def _cache(given: _Given, start: CacheRules) -> CacheRules:
    read = given.number("cache_read", above=0.0)
    plain, price = given.number("price_input", above=0.0), given.number("price_cache_read", above=0.0)
    if read is None and plain and price is not None:
        read = price / plain
    return replace(
        start,
        min_tokens=given.integer("min_cacheable", start.min_tokens, least=0) or 0,
        lives=_lives(given, start.lives),
        read=start.read if read is None else read,
    )


def _lives(given: _Given, start: tuple[CacheLife, ...]) -> tuple[CacheLife, ...]:
    seconds, writes = given.numbers("cache_seconds", above=1.0), given.numbers("cache_write", above=0.0)
    if seconds is None and writes is None:
        return start
    if seconds is None:
        seconds = tuple(float(life.seconds) for life in start)
    if writes is None:
        writes = (1.0,) * len(seconds)
    if len(seconds) != len(writes):
        raise InvalidProfile(
            f"`cache_seconds` has {len(seconds)} lifetimes and `cache_write` {len(writes)} prices: give as many"
        )
    if list(seconds) != sorted(set(seconds)):
        raise given.wrong("cache_seconds", "a rising list of seconds")
    return tuple(CacheLife(seconds=int(life), write=write) for life, write in zip(seconds, writes, strict=True))


def _tokenizer(given: _Given, start: Tokenizer) -> Tokenizer:
    ratio, wide = given.number("bytes_per_token", above=0.5), given.number("tokens_per_wide", above=0.1)
    return replace(
        start,
        bytes_per_token=start.bytes_per_token if ratio is None else ratio,
        tokens_per_wide=start.tokens_per_wide if wide is None else wide,
    )


def _thinking(given: _Given, start: ThinkingRules) -> ThinkingRules:
    kept_choices: tuple[ThinkingKept, ...] = get_args(ThinkingKept)
    return replace(
        start,
        binds=given.flag("binds_thinking", start.binds),
        kept=_one_of(given, "thinking_kept", kept_choices) or start.kept,
    )


def _features(given: _Given, start: Features) -> Features:
    names = given.items("native")
    if names is None:
        return start
    offered: tuple[NativeFeature, ...] = get_args(NativeFeature)
    native = frozenset(feature for feature in offered if feature in names)
    if len(native) != len(set(names)):
        raise given.wrong("native", "a list of " + ", ".join(offered))
    return replace(start, native=native)


def _prices(given: _Given, start: Prices | None, cache: CacheRules) -> Prices | None:
    """Prices of the settings; without any, those of `like`, which then hold for its cache rules too."""
    names = ("price_input", "price_output", "price_cache_read", "price_cache_write")
    plain, output, read, write = (given.number(name, above=0.0) for name in names)
    if plain is None and output is None and read is None and write is None:
        return start
    if plain is None or output is None:
        raise InvalidProfile("a declared model with prices needs both `price_input` and `price_output`")
    return Prices(
        input=plain,
        output=output,
        cache_read=plain * cache.read if read is None else read,
        cache_write=plain * cache.write_multiplier(0) if write is None else write,
        cache_write_long=plain * cache.lives[-1].write if len(cache.lives) > 1 else None,
    )
