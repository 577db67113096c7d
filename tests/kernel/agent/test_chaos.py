"""Whatever a provider does, a run ends in a state, every request is valid, and nothing that the user said is lost.

`scripts/chaos.py` tries two thousand such runs, `make reliability` with it.
"""

import pytest

from perdure.kernel.wire import Dialect
from perdure.testing.chaos import ChaosRun


@pytest.mark.parametrize("dialect", ["anthropic", "responses", "chat"])
@pytest.mark.parametrize("seed", range(12))
def test_no_stream_however_broken_makes_a_request_invalid_or_a_run_endless(dialect: Dialect, seed: int) -> None:
    assert [] == ChaosRun(behind="mad", dialect=dialect, seed=seed).wrong()


@pytest.mark.parametrize("dialect", ["anthropic", "responses", "chat"])
@pytest.mark.parametrize("seed", [*range(7), 55])
def test_a_strict_provider_with_a_small_window_accepts_every_request(dialect: Dialect, seed: int) -> None:
    assert [] == ChaosRun(behind="strict", dialect=dialect, seed=seed).wrong()
