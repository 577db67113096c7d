"""When the same bytes go again."""

import random

import pytest

from perdure.kernel.agent import Failure, FailureKind
from perdure.providers.retry import Patience

DICE = random.Random(1)


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server", "network", "cut"])
def test_what_may_pass_is_tried_again_a_bounded_number_of_times(kind: FailureKind) -> None:
    failure = Failure(kind=kind, message="no")
    waits = [Patience(tries=4).wait_before(attempt, failure, DICE) for attempt in (2, 3, 4, 5)]

    assert ([True, True, True], None) == ([wait is not None for wait in waits[:3]], waits[3])


@pytest.mark.parametrize(
    "kind", ["overflow", "authentication", "billing", "refusal", "not_found", "thinking_bound", "invalid"]
)
def test_what_stays_is_not_tried_again(kind: FailureKind) -> None:
    assert None is Patience().wait_before(2, Failure(kind=kind, message="no"), DICE)


def test_the_wait_doubles_with_jitter_and_is_bounded() -> None:
    failure = Failure(kind="overloaded", message="no")
    waits = [Patience(tries=20).wait_before(attempt, failure, DICE) or 0.0 for attempt in range(2, 12)]

    assert all(0.5 * min(30.0, 2.0**place) <= wait <= min(30.0, 2.0**place) for place, wait in enumerate(waits)), waits


def test_the_provider_is_waited_for_as_long_as_it_asks() -> None:
    failure = Failure(kind="rate_limit", message="no", retry_after=17.0)

    assert 17.0 <= (Patience().wait_before(2, failure, DICE) or 0.0) <= 17.25


def test_a_provider_that_asks_for_too_long_is_not_waited_for() -> None:
    assert None is Patience().wait_before(2, Failure(kind="rate_limit", message="no", retry_after=3_600.0), DICE)


def test_a_provider_that_forbids_another_try_is_obeyed() -> None:
    assert None is Patience().wait_before(2, Failure(kind="server", message="no", retryable=False), DICE)
