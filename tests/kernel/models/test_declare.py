"""Profiles from settings: what is given holds, what is wrong is refused with the next step."""

from __future__ import annotations

import pytest

from perdure.kernel.errors import InvalidProfile
from perdure.kernel.models import DECLARED_KEYS, CacheLife, Prices, declare, lookup


def test_a_declared_model_is_known_and_has_what_was_given() -> None:
    profile = declare({"id": "lab/coder-32b", "window": 65_536, "max_output": 8_192, "bytes_per_token": 3.4})

    assert (True, 65_536, 8_192, 3.4) == (
        profile.known,
        profile.window.tokens,
        profile.window.max_output,
        profile.tokenizer.bytes_per_token,
    )


def test_what_is_not_given_comes_from_the_model_it_is_like() -> None:
    profile = declare({"id": "proxy-opus", "like": "claude-opus-5-5", "window": 400_000})
    like = lookup("claude-opus-5-5")

    assert 400_000 == profile.window.tokens
    assert (like.cache, like.tokenizer, like.thinking, like.features, like.prices) == (
        profile.cache,
        profile.tokenizer,
        profile.thinking,
        profile.features,
        profile.prices,
    )


def test_prices_that_are_not_given_follow_from_the_multipliers() -> None:
    profile = declare({"id": "m", "dialect": "anthropic", "price_input": 2, "price_output": 8})

    assert Prices(input=2.0, output=8.0, cache_read=0.2, cache_write=2.5, cache_write_long=4.0) == profile.prices


def test_a_read_price_sets_the_read_multiplier() -> None:
    profile = declare({"id": "m", "price_input": 2.0, "price_output": 8.0, "price_cache_read": 0.5})

    assert 0.25 == profile.cache.read


def test_lifetimes_of_the_cache_can_be_declared_or_taken_away() -> None:
    several = declare({"id": "m", "cache_seconds": [600, 7200], "cache_write": [1.0, 1.5]})
    none = declare({"id": "m", "cache_seconds": []})

    assert (CacheLife(seconds=600, write=1.0), CacheLife(seconds=7200, write=1.5)) == several.cache.lives
    assert () == none.cache.lives


def test_rules_of_thinking_and_native_features_can_be_declared() -> None:
    profile = declare(
        {"id": "m", "dialect": "anthropic", "binds_thinking": False, "thinking_kept": "none", "native": ["memory_tool"]}
    )

    assert (False, "none", frozenset({"memory_tool"})) == (
        profile.binds_thinking,
        profile.thinking.kept,
        profile.features.native,
    )


def test_a_misspelt_key_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InvalidProfile, match="'windw': did you mean 'window'"):
        declare({"id": "m", "windw": 1000})


def test_a_key_like_no_other_is_answered_with_all_of_them() -> None:
    with pytest.raises(InvalidProfile) as refused:
        declare({"id": "m", "zzz": 1})

    assert all(key in str(refused.value) for key in DECLARED_KEYS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 0},
        {"window": True},
        {"window": "200k"},
        {"window": 1.5},
        {"max_output": -1},
        {"min_cacheable": -1},
        {"cache_read": -0.1},
        {"cache_read": float("nan")},
        {"cache_read": "cheap"},
        {"cache_seconds": 300},
        {"cache_seconds": [3600, 300]},
        {"cache_seconds": [0]},
        {"bytes_per_token": 0},
        {"bytes_per_token": float("inf")},
        {"binds_thinking": "yes"},
        {"thinking_kept": "some"},
        {"dialect": "gemini"},
        {"like": "no-such-model"},
        {"native": ["telepathy"]},
        {"native": "memory_tool"},
        {"price_input": -1},
    ],
    ids=str,
)
def test_a_value_out_of_its_range_is_refused_by_its_key(wrong: dict[str, object]) -> None:
    (key,) = wrong

    with pytest.raises(InvalidProfile, match=f"'{key}'"):
        declare({"id": "m"} | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 1000},
        {"id": ""},
        {"id": "m", "price_input": 1.0},
        {"id": "m", "cache_seconds": [300], "cache_write": [1.0, 2.0]},
        {"id": "m", "like": "gpt-5", "dialect": "openai"},
    ],
    ids=str,
)
def test_settings_that_contradict_or_lack_something_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidProfile):
        declare(wrong)
