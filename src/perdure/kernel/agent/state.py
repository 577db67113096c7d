"""Where a run stands, how far it may go, and how it can end.

It knows words and counters. It must never know what leads from one to the next: `step` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from perdure.kernel.value import value

Phase: TypeAlias = Literal["project", "call", "tools", "recover"]

EndState: TypeAlias = Literal[
    "done",
    "interrupted",
    "turn_limit",
    "token_limit",
    "cost_limit",
    "stuck",
    "cut_off",
    "refused",
    "overflow",
    "infeasible",
    "failed",
    "broken",
]
"""How a run ends. `done`: the model had nothing more to do. `stuck`: every call failed, several answers in a row.
`cut_off`: answers broke off at the output limit again and again. `overflow`: too long for the provider, after the
recovery as well. `infeasible`: no edit can make it fit. `failed`: the provider gave no answer. `broken`: a port, such
as the log, raised."""

Signal: TypeAlias = Literal[
    "fits",
    "cannot_fit",
    "said",
    "calls",
    "cut",
    "paused",
    "too_long",
    "refused",
    "no_answer",
    "results",
    "more",
    "interrupted",
    "raised",
]
"""What happened. `said`: an answer without calls. `more`: the same, but something was typed meanwhile or a guard wants
more. `paused`: the provider wants to be called again to go on."""


@value
class Bounds:
    """How far a run may go."""

    turns: int | None = None
    """Model calls."""
    tokens: int | None = None
    """Prompts and answers together."""
    usd: float | None = None
    """Only calls whose price is known count."""
    cut_offs: int = 3
    """Answers in a row that may break off at the output limit."""
    nudges: int = 3
    """Times that guards may send the model on, in one run."""
    failed_rounds: int = 5
    """Answers in a row whose calls may all fail."""
    pauses: int = 20
    """Answers in a row that the provider may pause."""


@value
class State:
    """Where a run stands."""

    phase: Phase = "project"
    ended: EndState | None = None
    """None while the run goes on."""
    turns: int = 0
    """Model calls that were answered or failed for good."""
    tokens: int = 0
    usd: float = 0.0
    recovered: bool = False
    """This call already goes out after a recovery: a second overflow is the end."""
    cut_offs: int = 0
    nudges: int = 0
    failed_rounds: int = 0
    pauses: int = 0


def left(bounds: Bounds, state: State) -> Bounds:
    """The bounds of who works for this run: of tokens and money what is left, of all else as much."""
    return replace(
        bounds,
        tokens=None if bounds.tokens is None else max(0, bounds.tokens - state.tokens),
        usd=None if bounds.usd is None else max(0.0, bounds.usd - state.usd),
    )


def spent(state: State, tokens: int, usd: float | None) -> State:
    """The same place, after the provider counted."""
    return replace(state, tokens=state.tokens + tokens, usd=state.usd + (usd or 0.0))


def nudged(state: State) -> State:
    """The same place, after a guard sent the model on."""
    return replace(state, nudges=state.nudges + 1)


def round_failed(state: State, *, failed: bool) -> State:
    """The same place, after the calls of an answer all failed, or did not."""
    return replace(state, failed_rounds=state.failed_rounds + 1 if failed else 0)
