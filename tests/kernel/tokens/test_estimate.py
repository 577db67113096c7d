"""The estimate: an anchor, what came since, and a margin that learns from the provider's own counts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import NOTHING, Media, Usage, Weight, weigh_text
from perdure.kernel.models import lookup
from perdure.kernel.tokens import (
    FRAMING_MARGIN,
    UNCALIBRATED,
    Anchor,
    Calibration,
    Estimate,
    anchor_at,
    calibrate,
    estimate,
    text_tokens,
    tokens_of,
)

CLAUDE = lookup("claude-opus-4-6")


def learnt(factor: float, *, seed: int, noise: float = 0.05, differences: int = 60) -> Calibration:
    """A session whose tokenizer makes `factor` times the prior's tokens, give or take the noise."""
    chance = random.Random(seed)
    calibration = UNCALIBRATED
    for _ in range(differences):
        size = chance.uniform(150, 6_000)
        calibration = calibration.observe(size, size * factor * chance.uniform(1 - noise, 1 + noise))
    return calibration


def test_an_anchor_counts_the_request_and_its_answer() -> None:
    usage = Usage(input_tokens=5, cache_read_tokens=1_000, cache_write_tokens=200, output_tokens=40)

    assert Anchor(tokens=1_245, position=7) == anchor_at(usage, 7)


def test_without_anything_since_the_estimate_is_the_anchor_and_certain() -> None:
    assert Estimate(tokens=9_000, margin=0) == estimate(CLAUDE, UNCALIBRATED, Anchor(tokens=9_000, position=3), NOTHING)


def test_only_what_came_since_the_anchor_is_uncertain() -> None:
    since = weigh_text("x" * 29_000)
    new = tokens_of(since, CLAUDE)

    actual = estimate(CLAUDE, UNCALIBRATED, Anchor(tokens=100_000, position=3), since)

    assert 100_000 + new == actual.tokens
    assert pytest.approx(0.10 * new + FRAMING_MARGIN, abs=1) == actual.margin
    assert actual.tokens + actual.margin == actual.upper


def test_without_an_anchor_all_of_it_is_uncertain() -> None:
    whole = weigh_text("x" * 29_000)

    expected = 0.10 * tokens_of(whole, CLAUDE) + FRAMING_MARGIN

    assert pytest.approx(expected, abs=1) == estimate(CLAUDE, UNCALIBRATED, None, whole).margin


def test_the_framing_of_many_blocks_averages_out() -> None:
    some, many = Weight(bytes=50_000, chars=50_000, blocks=50), Weight(bytes=50_000, chars=50_000, blocks=5_000)
    extra = 0.10 * (tokens_of(many, CLAUDE) - tokens_of(some, CLAUDE))

    actual = estimate(CLAUDE, UNCALIBRATED, None, many).margin - estimate(CLAUDE, UNCALIBRATED, None, some).margin

    assert pytest.approx(extra, abs=1) == actual


def test_light_edits_are_taken_off_the_anchor_but_never_below_nothing() -> None:
    anchor = Anchor(tokens=500, position=3)

    assert Anchor(tokens=200, position=3) == anchor.less(300)
    assert Anchor(tokens=0, position=3) == anchor.less(501)


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


def test_a_system_prompt_that_nobody_sees_does_not_disturb_the_calibration() -> None:
    opaque, ratio = 40_000, 1.3
    appended = [weigh_text("x" * size) for size in (9_000, 700, 14_000, 4_100, 2_600) * 6]
    calibration, prompt = UNCALIBRATED, float(opaque)
    for weight in appended:
        longer = prompt + ratio * text_tokens(weight, CLAUDE)
        calibration = calibrate(CLAUDE, calibration, weight, round(longer) - round(prompt))
        prompt = longer

    assert pytest.approx(ratio, rel=0.03) == calibration.scale


def test_pictures_are_taken_out_before_text_is_compared() -> None:
    text = weigh_text("x" * 29_000)
    picture = Weight(media=(Media(kind="image", width=1000, height=1000),))
    growth = tokens_of(text, CLAUDE)

    expected = calibrate(CLAUDE, UNCALIBRATED, text, growth)

    assert expected == calibrate(CLAUDE, UNCALIBRATED, text + picture, growth + tokens_of(picture, CLAUDE))
