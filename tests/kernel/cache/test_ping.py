"""A ping goes where it is cheaper than what it saves, and at most three times."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.cache import MOST_PINGS, Pause, next_ping
from perdure.kernel.models import lookup

OPUS = lookup("claude-opus-5-5")
GAPS = st.lists(st.floats(0, 5_000), max_size=60)


def pause(pings: int = 0, prefix: int = 100_000, life: float = 300.0) -> Pause:
    return Pause(prefix=prefix, started=1_000.0, life=life, pings=pings)


@pytest.mark.parametrize(
    ("gaps", "goes"),
    [
        ([], False),
        ([5.0] * 40, False),
        ([400.0] * 3, True),
        ([5.0] * 40 + [400.0] * 3, True),
        ([90_000.0] * 30 + [400.0], False),
        ([1_000.0] * 10, True),
        ([3_000.0] * 10, False),
    ],
    ids=["nothing known", "never away", "back soon", "mostly there", "gone for the day", "third life", "beyond three"],
)
def test_the_pauses_so_far_decide(gaps: Sequence[float], goes: bool) -> None:
    assert goes == (next_ping(pause(), gaps, OPUS) is not None)


def test_it_goes_before_the_life_ends() -> None:
    due = next_ping(pause(), [400.0] * 5, OPUS)

    assert due is not None
    assert 1_000.0 < due < 1_300.0


def test_what_is_too_small_to_be_cached_is_not_kept() -> None:
    assert None is next_ping(pause(prefix=100), [400.0] * 5, OPUS)


@given(gaps=GAPS, pings=st.integers(0, 6))
def test_three_are_the_most(gaps: list[float], pings: int) -> None:
    assert pings < MOST_PINGS or next_ping(pause(pings), gaps, OPUS) is None


@given(gaps=GAPS)
def test_where_a_ping_goes_all_pings_together_would_have_paid_in_pauses_like_these(gaps: list[float]) -> None:
    """With the one more from which nobody came back."""
    pings, spent, saved = 0, 0.0, 0.0
    rules = OPUS.cache
    while next_ping(pause(pings), gaps, OPUS) is not None:
        pings += 1
    for gap in [*(gap for gap in gaps if gap >= 300), float("inf")]:
        sent = min(pings, int(gap // 300)) if gap != float("inf") else pings
        spent += sent * rules.read
        saved += (rules.lives[0].write - rules.read) if gap < 300 * (pings + 1) else 0.0

    assert pings == 0 or saved > spent
