"""Settings, presets and the limits that follow from them."""

from dataclasses import replace

import pytest

from perdure.kernel.context import Limits, Settings, limits_of, preset, with_window
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.models import lookup

MODEL = lookup("claude-sonnet-4-6")


def limits(settings: Settings, window: int = 200_000, overhead: int = 20_000, growth: int | None = None) -> Limits:
    found = limits_of(settings, with_window(MODEL, window), overhead, growth)
    assert found is not None
    return found


def test_balanced_clears_60k_above_the_overhead_and_folds_80k_above_it() -> None:
    found = limits(preset("balanced"))

    assert (80_000, 100_000, 180_000) == (found.clear_at, found.fold_at, found.threshold)
    assert (4_000, 10_000, 10_000) == (found.entry_limit, found.batch_floor, found.keep_tail)


def test_cautious_reduces_at_8k_clears_at_100k_and_folds_at_the_threshold_alone() -> None:
    found = limits(preset("cautious"))

    assert (8_000, 120_000, 180_000) == (found.entry_limit, found.clear_at, found.fold_at)


def test_thrifty_folds_early_with_a_tail_of_10k_but_never_nearer_than_25k_to_what_a_checkpoint_leaves() -> None:
    found = limits(preset("thrifty"))

    assert 10_000 == found.keep_tail
    assert 20_000 + 12_000 + 10_000 + 25_000 == found.fold_at


def test_points_are_never_above_the_threshold() -> None:
    found = limits(preset("balanced"), window=64_000)

    assert (44_000, 44_000, 44_000) == (found.clear_at, found.fold_at, found.threshold)


def test_auto_folds_at_the_growth_that_it_is_given() -> None:
    assert 95_000 == limits(Settings(fold_growth="auto"), growth=75_000).fold_at


def test_every_limit_is_at_most_a_quarter_of_the_room_in_a_small_window() -> None:
    found = limits(Settings(), window=8_000, overhead=0)

    assert (1_000, 1_000, 1_000, 1_000) == (
        found.keep_tail,
        found.checkpoint_size,
        found.batch_floor,
        found.entry_limit,
    )


def test_a_ratio_sets_the_threshold() -> None:
    assert 120_000 == limits(Settings(compact_ratio=0.6)).threshold


def test_an_unknown_window_has_no_limits() -> None:
    assert limits_of(Settings(), lookup("an-unknown-model"), 0) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"compact_ratio": 0.2},
        {"compact_ratio": 0.99},
        {"low_water": 1.0},
        {"progress_floor": 0.0},
        {"keep_results": -1},
        {"batch_floor": -1},
        {"entry_limit": -1},
        {"clear_growth": -1},
        {"fold_growth": -5},
        {"small_result": -1},
        {"trim_newest": -1},
        {"session_memory_cap": -1},
        {"breaker_limit": 0},
        {"trim_over": 0, "trim_head": 0, "trim_tail": 0},
        {"trim_over": 100},
    ],
)
def test_a_figure_out_of_its_range_is_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(wrong)).split("_", maxsplit=1)[0]):
        # The names are those of the fields, which no annotation can say.
        replace(Settings(), **wrong)  # pyright: ignore[reportArgumentType]


def test_an_unknown_preset_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(InvalidSetting, match="balanced, cautious, thrifty"):
        preset("bold")


def test_a_window_that_holds_no_request_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="at least 1000"):
        with_window(MODEL, 999)
