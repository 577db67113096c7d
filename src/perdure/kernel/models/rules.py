"""What the rows of the table are made of: caches, tokenizers and generations that several models share.

Knows the providers' published rules, each with its source. Must never know single models, prices or names.
Sources are dated where they were read; "prior" marks a number that nobody publishes and that calibration replaces.
"""

from __future__ import annotations

from perdure.kernel.models.profile import (
    CacheLife,
    CacheRules,
    Family,
    Features,
    ImageRules,
    NativeFeature,
    Source,
    ThinkingForm,
    ThinkingKept,
    ThinkingRules,
    Tokenizer,
)
from perdure.kernel.value import value


@value
class Generation:
    """What models of one generation have in common."""

    family: Family
    tokenizer: Tokenizer
    thinking: ThinkingRules
    features: Features


# Sources.

ANTHROPIC_2026_08 = Source(text="Anthropic documentation: models, prompt caching, context editing", date="2026-08-21")
ANTHROPIC_2026_10 = Source(text="Anthropic documentation: models, preserved thinking, compaction", date="2026-10-20")
ANTHROPIC_GUESSED = Source(
    text="Anthropic documentation for window and prices; cache minimum and prefix check assumed, the stricter value",
    date="2026-11-30",
)
OPENAI_2026_11 = Source(text="OpenAI documentation: models, prompt caching; SDK 3.57.0 model list", date="2026-11-30")
OPENAI_GUESSED = Source(
    text="OpenAI SDK 3.57.0 names the model; limits assumed to be those of its predecessor", date="2026-11-30"
)
GOOGLE_2026_11 = Source(text="Google documentation: Gemini models, context caching", date="2026-11-30")
OPEN_2026_11 = Source(text="The publisher's model card; a server may be configured for less", date="2026-11-30")


# Caches.


def marked(*, min_tokens: int, read: float = 0.1) -> CacheRules:
    """Anthropic's cache (prompt caching guide, 2026-08): 4 marks, a look back over 20 positions, 5 minutes at
    1.25 and 1 hour at 2 times the input price. Reads cost 0.1; the exceptions are named in the table."""
    return CacheRules(
        dialect="anthropic",
        min_tokens=min_tokens,
        lives=(CacheLife(seconds=300, write=1.25), CacheLife(seconds=3600, write=2.0)),
        read=read,
        max_marks=4,
        lookback=20,
        step=1,
    )


def automatic(*, read: float, lives: tuple[CacheLife, ...], min_tokens: int = 1024, step: int = 128) -> CacheRules:
    """A cache that needs no marks: the longest known prefix is read, in whole steps, and writing is free.

    1,024 tokens and steps of 128 are OpenAI's (prompt caching guide; recorded `cached_tokens` are all multiples
    of 128)."""
    return CacheRules(
        dialect="openai", min_tokens=min_tokens, lives=lives, read=read, max_marks=0, lookback=0, step=step
    )


def billed_writes(*, read: float) -> CacheRules:
    """OpenAI from GPT-5.6 on: 30 minutes, writes cost 1.25, up to 4 marks of which one is set by the provider.
    A life of 12 hours is offered too; its price is not published, so it is not listed (2026-11)."""
    return CacheRules(
        dialect="openai",
        min_tokens=1024,
        lives=(CacheLife(seconds=1800, write=1.25),),
        read=read,
        max_marks=4,
        lookback=0,
        step=128,
    )


MINUTES = (CacheLife(seconds=300, write=1.0),)
"""OpenAI in memory: 5 to 10 minutes without use, at most an hour; the least is counted on."""

MINUTES_OR_DAY = (CacheLife(seconds=300, write=1.0), CacheLife(seconds=86400, write=1.0))
"""With `prompt_cache_retention: 24h`, from GPT-4.1 on."""

DAY = (CacheLife(seconds=86400, write=1.0),)
"""GPT-5.5: only 24 hours."""

HOUR = (CacheLife(seconds=3600, write=1.0),)
"""Prior for open models: hosted caches on disk live "hours"; a local server keeps a prefix until memory runs out."""


