"""The estimate: its margin, and what a session learns from the provider's own counts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.tokens import FRAMING_MARGIN, UNCALIBRATED, Calibration, Estimate, margin_of


def learnt(factor: float, *, seed: int, noise: float = 0.05, differences: int = 60) -> Calibration:
    """A session whose tokenizer makes `factor` times the prior's tokens, give or take the noise."""
    chance = random.Random(seed)
    calibration = UNCALIBRATED
    for _ in range(differences):
        size = chance.uniform(150, 6_000)
        calibration = calibration.observe(size, size * factor * chance.uniform(1 - noise, 1 + noise))
    return calibration


def test_what_is_planned_for_is_the_estimate_and_its_margin() -> None:
    assert 9_400 == Estimate(tokens=9_000, margin=400).upper


def test_the_margin_is_a_share_of_the_tokens_and_the_framing_of_the_blocks() -> None:
    assert 1_000 + 3 * FRAMING_MARGIN == margin_of(10_000, 3, UNCALIBRATED)


def test_the_framing_of_many_blocks_averages_out() -> None:
    assert margin_of(10_000, 50, UNCALIBRATED) == margin_of(10_000, 5_000, UNCALIBRATED)


@given(factor=st.floats(min_value=0.5, max_value=2.0), seed=st.integers(min_value=0, max_value=999))
def test_a_session_learns_its_own_ratio(factor: float, seed: int) -> None:
    calibration = learnt(factor, seed=seed)

    assert pytest.approx(factor, rel=0.06) == calibration.scale
    assert pytest.approx(2.9 / factor, rel=0.07) == calibration.bytes_per_token(2.9)


@given(seed=st.integers(min_value=0, max_value=999), counted=st.floats(min_value=0, max_value=1e7))
def test_one_outlier_moves_the_estimate_of_a_session_by_little(seed: int, counted: float) -> None:
    before = learnt(1.2, seed=seed)

    after = before.observe(2_000, counted)

    assert pytest.approx(before.scale, rel=0.06) == after.scale


@pytest.mark.parametrize("seed", range(5))
def test_a_session_that_turns_from_code_to_tables_is_followed(seed: int) -> None:
    calibration = learnt(0.9, seed=seed, differences=200)
    for _ in range(60):
        calibration = calibration.observe(3_000, 3_000 * 1.4)

    assert pytest.approx(1.4, rel=0.05) == calibration.scale


@pytest.mark.parametrize(
    ("estimated", "counted"), [(0, 0), (50, 60), (1_000, 0), (1_000, -5_000), (1_000, 40_000), (40_000, 1_000)]
)
def test_differences_that_are_none_teach_nothing(estimated: float, counted: float) -> None:
    assert UNCALIBRATED == UNCALIBRATED.observe(estimated, counted)


def test_the_margin_starts_at_ten_percent_and_shrinks_where_estimates_hold() -> None:
    assert 0.10 == UNCALIBRATED.margin
    assert learnt(1.0, seed=1, noise=0.01).margin < 0.04


def test_the_margin_grows_where_counts_come_out_higher() -> None:
    assert learnt(1.0, seed=1, noise=0.25).margin > 0.12


@given(observed=st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e7)), max_size=40))
def test_whatever_is_observed_scale_and_margin_stay_within_reason(observed: list[tuple[float, float]]) -> None:
    calibration = UNCALIBRATED
    for estimated, counted in observed:
        calibration = calibration.observe(estimated, counted)

    assert 1 / 5 <= calibration.scale <= 5
    assert 0.02 <= calibration.margin <= 0.30


def test_the_margin_covers_nine_tenths_of_what_follows() -> None:
    chance = random.Random(7)
    calibration = learnt(1.1, seed=3, noise=0.2)
    sizes = [chance.uniform(150, 6_000) for _ in range(300)]
    counts = [size * 1.1 * chance.uniform(0.8, 1.2) for size in sizes]

    within = [
        size
        for size, count in zip(sizes, counts, strict=True)
        if count <= size * calibration.scale * (1 + calibration.margin)
    ]

    assert sum(within) >= 0.85 * sum(sizes)
