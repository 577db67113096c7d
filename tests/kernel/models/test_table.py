"""The facts in the table agree with what providers publish, and with one another."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.models import PROFILES, CacheLife, ModelProfile, Prices, PriceTier, lookup
from perdure.kernel.models._generated_prices import PRICES, VERSION
from perdure.kernel.models.table import ALIASES, HAND_PRICES, ROWS

SCRIPT = Path(__file__).parents[3] / "scripts" / "prices.py"

every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)

NOT_BINDING = {"claude-mythos-5-1"}
"""Mythos 5.1 came after Fable 5.1 and does not check the prefix (Anthropic, preserved thinking, 2026-10)."""


def _version_of(claude: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", claude)) or (0,)


@every_profile
def test_a_row_names_its_source_and_date(profile: ModelProfile) -> None:
    assert profile.source.text
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", profile.source.date)


@every_profile
def test_limits_can_be_kept(profile: ModelProfile) -> None:
    assert profile.window.tokens
    assert (profile.window.max_output or 1) <= profile.window.tokens
    assert sorted(profile.cache.lives, key=lambda life: life.seconds) == list(profile.cache.lives)


def test_no_two_rows_have_the_same_id() -> None:
    assert len(ROWS) == len({row.id for row in ROWS}) == len(PROFILES)


def test_every_alias_leads_to_a_row_and_hides_none() -> None:
    ids = {row.id for row in ROWS}

    assert set(ALIASES.values()) <= ids
    assert not ids & set(ALIASES)


@every_profile
def test_read_and_write_prices_are_the_cache_multipliers(profile: ModelProfile) -> None:
    tiers = () if profile.prices is None else (profile.prices, *(tier.prices for tier in profile.prices.above))
    for prices in tiers:
        assert pytest.approx(profile.cache.read, rel=0.01) == prices.cache_read / prices.input
        assert pytest.approx(profile.cache.write_multiplier(0), rel=0.01) == prices.cache_write / prices.input
        if prices.cache_write_long is not None:
            assert pytest.approx(profile.cache.lives[-1].write, rel=0.01) == prices.cache_write_long / prices.input


def test_a_model_without_a_price_is_named_here() -> None:
    unpriced = {profile.id for profile in PROFILES if profile.prices is None}
    served_by_anybody = {"gpt-oss", "qwen3-coder", "llama-3.3", "llama-4-maverick", "devstral"}

    assert served_by_anybody | {"gpt-5.3-codex-spark", "gpt-6.2-astra", "gpt-6.2-sol"} == unpriced


def test_prices_are_what_the_installed_package_says() -> None:
    checked = subprocess.run([sys.executable, SCRIPT], check=False, timeout=60)

    assert version("genai-prices") != VERSION or checked.returncode == 0


def test_prices_are_written_by_hand_only_where_the_package_has_none() -> None:
    assert not set(HAND_PRICES) & set(PRICES)
    assert all(source.text and source.date for _, source in HAND_PRICES.values())


@pytest.mark.parametrize(
    ("minimum", "names"),
    [
        (512, "opus-5 opus-5-5 fable-5 fable-5-1 mythos-5 mythos-5-1 sonnet-5-5"),
        (1024, "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5 opus-4-1 opus-4 sonnet-4"),
        (2048, "opus-4-7 mythos-preview 3-5-haiku"),
        (4096, "opus-4-6 opus-4-5 haiku-4-5"),
    ],
)
def test_claude_caches_from_the_published_minimum_on(minimum: int, names: str) -> None:
    assert {minimum} == {lookup(f"claude-{name}").cache.min_tokens for name in names.split()}


@pytest.mark.parametrize(
    ("read", "names"),
    [(0.1, "opus-5 sonnet-5 fable-5 haiku-5-5"), (0.05, "opus-5-5 sonnet-5-5"), (0.025, "fable-5-1 mythos-5-1")],
)
def test_claude_reads_cost_the_published_part_of_the_input_price(read: float, names: str) -> None:
    assert {read} == {lookup(f"claude-{name}").cache.read for name in names.split()}


def test_thinking_is_bound_from_the_5_1_generation_on() -> None:
    claudes = [profile for profile in PROFILES if profile.family == "claude"]
    bound = {profile.id for profile in claudes if _version_of(profile.id) >= (5, 1)} - NOT_BINDING

    assert bound == {profile.id for profile in PROFILES if profile.binds_thinking}
    assert bound == {profile.id for profile in claudes if profile.offers("drop_block")}


def test_only_the_last_turns_thinking_is_kept_on_the_models_that_say_so() -> None:
    names = "claude-3-7-sonnet claude-opus-4 claude-opus-4-1 claude-sonnet-4 claude-sonnet-4-5 claude-haiku-4-5"
    kept = {profile.id for profile in PROFILES if profile.family == "claude" and profile.thinking.kept == "last_turn"}

    assert set(names.split()) == kept


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("claude-sonnet-4-5", {"adaptive"}),
        ("claude-opus-4-6", set[str]()),
        ("claude-opus-4-7", {"enabled"}),
        ("claude-opus-5", {"enabled"}),
        ("claude-fable-5", {"enabled", "disabled"}),
        ("claude-opus-5-5", {"enabled", "disabled"}),
    ],
)
def test_forms_of_thinking_that_a_model_refuses(name: str, refused: set[str]) -> None:
    assert refused == lookup(name).thinking.refused


def test_a_claude_from_4_6_on_takes_no_prefill() -> None:
    taking = {profile.id for profile in PROFILES if profile.family == "claude" and profile.features.prefill}

    assert {
        profile.id
        for profile in PROFILES
        if profile.family == "claude" and "preview" not in profile.id and _version_of(profile.id) < (4, 6)
    } == taking


def test_a_forced_tool_is_refused_by_opus_5_5() -> None:
    assert (False, True) == tuple(lookup(f"claude-{name}").features.forced_tool for name in ("opus-5-5", "opus-5"))


def test_the_window_of_gpt_is_its_limit_on_input() -> None:
    assert (272_000, 922_000) == (lookup("gpt-5").window.tokens, lookup("gpt-5.4").window.tokens)


def test_a_write_costs_the_price_of_a_life_that_is_long_enough() -> None:
    cache = lookup("claude-opus-5").cache

    assert [1.25, 1.25, 2.0, 2.0] == [cache.write_multiplier(seconds) for seconds in (0, 300, 301, 7200)]
    assert 1.0 == lookup("gpt-5-pro").cache.write_multiplier(300)
    assert (CacheLife(seconds=1800, write=1.25),) == lookup("gpt-5.6-sol").cache.lives


@given(prompt=st.integers(0, 2_000_000))
def test_a_longer_prompt_is_billed_whole_by_the_higher_tier(prompt: int) -> None:
    high = Prices(input=5.0, output=9.0, cache_read=0.5, cache_write=6.25)
    low = Prices(
        input=1.0, output=2.0, cache_read=0.1, cache_write=1.25, above=(PriceTier(start=100_000, prices=high),)
    )

    assert (high if prompt > 100_000 else low) == low.at(prompt)
