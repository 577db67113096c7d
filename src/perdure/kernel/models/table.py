"""The models that Perdure knows: a row for each, with the source of its facts and their date.

Knows which models exist and what sets each apart; what several share stands in `rules`. Must never know how a
name is matched (`names`, `lookup`), nor prices that a maintained package has (`_generated_prices`).

To add a model: copy the row of its predecessor, change what its documentation says, and run `scripts/prices.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.models import rules
from perdure.kernel.models.profile import CacheLife, CacheRules, ModelProfile, Prices, Source, Window
from perdure.kernel.models.rules import (
    ANTHROPIC_2026_08,
    ANTHROPIC_2026_10,
    ANTHROPIC_GUESSED,
    DAY,
    GOOGLE_2026_11,
    HOUR,
    MINUTES,
    MINUTES_OR_DAY,
    OPEN_2026_11,
    OPENAI_2026_11,
    OPENAI_GUESSED,
    Generation,
    automatic,
    billed_writes,
    marked,
)


def _row(
    name: str, limits: tuple[int, int | None], cache: CacheRules, generation: Generation, source: Source
) -> ModelProfile:
    """A profile without prices; `limits` are the window and the largest output, in tokens."""
    window, max_output = limits
    return ModelProfile(
        id=name,
        family=generation.family,
        window=Window(tokens=window, max_output=max_output),
        cache=cache,
        tokenizer=generation.tokenizer,
        thinking=generation.thinking,
        features=generation.features,
        prices=None,
        source=source,
    )


_K200 = (200_000, 64_000)
_MILLION = (1_000_000, 128_000)

CLAUDE: tuple[ModelProfile, ...] = (
    _row("claude-3-opus", (200_000, 4_096), marked(min_tokens=1024), rules.CLAUDE_3, ANTHROPIC_2026_08),
    _row("claude-3-5-sonnet", (200_000, 8_192), marked(min_tokens=1024), rules.CLAUDE_3, ANTHROPIC_2026_08),
    _row("claude-3-5-haiku", (200_000, 8_192), marked(min_tokens=2048), rules.CLAUDE_3, ANTHROPIC_2026_08),
    _row("claude-3-7-sonnet", _K200, marked(min_tokens=1024), rules.CLAUDE_3_7, ANTHROPIC_2026_08),
    _row("claude-opus-4", (200_000, 32_000), marked(min_tokens=1024), rules.CLAUDE_4, ANTHROPIC_2026_08),
    _row("claude-opus-4-1", (200_000, 32_000), marked(min_tokens=1024), rules.CLAUDE_4, ANTHROPIC_2026_08),
    _row("claude-sonnet-4", _K200, marked(min_tokens=1024), rules.CLAUDE_4, ANTHROPIC_2026_08),
    _row("claude-sonnet-4-5", _K200, marked(min_tokens=1024), rules.CLAUDE_4, ANTHROPIC_2026_08),
    _row("claude-haiku-4-5", _K200, marked(min_tokens=4096), rules.CLAUDE_4, ANTHROPIC_2026_08),
    _row("claude-opus-4-5", _K200, marked(min_tokens=4096), rules.CLAUDE_OPUS_4_5, ANTHROPIC_2026_08),
    _row("claude-opus-4-6", _MILLION, marked(min_tokens=4096), rules.CLAUDE_4_6, ANTHROPIC_2026_08),
    _row("claude-sonnet-4-6", _MILLION, marked(min_tokens=1024), rules.CLAUDE_4_6, ANTHROPIC_2026_08),
    _row("claude-opus-4-7", _MILLION, marked(min_tokens=2048), rules.CLAUDE_4_7, ANTHROPIC_2026_08),
    _row("claude-opus-4-8", _MILLION, marked(min_tokens=1024), rules.CLAUDE_5, ANTHROPIC_2026_08),
    # Mid-conversation system messages are refused on Sonnet 5 (Anthropic, 2026-08).
    _row("claude-sonnet-5", _MILLION, marked(min_tokens=1024), rules.CLAUDE_4_7, ANTHROPIC_2026_08),
    _row("claude-opus-5", _MILLION, marked(min_tokens=512), rules.CLAUDE_5, ANTHROPIC_2026_08),
    _row("claude-mythos-preview", _MILLION, marked(min_tokens=2048), rules.CLAUDE_ALWAYS_THINKING, ANTHROPIC_2026_08),
    _row("claude-fable-5", _MILLION, marked(min_tokens=512), rules.CLAUDE_ALWAYS_THINKING, ANTHROPIC_2026_08),
    _row("claude-mythos-5", _MILLION, marked(min_tokens=512), rules.CLAUDE_ALWAYS_THINKING, ANTHROPIC_2026_08),
    # Reads are cheaper than 0.1 from here on, and thinking is bound to its prefix, except on Mythos 5.1.
    _row("claude-fable-5-1", _MILLION, marked(min_tokens=512, read=0.025), rules.CLAUDE_BINDING, ANTHROPIC_2026_10),
    _row(
        "claude-mythos-5-1",
        _MILLION,
        marked(min_tokens=512, read=0.025),
        rules.CLAUDE_ALWAYS_THINKING,
        ANTHROPIC_2026_10,
    ),
    _row("claude-opus-5-5", _MILLION, marked(min_tokens=512, read=0.05), rules.CLAUDE_OPUS_5_5, ANTHROPIC_2026_10),
    _row("claude-sonnet-5-5", _MILLION, marked(min_tokens=512, read=0.05), rules.CLAUDE_BINDING, ANTHROPIC_2026_10),
    _row("claude-haiku-5-5", _MILLION, marked(min_tokens=4096), rules.CLAUDE_BINDING, ANTHROPIC_GUESSED),
    _row("claude-fable-5-2", _MILLION, marked(min_tokens=512, read=0.025), rules.CLAUDE_BINDING, ANTHROPIC_GUESSED),
    _row("claude-mythos-5-2", _MILLION, marked(min_tokens=512, read=0.025), rules.CLAUDE_BINDING, ANTHROPIC_GUESSED),
)

# OpenAI limits input on its own: of 400,000 tokens 272,000 may be input, of 1,050,000 there may be 922,000.
# The window is what a request may fill, so it is the limit on input where that is lower.
_GPT_400K = (272_000, 128_000)
_GPT_MILLION = (922_000, 128_000)
_GPT_CHAT = (128_000, 16_384)
_TENTH = automatic(read=0.1, lives=MINUTES_OR_DAY)
_NO_CACHE = automatic(read=1.0, lives=())

GPT: tuple[ModelProfile, ...] = (
    _row("gpt-4o", _GPT_CHAT, automatic(read=0.5, lives=MINUTES), rules.GPT_4, OPENAI_2026_11),
    _row("gpt-4o-mini", _GPT_CHAT, automatic(read=0.5, lives=MINUTES), rules.GPT_4O_MINI, OPENAI_2026_11),
    _row("gpt-4.1", (1_047_576, 32_768), automatic(read=0.25, lives=MINUTES_OR_DAY), rules.GPT_4, OPENAI_2026_11),
    _row("gpt-4.1-mini", (1_047_576, 32_768), automatic(read=0.25, lives=MINUTES), rules.GPT_4_SMALL, OPENAI_2026_11),
    _row("gpt-4.1-nano", (1_047_576, 32_768), automatic(read=0.25, lives=MINUTES), rules.GPT_4_SMALL, OPENAI_2026_11),
    _row("o3", (200_000, 100_000), automatic(read=0.25, lives=MINUTES), rules.GPT_REASONING, OPENAI_2026_11),
    _row("o4-mini", (200_000, 100_000), automatic(read=0.25, lives=MINUTES), rules.GPT_REASONING, OPENAI_2026_11),
    _row("codex-mini", (200_000, 100_000), automatic(read=0.25, lives=MINUTES), rules.GPT_REASONING, OPENAI_2026_11),
    _row("gpt-5", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5-chat", _GPT_CHAT, automatic(read=0.1, lives=MINUTES), rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5-codex", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5-mini", _GPT_400K, automatic(read=0.1, lives=MINUTES), rules.GPT_5_SMALL, OPENAI_2026_11),
    _row("gpt-5-nano", _GPT_400K, automatic(read=0.1, lives=MINUTES), rules.GPT_5_SMALL, OPENAI_2026_11),
    _row("gpt-5-pro", (272_000, 272_000), _NO_CACHE, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.1", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.1-chat", _GPT_CHAT, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.1-codex", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.1-codex-max", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.1-codex-mini", _GPT_400K, _TENTH, rules.GPT_5_SMALL, OPENAI_2026_11),
    _row("gpt-5.2", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.2-chat", _GPT_CHAT, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.2-codex", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.2-pro", _GPT_400K, _NO_CACHE, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.3-chat", _GPT_CHAT, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.3-codex", _GPT_400K, _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.3-codex-spark", (128_000, None), _TENTH, rules.GPT_5, OPENAI_2026_11),
    _row("gpt-5.4", _GPT_MILLION, _TENTH, rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.4-mini", _GPT_400K, _TENTH, rules.GPT_5_SMALL, OPENAI_2026_11),
    _row("gpt-5.4-nano", _GPT_400K, _TENTH, rules.GPT_5_SMALL, OPENAI_2026_11),
    _row("gpt-5.4-pro", _GPT_MILLION, _NO_CACHE, rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.5", _GPT_MILLION, automatic(read=0.1, lives=DAY), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.5-pro", _GPT_MILLION, _NO_CACHE, rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.6-sol", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.6-terra", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-5.6-luna", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6-astra", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6-sol", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6-luna", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6.1-sol", _GPT_MILLION, billed_writes(read=0.05), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6.1-terra", _GPT_MILLION, billed_writes(read=0.05), rules.GPT_5_4, OPENAI_2026_11),
    _row("gpt-6.2-astra", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_GUESSED),
    _row("gpt-6.2-sol", _GPT_MILLION, billed_writes(read=0.1), rules.GPT_5_4, OPENAI_GUESSED),
)

# Gemini caches implicitly; how long is not published. 5 minutes are counted on.
_GEMINI = (1_048_576, 65_536)
_GEMINI_CACHE = automatic(read=0.1, lives=MINUTES, min_tokens=4096, step=1)

GEMINI: tuple[ModelProfile, ...] = (
    _row("gemini-2.5-pro", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-2.5-flash", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-2.5-flash-lite", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-3-pro", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-3-flash", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-3.1-pro", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-3.5-flash", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
    _row("gemini-3.8-flash", _GEMINI, _GEMINI_CACHE, rules.GEMINI, GOOGLE_2026_11),
)

# Open weights. Blocks of 16 tokens are vLLM's default, of 64 DeepSeek's. Who serves them sets prices and caches:
# the read price is the publisher's own where it has one and otherwise a prior.


def _local(*, read: float) -> CacheRules:
    return automatic(read=read, lives=HOUR, min_tokens=16, step=16)


_LOCAL_CACHE = _local(read=0.1)
_MINIMAX_CACHE = automatic(read=0.1, lives=(CacheLife(seconds=300, write=1.25),), min_tokens=512, step=16)
_KIMI_LIVES = (CacheLife(seconds=300, write=1.0), CacheLife(seconds=3600, write=2.0))
_KIMI_CACHE = automatic(read=0.1, lives=_KIMI_LIVES, min_tokens=512, step=16)

OPEN: tuple[ModelProfile, ...] = (
    _row(
        "deepseek-v4-pro",
        (1_000_000, 384_000),
        automatic(read=0.0333, lives=HOUR, min_tokens=64, step=64),
        rules.OPEN,
        OPEN_2026_11,
    ),
    _row(
        "deepseek-v4-flash",
        (1_000_000, 384_000),
        automatic(read=0.02, lives=HOUR, min_tokens=64, step=64),
        rules.OPEN,
        OPEN_2026_11,
    ),
    _row(
        "deepseek-chat",
        (128_000, 8_192),
        automatic(read=0.2593, lives=HOUR, min_tokens=64, step=64),
        rules.OPEN,
        OPEN_2026_11,
    ),
    _row("gpt-oss", (131_072, 131_072), _LOCAL_CACHE, rules.OPEN, OPEN_2026_11),
    _row("qwen3-coder", (262_144, 65_536), _LOCAL_CACHE, rules.OPEN, OPEN_2026_11),
    _row("llama-3.3", (131_072, None), _LOCAL_CACHE, rules.OPEN, OPEN_2026_11),
    _row("llama-4-maverick", (131_072, None), _LOCAL_CACHE, rules.OPEN, OPEN_2026_11),
    _row("devstral", (131_072, None), _LOCAL_CACHE, rules.OPEN, OPEN_2026_11),
    _row("glm-4.6", (200_000, 128_000), _local(read=0.1833), rules.OPEN, OPEN_2026_11),
    _row("minimax-m2", (204_800, None), _MINIMAX_CACHE, rules.OPEN, OPEN_2026_11),
    _row("kimi-k2", (262_144, None), _local(read=0.25), rules.OPEN, OPEN_2026_11),
    _row("kimi-k2.5", (262_144, None), _local(read=0.1667), rules.OPEN, OPEN_2026_11),
    _row("kimi-k3", (1_048_576, None), _KIMI_CACHE, rules.OPEN, OPEN_2026_11),
)

ROWS: tuple[ModelProfile, ...] = CLAUDE + GPT + GEMINI + OPEN

ALIASES: Mapping[str, str] = {
    "claude-opus-4-0": "claude-opus-4",
    "claude-sonnet-4-0": "claude-sonnet-4",
    "llama3.3": "llama-3.3",
    "llama4-maverick": "llama-4-maverick",
    "devstral-small": "devstral",
}
"""Names in use that no general rule leads to a row."""

_LIMITED = Source(text="Anthropic pricing page; the model is of limited availability", date="2026-10-20")

HAND_PRICES: Mapping[str, tuple[Prices, Source]] = {
    "claude-mythos-preview": (
        Prices(input=25.0, output=125.0, cache_read=2.5, cache_write=31.25, cache_write_long=50.0),
        _LIMITED,
    ),
    "claude-mythos-5": (
        Prices(input=10.0, output=50.0, cache_read=1.0, cache_write=12.5, cache_write_long=20.0),
        _LIMITED,
    ),
    "claude-mythos-5-1": (
        Prices(input=10.0, output=50.0, cache_read=0.25, cache_write=12.5, cache_write_long=20.0),
        _LIMITED,
    ),
}
"""Prices of models that the price package lacks; everything else comes from it."""
