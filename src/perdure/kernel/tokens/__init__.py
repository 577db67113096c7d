"""Counting without a tokenizer: priors per model, calibrated on the provider's own usage numbers."""

from perdure.kernel.tokens.calibration import UNCALIBRATED, Calibration
from perdure.kernel.tokens.count import TOOL_PROMPT, overhead_tokens, text_tokens, tokens_of, weigh_overhead
from perdure.kernel.tokens.estimate import FRAMING_MARGIN, Estimate, margin_of
from perdure.kernel.tokens.media import tokens_of_media

__all__ = [
    "FRAMING_MARGIN",
    "TOOL_PROMPT",
    "UNCALIBRATED",
    "Calibration",
    "Estimate",
    "margin_of",
    "overhead_tokens",
    "text_tokens",
    "tokens_of",
    "tokens_of_media",
    "weigh_overhead",
]
