"""The table of the loop: complete, bounded, and ending in names."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.agent import ENDS, NEXT, Bounds, EndState, Phase, Signal, State, step

PHASES: tuple[Phase, ...] = get_args(Phase)
SIGNALS: tuple[Signal, ...] = get_args(Signal)


def test_every_phase_has_a_way_on_and_can_be_interrupted() -> None:
    assert all(NEXT[phase] and ENDS[phase]["interrupted"] == "interrupted" for phase in PHASES)


def test_every_signal_and_every_state_at_the_end_are_in_the_table() -> None:
    signals = {signal for table in (NEXT, ENDS) for row in table.values() for signal in row}
    ends = {end for row in ENDS.values() for end in row.values()}
    by_bounds = {"turn_limit", "token_limit", "cost_limit", "stuck", "cut_off"}

    assert (set(SIGNALS), set(get_args(EndState))) == (signals, ends | by_bounds)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_that_cannot_happen_is_an_error_of_the_program(phase: Phase, signal: Signal) -> None:
    possible = signal in NEXT[phase] or signal in ENDS[phase]
    try:
        step(State(phase=phase), signal, Bounds())
    except ValueError:
        went = False
    else:
        went = True

    assert possible == went


def test_nothing_comes_after_the_end() -> None:
    with pytest.raises(ValueError, match="done"):
        step(State(ended="done"), "fits", Bounds())


def test_a_second_overflow_is_the_end() -> None:
    once = step(State(phase="call"), "too_long", Bounds())
    again = step(step(once, "fits", Bounds()), "too_long", Bounds())

    assert (None, "overflow") == (once.ended, again.ended)


def test_an_answer_in_between_allows_another_recovery() -> None:
    state = step(State(phase="call", recovered=True), "calls", Bounds())

    assert not state.recovered


@pytest.mark.parametrize(
    ("bounds", "state", "end"),
    [
        (Bounds(turns=3), State(phase="tools", turns=3), "turn_limit"),
        (Bounds(tokens=100), State(phase="tools", tokens=100), "token_limit"),
        (Bounds(usd=0.5), State(phase="tools", usd=0.5), "cost_limit"),
        (Bounds(failed_rounds=2), State(phase="tools", failed_rounds=2), "stuck"),
    ],
)
def test_a_bound_ends_the_run_before_the_next_call(bounds: Bounds, state: State, end: EndState) -> None:
    assert end == step(state, "results", bounds).ended


@given(st.lists(st.sampled_from(SIGNALS), min_size=400, max_size=400))
def test_a_run_with_a_bound_on_turns_ends_whatever_happens(signals: list[Signal]) -> None:
    state, bounds = State(), Bounds(turns=20)
    for signal in signals:
        if state.ended is None and (signal in NEXT[state.phase] or signal in ENDS[state.phase]):
            state = step(state, signal, bounds)

    assert state.turns <= 20
