"""How far a model's tokenizer is from its prior on what this session is made of, learnt from the provider's own counts.

It knows estimates and counts. It must never know where they come from. Only *differences* are observed: what was
appended between two requests that share their prefix, against what the count of the prompt grew by. So a system prompt
that nobody sees, and whatever else stays the same, cancels out.
"""

from __future__ import annotations

from dataclasses import dataclass

PRIOR = 2_000
"""The prior counts as much as this many estimated tokens of observation: a few tool results outweigh it."""

MEMORY = 60_000
"""Estimated tokens that are remembered. Older ones fade, since a session moves on from code to logs to prose."""

SMALLEST = 100
"""Estimated tokens below which a difference says more about framing than about text."""

TRUSTED = 2.0
"""A single observation moves the estimate as if it were off by this factor at most."""

ABSURD = 5.0
"""A difference that is off by more was no difference: the prefix had changed."""

ERRORS = 24
"""Errors that are remembered."""

PRIOR_MARGIN = 0.10
"""The relative error that is assumed before any is seen, and counted as seen `PRIOR_ERRORS` times."""

PRIOR_ERRORS = 6

QUANTILE = 0.9
"""The share of remembered errors that the margin covers."""

SMALLEST_MARGIN = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a session has taught about its model's tokenizer. Observing gives a new value."""

    estimated: float = 0.0
    """Tokens of text observed, by the prior alone; fading."""
    counted: float = 0.0
    """The same text, as the provider counted it."""
    errors: tuple[float, ...] = ()
    """Relative errors of the newest observations, each against the calibration before it."""

    @property
    def scale(self) -> float:
        """Counted tokens per token of the prior's estimate."""
        return (PRIOR + self.counted) / (PRIOR + self.estimated)

    @property
    def margin(self) -> float:
        """The relative error that nine of ten observations stayed within."""
        seen = sorted((*self.errors, *(PRIOR_MARGIN,) * max(0, PRIOR_ERRORS - len(self.errors) // 4)))
        return max(SMALLEST_MARGIN, seen[min(len(seen) - 1, int(QUANTILE * len(seen)))])

    def bytes_per_token(self, prior: float) -> float:
        """The calibrated ratio of a model whose prior is `prior` bytes per token."""
        return prior / self.scale

    def observe(self, estimated: float, counted: float) -> Calibration:
        """The calibration after text of `estimated` tokens, by the prior alone, was counted as `counted` tokens.

        Differences too small to tell, or too far off to be differences at all, change nothing.
        """
        if estimated < SMALLEST or not estimated / ABSURD <= counted <= estimated * ABSURD:
            return self
        expected = estimated * self.scale
        bounded = min(max(counted, expected / TRUSTED), expected * TRUSTED)
        kept = min(1.0, max(0.0, MEMORY - estimated) / self.estimated) if self.estimated else 1.0
        return Calibration(
            estimated=self.estimated * kept + estimated,
            counted=self.counted * kept + bounded,
            errors=(*self.errors, abs(expected - counted) / counted)[-ERRORS:],
        )


UNCALIBRATED = Calibration()
"""Before the first count of a session: the model's prior as it stands."""
