"""How large the next request is: the newest count that holds, plus an estimate of what came since.

It knows counts and weights. It must never know messages or edits: the engine says what changed, in tokens. Everything
here takes the time of a few multiplications, however long the history is.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from perdure.kernel.messages import Usage, Weight
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens.calibration import Calibration
from perdure.kernel.tokens.count import text_tokens, tokens_of
from perdure.kernel.tokens.media import tokens_of_media
from perdure.kernel.value import value

FRAMING_MARGIN = 16
"""Tokens by which the framing of each block may be higher than counted. Fitted on recorded sessions of Claude: with it
91 and 96 % of requests stayed below estimate and margin, without it 61 and 63 %."""

FRAMED_BLOCKS = 50
"""Blocks for which that is added; in more of them it averages out, and the relative margin covers it."""


@value
class Anchor:
    """What the provider counted last: everything before `position`, fixed overhead included, is `tokens` tokens.

    After a checkpoint the anchor of the old view is void; one at position 0 then holds the fixed overhead, where a
    count of it is known.
    """

    tokens: int
    position: int
    """Messages that the count covers, the answer included."""

    def less(self, saved: int) -> Anchor:
        """The anchor after light edits took `saved` estimated tokens out of what it covers."""
        return replace(self, tokens=max(0, self.tokens - saved))


@value
class Estimate:
    """The size of a request in tokens, and how far it may be off."""

    tokens: int
    margin: int
    """Tokens by which the estimate may be too low, going by what the session saw so far."""

    @property
    def upper(self) -> int:
        """The size that a request is planned for."""
        return self.tokens + self.margin


def anchor_at(usage: Usage, position: int) -> Anchor:
    """The anchor that a response's usage gives: the request and the answer, `position` messages in all."""
    return Anchor(tokens=usage.total_tokens, position=position)


def estimate(profile: ModelProfile, calibration: Calibration, anchor: Anchor | None, weight_since: Weight) -> Estimate:
    """The size of a request: the anchor, and the weight of what came since.

    Without an anchor `weight_since` is the weight of the whole request, fixed overhead included, and the margin covers
    all of it.
    """
    since = tokens_of(weight_since, profile, calibration)
    margin = margin_of(since, weight_since.blocks, calibration)
    return Estimate(tokens=since + (anchor.tokens if anchor else 0), margin=margin)


def margin_of(tokens: int, blocks: int, calibration: Calibration) -> int:
    """Tokens by which an estimate of `tokens` tokens in `blocks` blocks may be too low."""
    return ceil(tokens * calibration.margin) + FRAMING_MARGIN * min(blocks, FRAMED_BLOCKS)


def calibrate(profile: ModelProfile, calibration: Calibration, appended: Weight, growth: int) -> Calibration:
    """What the session learns where a request extends the one before by `appended`, and its count grew by `growth`.

    Both prompts must share their prefix: no edit, no other tools and no compaction between the two. The answer of the
    first is part of what the second appended. Pictures are taken at their formula's word.
    """
    media = sum(tokens_of_media(item, profile) for item in appended.media)
    return calibration.observe(text_tokens(appended, profile), growth - media)
