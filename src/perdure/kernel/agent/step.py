"""The loop as a table: in which phase, what happened, what comes next.

It knows phases, signals and bounds. It must never know a message's words, a model or an engine, and it does nothing:
`run` performs a phase, says what happened, and asks here where to go. Every run ends in a state with a name, since each
way back to `project` is counted and bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perdure.kernel.agent.state import Bounds, EndState, Phase, Signal, State

NEXT: Mapping[Phase, Mapping[Signal, Phase]] = {
    "project": {"fits": "call"},
    "call": {"more": "project", "calls": "tools", "cut": "project", "paused": "project", "too_long": "recover"},
    "tools": {"results": "project"},
    "recover": {"fits": "call"},
}
"""What comes next."""

ENDS: Mapping[Phase, Mapping[Signal, EndState]] = {
    "project": {"cannot_fit": "infeasible", "interrupted": "interrupted", "raised": "broken"},
    "call": {
        "said": "done",
        "refused": "refused",
        "no_answer": "failed",
        "interrupted": "interrupted",
        "raised": "broken",
    },
    "tools": {"interrupted": "interrupted", "raised": "broken"},
    "recover": {"cannot_fit": "overflow", "interrupted": "interrupted", "raised": "broken"},
}
"""What ends a run, and as what."""


def step(state: State, signal: Signal, bounds: Bounds) -> State:
    """Where the run goes from here.

    Raises:
        ValueError: such a thing cannot happen in this phase, or after the end; the state is unchanged.
    """
    if state.ended is not None:
        raise ValueError(f"the run ended as {state.ended!r}; {signal!r} comes after the end")
    ended, following = ENDS[state.phase].get(signal), NEXT[state.phase].get(signal)
    if signal == "too_long" and state.recovered:
        ended = "overflow"
    if ended is None and following is None:
        raise ValueError(f"{signal!r} cannot happen in the phase {state.phase!r}")
    after = _counted(state, signal)
    if ended is None and following == "project":
        ended = _limit(after, bounds)
    return replace(after, phase=following or state.phase, ended=ended)


def _counted(state: State, signal: Signal) -> State:
    """The counters behind a signal: of what may not happen for ever."""
    if state.phase != "call":
        return state
    if signal == "too_long":
        return replace(state, recovered=True)
    return replace(
        state,
        turns=state.turns + 1,
        recovered=False,
        cut_offs=state.cut_offs + 1 if signal == "cut" else 0,
        pauses=state.pauses + 1 if signal == "paused" else 0,
    )


def _limit(state: State, bounds: Bounds) -> EndState | None:
    """The bound that ends the run instead of another call. Results of tools are in the conversation by then."""
    if bounds.turns is not None and state.turns >= bounds.turns:
        return "turn_limit"
    if bounds.tokens is not None and state.tokens >= bounds.tokens:
        return "token_limit"
    if bounds.usd is not None and state.usd >= bounds.usd:
        return "cost_limit"
    if state.failed_rounds >= bounds.failed_rounds:
        return "stuck"
    if state.cut_offs > bounds.cut_offs or state.pauses > bounds.pauses:
        return "cut_off"
    return None