# Images.

CLAUDE_IMAGE = ImageRules(formula="patches_28", base=0, per_unit=1, cap=1568, long_edge=1568)
CLAUDE_LARGE_IMAGE = ImageRules(formula="patches_28", base=0, per_unit=1, cap=4784, long_edge=2576)
GPT_4_IMAGE = ImageRules(formula="tiles_512", base=85, per_unit=170, cap=1445, long_edge=2048)
GPT_4O_MINI_IMAGE = ImageRules(formula="tiles_512", base=2833, per_unit=5667, cap=48169, long_edge=2048)
GPT_5_IMAGE = ImageRules(formula="tiles_512", base=70, per_unit=140, cap=1190, long_edge=2048)
GPT_SMALL_IMAGE = ImageRules(formula="patches_32", base=0, per_unit=1.62, cap=2489, long_edge=2048)
GPT_PATCH_IMAGE = ImageRules(formula="patches_32", base=0, per_unit=1.2, cap=3000, long_edge=2048)
"""From GPT-5.4 on; the cap is 2,500 patches at `detail: high`."""
GEMINI_IMAGE = ImageRules(formula="tiles_768", base=0, per_unit=258, cap=4128, long_edge=3072)
FLAT_IMAGE = ImageRules(formula="flat", base=1200, per_unit=0, cap=1200, long_edge=0)
"""Prior where no formula is published."""


# Tokenizers. Bytes per token are measured on what coding agents append: code, logs, JSON, English.

CLAUDE_TO_4_6 = Tokenizer(bytes_per_token=2.9, tokens_per_wide=1.3, image=CLAUDE_IMAGE)
"""2.89 pooled over recorded sessions of Claude 4.5 and 4.6; wide characters are a prior."""

CLAUDE_FROM_4_7 = Tokenizer(bytes_per_token=2.2, tokens_per_wide=1.7, image=CLAUDE_LARGE_IMAGE)
"""The tokenizer of 4.7 gives about 30 % more tokens for the same text (Anthropic, token counting, 2026-08):
2.89 / 1.3."""


def gpt_tokenizer(image: ImageRules) -> Tokenizer:
    """o200k and its successors: 3.7 measured on recorded Codex sessions, 4.0 on prose; 0.7 to 0.8 on plain Chinese."""
    return Tokenizer(bytes_per_token=4.0, tokens_per_wide=0.75, image=image)


OPEN_TOKENIZER = Tokenizer(bytes_per_token=3.5, tokens_per_wide=1.0, image=FLAT_IMAGE)
"""Prior: vocabularies of 100k to 200k entries lie a little below o200k on code."""

CAUTIOUS_TOKENIZER = Tokenizer(bytes_per_token=2.2, tokens_per_wide=1.7, image=CLAUDE_LARGE_IMAGE)
"""For models that nobody knows: the most tokens that any known tokenizer makes of a text."""


# Generations of Claude (Anthropic documentation: context editing, thinking, errors; 2026-08 to 2026-10).


def _native(*names: NativeFeature, more_than: frozenset[NativeFeature] = frozenset()) -> frozenset[NativeFeature]:
    return more_than.union(names)


_EDITING = _native("clear_tool_uses", "clear_thinking", "memory_tool", "deferred_tools")
_COMPACTING = _native("threshold_compaction", "on_demand_compaction", more_than=_EDITING)
_TELLING = _native("system_messages", more_than=_COMPACTING)
_BINDING = _native("drop_block", more_than=_TELLING)


@value
class _Claude:
    native: frozenset[NativeFeature]
    kept: ThinkingKept
    refused: tuple[ThinkingForm, ...] = ()
    binds: bool = False
    prefill: bool = False
    forced_tool: bool = True

    def generation(self, tokenizer: Tokenizer) -> Generation:
        return Generation(
            family="claude",
            tokenizer=tokenizer,
            thinking=ThinkingRules(binds=self.binds, kept=self.kept, refused=frozenset(self.refused)),
            features=Features(native=self.native, prefill=self.prefill, forced_tool=self.forced_tool),
        )


