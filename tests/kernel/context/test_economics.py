"""What an edit costs and brings, and when the next checkpoint pays."""

import pytest

from perdure.kernel.context.economics import AUTO_LEAST, AUTO_MOST, best_growth, is_cold, price_of
from perdure.kernel.models import lookup

MODEL = lookup("claude-sonnet-4-6")


def test_an_edit_costs_the_difference_of_writing_and_reading_what_stands_behind_it() -> None:
    price = price_of(MODEL, rewritten=10_000, saved=5_000, cold=False)

    assert pytest.approx(10_000 * (1.25 - 0.1)) == price.cost
    assert pytest.approx(500) == price.saving
    assert price.payback == pytest.approx(23)


def test_in_a_cold_cache_it_costs_nothing() -> None:
    assert 0 == price_of(MODEL, rewritten=10_000, saved=5_000, cold=True).payback


def test_what_saves_nothing_never_pays() -> None:
    assert price_of(MODEL, rewritten=10_000, saved=0, cold=False).payback is None


def test_a_cache_is_cold_once_its_shortest_life_is_over() -> None:
    assert [False, False, True] == [is_cold(MODEL, idle) for idle in (None, 300, 301)]


def test_the_best_growth_is_clamped_and_rises_with_what_a_request_adds() -> None:
    grown = [best_growth(MODEL, context=100_000, kept=30_000, per_request=added) for added in (1, 2_000, 100_000)]

    assert sorted(grown) == grown
    assert (AUTO_LEAST, AUTO_MOST) == (grown[0], grown[-1])
