"""How far a model's tokenizer is from its prior on what this session is made of, learnt from the provider's own counts.

It knows estimates and counts. It must never know where they come from. Only *differences* are observed: what was
appended between two requests that share their prefix, against what the count of the prompt grew by. So a system prompt
that nobody sees, and whatever else stays the same, cancels out.
"""

from __future__ import annotations

from dataclasses import field

from perdure.kernel.value import value

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

SHORTFALLS = 24
"""Shortfalls that are remembered."""

PRIOR_MARGIN = 0.10
"""The relative shortfall that is assumed before any is seen; it weighs `PRIOR` tokens among those that are."""

COVERED = 0.9
"""The share of the remembered tokens that the margin covers."""

SMALLEST_MARGIN = 0.02

LARGEST_MARGIN = 0.30
"""Single differences can hide text that the harness added unseen; whole prompts have never been that far off."""


@value
class Calibration:
    """What a session has taught about its model's tokenizer. Observing gives a new value."""

    estimated: float = 0.0
    """Tokens of text observed, by the prior alone; fading."""
    counted: float = 0.0
    """The same text, as the provider counted it."""
    shortfalls: tuple[tuple[float, float], ...] = ()
    """Of the newest observations: expected tokens, and by which share of them the count was higher (0: it was not)."""

    @property
    def scale(self) -> float:
        """Counted tokens per token of the prior's estimate."""
        return (PRIOR + self.counted) / (PRIOR + self.estimated)

    _margin: list[float] = field(default_factory=list[float], init=False, repr=False, compare=False)
    """The margin once somebody asked for it: an engine does so several times for each request."""

    @property
    def margin(self) -> float:
        """By which share of itself an estimate may be too low: a share that 90 % of the tokens seen stayed within."""
        if not self._margin:
            self._margin.append(self._find_margin())
        return self._margin[0]

    def _find_margin(self) -> float:
        seen = sorted((share, size) for size, share in (*self.shortfalls, (PRIOR, PRIOR_MARGIN)))
        covered = COVERED * sum(size for _, size in seen)
        for share, size in seen:
            covered -= size
            if covered <= 0:
                return min(LARGEST_MARGIN, max(SMALLEST_MARGIN, share))
        return PRIOR_MARGIN

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
            shortfalls=(*self.shortfalls, (expected, max(0.0, counted / expected - 1)))[-SHORTFALLS:],
        )


UNCALIBRATED = Calibration()
"""Before the first count of a session: the model's prior as it stands."""