CLAUDE_3 = _Claude(native=frozenset(), kept="none", refused=("adaptive", "enabled"), prefill=True).generation(
    CLAUDE_TO_4_6
)
CLAUDE_3_7 = _Claude(native=frozenset(), kept="last_turn", refused=("adaptive",), prefill=True).generation(
    CLAUDE_TO_4_6
)
CLAUDE_4 = _Claude(native=_EDITING, kept="last_turn", refused=("adaptive",), prefill=True).generation(CLAUDE_TO_4_6)
CLAUDE_OPUS_4_5 = _Claude(native=_EDITING, kept="all", refused=("adaptive",), prefill=True).generation(CLAUDE_TO_4_6)
CLAUDE_4_6 = _Claude(native=_COMPACTING, kept="all").generation(CLAUDE_TO_4_6)
CLAUDE_4_7 = _Claude(native=_COMPACTING, kept="all", refused=("enabled",)).generation(CLAUDE_FROM_4_7)
CLAUDE_5 = _Claude(native=_TELLING, kept="all", refused=("enabled",)).generation(CLAUDE_FROM_4_7)
CLAUDE_ALWAYS_THINKING = _Claude(native=_TELLING, kept="all", refused=("enabled", "disabled")).generation(
    CLAUDE_FROM_4_7
)
CLAUDE_BINDING = _Claude(native=_BINDING, kept="all", refused=("enabled", "disabled"), binds=True).generation(
    CLAUDE_FROM_4_7
)
CLAUDE_OPUS_5_5 = _Claude(
    native=_BINDING, kept="all", refused=("enabled", "disabled"), binds=True, forced_tool=False
).generation(CLAUDE_FROM_4_7)
CLAUDE_UNKNOWN = _Claude(
    native=frozenset(), kept="all", refused=("enabled", "disabled"), binds=True, forced_tool=False
).generation(CAUTIOUS_TOKENIZER)
"""The strictest rule of each kind, and no native feature."""


# Generations of others: they sign no thinking that a client edits, and have no `thinking.type`.


def _plain(family: Family, tokenizer: Tokenizer, native: frozenset[NativeFeature], kept: ThinkingKept) -> Generation:
    return Generation(
        family=family,
        tokenizer=tokenizer,
        thinking=ThinkingRules(binds=False, kept=kept, refused=frozenset()),
        features=Features(native=native, prefill=False, forced_tool=True),
    )


_COMPACT_ENDPOINT = _native("response_compaction")

GPT_4 = _plain("gpt", gpt_tokenizer(GPT_4_IMAGE), frozenset(), "none")
GPT_4O_MINI = _plain("gpt", gpt_tokenizer(GPT_4O_MINI_IMAGE), frozenset(), "none")
GPT_4_SMALL = _plain("gpt", gpt_tokenizer(GPT_SMALL_IMAGE), frozenset(), "none")
GPT_REASONING = _plain("gpt", gpt_tokenizer(GPT_4_IMAGE), frozenset(), "last_turn")
GPT_5 = _plain("gpt", gpt_tokenizer(GPT_5_IMAGE), _COMPACT_ENDPOINT, "last_turn")
GPT_5_SMALL = _plain("gpt", gpt_tokenizer(GPT_SMALL_IMAGE), _COMPACT_ENDPOINT, "last_turn")
GPT_5_4 = _plain("gpt", gpt_tokenizer(GPT_PATCH_IMAGE), _COMPACT_ENDPOINT, "last_turn")
GEMINI = _plain("gemini", Tokenizer(bytes_per_token=3.5, tokens_per_wide=1.0, image=GEMINI_IMAGE), frozenset(), "all")
OPEN = _plain("open", OPEN_TOKENIZER, frozenset(), "last_turn")
UNKNOWN = _plain("unknown", CAUTIOUS_TOKENIZER, frozenset(), "all")
