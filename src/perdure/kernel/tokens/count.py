"""Tokens of a weight: what a text and its pictures come to for one model, without a tokenizer.

It knows bytes, characters and a model's priors. It must never know a message: weights are measured once, in `messages`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from perdure.kernel.messages import NOTHING, Text, Tool, Unknown, Weight, weigh_blocks, weigh_tool
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens.calibration import UNCALIBRATED, Calibration
from perdure.kernel.tokens.media import tokens_of_media

FRAMING = 8
"""Tokens around each block: role, kind, ids and separators. Fitted on recorded sessions of Claude, where short messages
cost 10 to 15 tokens per block beyond their text, and long ones less."""

TOOL_PROMPT = 346
"""Tokens of the hidden prompt that enables tools (Anthropic, tool use pricing, `tool_choice` auto; 313 where a tool is
forced)."""


def tokens_of(weight: Weight, profile: ModelProfile, calibration: Calibration = UNCALIBRATED) -> int:
    """Tokens of this weight for this model, as far as the session's own numbers have calibrated the estimate."""
    media = sum(tokens_of_media(item, profile) for item in weight.media)
    return ceil(text_tokens(weight, profile) * calibration.scale) + media


def text_tokens(weight: Weight, profile: ModelProfile) -> float:
    """Tokens of the text and the framing of a weight, by the model's priors alone.

    Characters of three bytes (CJK) are counted by the character and all others by the byte. Their number follows from
    bytes and characters, exactly where all that is not ASCII has three bytes; accents and emoji, with two and four,
    come out close.
    """
    tokenizer = profile.tokenizer
    wide = min((weight.bytes - weight.chars) / 2, weight.bytes / 3)
    narrow = weight.bytes - 3 * wide
    return narrow / tokenizer.bytes_per_token + wide * tokenizer.tokens_per_wide + FRAMING * weight.blocks


def weigh_overhead(tools: Iterable[Tool], system: Iterable[Text | Unknown]) -> Weight:
    """The weight of what stands before the first message: tools that are not deferred, and system blocks."""
    return sum((weigh_tool(tool) for tool in tools), NOTHING) + weigh_blocks(system)


def overhead_tokens(
    tools: Iterable[Tool],
    system: Iterable[Text | Unknown],
    profile: ModelProfile,
    calibration: Calibration = UNCALIBRATED,
) -> int:
    """Tokens of the fixed overhead: tools, system blocks, and the provider's own prompt where there are tools."""
    tools = tuple(tools)
    hidden = TOOL_PROMPT if tools and profile.family == "claude" else 0
    return tokens_of(weigh_overhead(tools, system), profile, calibration) + hidden
