"""Names find their models, and never another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.models import PROFILES, ModelProfile, declare, lookup

profiles = st.sampled_from(PROFILES)
closed_profiles = st.sampled_from([profile for profile in PROFILES if profile.family != "open"])


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("global.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("vertex_ai/claude-opus-4-6@default", "claude-opus-4-6"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-3-opus-20240229", "claude-3-opus"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("CLAUDE-OPUS-5-5", "claude-opus-5-5"),
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("claude-sonnet-4-5-thinking", "claude-sonnet-4-5"),
        ("openai/gpt-5-codex", "gpt-5-codex"),
        ("gpt-5.1-codex-max", "gpt-5.1-codex-max"),
        ("gpt-5.3-codex-spark", "gpt-5.3-codex-spark"),
        ("gpt-5-chat-latest", "gpt-5-chat"),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
        ("google/gemini-3-pro-preview", "gemini-3-pro"),
        ("openai/openrouter-llama-4-maverick", "llama-4-maverick"),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "llama-4-maverick"),
        ("qwen3-coder:30b-a3b-q4_K_M", "qwen3-coder"),
        ("gpt-oss:20b", "gpt-oss"),
        ("moonshotai/kimi-k2-0905-preview", "kimi-k2"),
    ],
)
def test_a_decorated_name_finds_its_model(spelling: str, expected: str) -> None:
    profile = lookup(spelling)

    assert (expected, True) == (profile.id, profile.known)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus",
        "claude-opus-4-55",
        "claude-opus-6",
        "gpt-5.7",
        "gpt-5-image",
        "gpt-5.4-chat",
        "gpt-5.2-codex-max",
        "gpt-4o-audio-preview",
        "gpt-5-7b",
        "o3-pro",
        "gemini-3-pro-preview-customtools",
        "default",
        "<synthetic>",
        "",
    ],
)
def test_a_name_that_is_only_like_a_known_one_stays_unknown(name: str) -> None:
    profile = lookup(name)

    assert (name, False) == (profile.id, profile.known)


@given(profile=profiles)
def test_a_model_is_found_by_its_own_id(profile: ModelProfile) -> None:
    assert profile == lookup(profile.id)


@given(
    profile=profiles,
    vendor=st.sampled_from(["", "anthropic/", "openrouter/openai/", "models/", "azure-"]),
    date=st.sampled_from(["", "-20251101", "-2026-04-23", "@20260102"]),
    route=st.sampled_from(["", "-latest", ":free", "-high"]),
    upper=st.booleans(),
)
def test_vendor_date_route_and_case_change_nothing(
    profile: ModelProfile, vendor: str, date: str, route: str, upper: bool
) -> None:
    spelling = f"{vendor}{profile.id}{date}{route}"

    assert profile == lookup(spelling.upper() if upper else spelling)


@given(profile=profiles, version=st.integers(0, 99), joint=st.sampled_from(["", "-", "."]))
def test_a_further_version_number_never_finds_the_same_row(profile: ModelProfile, version: int, joint: str) -> None:
    name = f"{profile.id}{joint}{version}"
    alias_of_itself = name in ("claude-opus-4-0", "claude-sonnet-4-0", "claude-opus-4.0", "claude-sonnet-4.0")

    assert alias_of_itself == (lookup(name).id == profile.id)


@given(
    profile=closed_profiles,
    kind=st.sampled_from(["mini", "nano", "pro", "codex", "image", "audio", "chat", "lite", "spark", "instruct", "7b"]),
)
def test_a_word_that_makes_another_model_never_finds_the_same_row(profile: ModelProfile, kind: str) -> None:
    assert profile.id != lookup(f"{profile.id}-{kind}").id


@given(name=st.text(), dialect=st.sampled_from(["anthropic", "openai", None]))
def test_no_name_raises(name: str, dialect: None) -> None:
    assert isinstance(lookup(name, dialect=dialect), ModelProfile)


def test_an_unknown_model_promises_nothing() -> None:
    profile = lookup("somebody/model-x", dialect="anthropic")

    assert (None, None, None, frozenset[str]()) == (
        profile.window.tokens,
        profile.window.max_output,
        profile.prices,
        profile.features.native,
    )
    assert (True, False, False) == (profile.binds_thinking, profile.features.prefill, profile.features.forced_tool)


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_an_unknown_model_is_counted_as_no_known_tokenizer_undercounts(dialect: str) -> None:
    profile = lookup("model-x", dialect="anthropic" if dialect == "anthropic" else "openai")

    assert min(known.tokenizer.bytes_per_token for known in PROFILES) == profile.tokenizer.bytes_per_token
    assert max(known.tokenizer.tokens_per_wide for known in PROFILES) == profile.tokenizer.tokens_per_wide


def test_an_unknown_model_caches_as_its_dialect_does() -> None:
    assert (4, 0) == (
        lookup("model-x", dialect="anthropic").cache.max_marks,
        lookup("model-x", dialect="openai").cache.max_marks,
    )
    assert "anthropic" == lookup("claude-opus-9").dialect


def test_a_declared_profile_comes_before_the_table() -> None:
    mine = declare({"id": "claude-opus-5", "like": "claude-opus-5", "window": 123_456})

    assert mine == lookup("anthropic/claude-opus-5-20260724", [mine])
    assert lookup("claude-opus-4-5") == lookup("claude-opus-4-5", [mine])


def test_an_equal_declared_id_comes_before_an_equal_declared_key() -> None:
    first, second = declare({"id": "alpha/coder"}), declare({"id": "beta/coder"})

    assert second == lookup("beta/coder", [first, second])
