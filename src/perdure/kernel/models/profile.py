"""What a model is: its limits, its cache, its tokenizer, its rules on thinking, its prices.

Knows the shape of these facts and their units. Must never know which models exist (`table`), how a name is
matched (`lookup`), or how anything is counted, cached or sent: other layers read these values and decide.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.value import value

Dialect: TypeAlias = Literal["anthropic", "openai"]
"""Which request format and which kind of prompt cache: marks set by the client, or automatic prefixes."""

Family: TypeAlias = Literal["claude", "gpt", "gemini", "open", "unknown"]

ImageFormula: TypeAlias = Literal["patches_28", "patches_32", "tiles_512", "tiles_768", "flat"]
"""What one unit of an image is: a square patch of 28 pixels (Anthropic) or 32 (OpenAI), a square tile of 512
pixels (older OpenAI) or 768 (Gemini), or the whole image."""

ThinkingKept: TypeAlias = Literal["all", "last_turn", "none"]
"""Which turns' thinking the provider keeps in the prompt when the client sends all of it back."""

ThinkingForm: TypeAlias = Literal["adaptive", "enabled", "disabled"]
"""Values of the request's `thinking.type`."""

NativeFeature: TypeAlias = Literal[
    "clear_tool_uses",
    "clear_thinking",
    "threshold_compaction",
    "on_demand_compaction",
    "memory_tool",
    "deferred_tools",
    "drop_block",
    "system_messages",
    "response_compaction",
]
"""What the provider does itself when asked: context editing (`clear_tool_uses_20250919`,
`clear_thinking_20251015`), compaction (`compact_20260112`, top-level `compaction`), the typed memory tool, tool
search with `defer_loading`, `prefix_mismatch_behavior: drop_block`, `role: system` messages in mid-conversation,
OpenAI's `responses.compact`."""


@value
class Window:
    """How much fits, in tokens."""

    tokens: int | None
    """What a request may fill: input and output together, or input alone where the provider limits it on its own
    and lower. None where nobody knows: then no limit can be kept."""
    max_output: int | None
    """The largest `max_tokens` accepted in one response; None where unknown."""


@value
class CacheLife:
    """One lifetime that a cache entry can be given."""

    seconds: int
    """From the start of the request that wrote or last read the entry."""
    write: float
    """Price of writing one token, in units of an uncached input token (1.0: writing costs nothing extra)."""


@value
class CacheRules:
    """How the provider's prompt cache behaves."""

    dialect: Dialect
    """`anthropic`: entries are written at marks. `openai`: prefixes are cached without being asked."""
    min_tokens: int
    """Prefixes shorter than this are silently not cached."""
    lives: tuple[CacheLife, ...]
    """Offered lifetimes, shortest first. Empty: the server has no cache that one could count on."""
    read: float
    """Price of reading one token, in units of an uncached input token."""
    max_marks: int
    """Marks allowed in one request; 0 where the client sets none."""
    lookback: int
    """Positions searched backwards from a mark for an earlier entry, the mark itself being the first; 0: any."""
    step: int
    """Cached lengths are multiples of this many tokens."""

    def write_multiplier(self, seconds: int) -> float:
        """The price of a write that lives at least `seconds`, in units of an input token; the longest life
        where none is long enough; 1.0 where nothing is cached."""
        if not self.lives:
            return 1.0
        long_enough = (life for life in self.lives if life.seconds >= seconds)
        return next(long_enough, self.lives[-1]).write


@value
class ImageRules:
    """Tokens of an image: `min(cap, base + per_unit x units)`."""

    formula: ImageFormula
    base: float
    """Tokens that each image costs whatever its size."""
    per_unit: float
    """Tokens per unit of the formula."""
    cap: int
    """The most that one image costs, in tokens: larger ones are scaled down by the provider."""
    long_edge: int
    """Pixels; a longer image is scaled down to this before it is counted."""


@value
class Tokenizer:
    """Priors for an estimate, until the provider's own numbers calibrate it."""

    bytes_per_token: float
    """UTF-8 bytes of code, logs and English prose per token."""
    tokens_per_wide: float
    """Tokens per wide (CJK) character."""
    image: ImageRules


@value
class ThinkingRules:
    """What the provider demands of thinking blocks that come back."""

    binds: bool
    """A block's signature covers every byte before it: an edit further up invalidates the block and all later ones."""
    kept: ThinkingKept
    refused: frozenset[ThinkingForm]
    """Values of `thinking.type` that are answered with a 400."""


@value
class Features:
    """What else the provider offers and refuses."""

    native: frozenset[NativeFeature]
    prefill: bool
    """A conversation may end with an assistant message, which the model continues."""
    forced_tool: bool
    """`tool_choice` may force a tool (`any`, `tool`, `required`)."""


@value
class Prices:
    """USD per million tokens."""

    input: float
    """Input that is neither read from nor written to the cache."""
    output: float
    """Output, thinking included."""
    cache_read: float
    cache_write: float
    """Writing an entry of the shortest life."""
    cache_write_long: float | None = None
    """Writing an entry of the longest life; None where only one life is offered or its price is unknown."""
    above: tuple[PriceTier, ...] = ()
    """Other prices for long prompts, by rising start. The fields above are the base tier."""

    def at(self, prompt_tokens: int) -> Prices:
        """The prices of a request whose whole prompt, cached or not, has `prompt_tokens` tokens: the provider
        bills *every* token of a longer prompt by the higher tier."""
        reached = [tier.prices for tier in self.above if prompt_tokens > tier.start]
        return reached[-1] if reached else self


@value
class PriceTier:
    """Prices that hold once a prompt is longer than `start`."""

    start: int
    """Tokens of the whole prompt."""
    prices: Prices


@value
class Source:
    """Where a row's facts come from."""

    text: str
    date: str
    """ISO date on which the source said so; empty where a user's settings are the source."""


@value
class ModelProfile:
    """Everything that Perdure knows about one model."""

    id: str
    """The provider's own name, without date and vendor prefix."""
    family: Family
    window: Window
    cache: CacheRules
    tokenizer: Tokenizer
    thinking: ThinkingRules
    features: Features
    prices: Prices | None
    """None where nobody publishes a price: then money is reported in input-token units only."""
    source: Source
    known: bool = True
    """False for the safe default that stands in for a model which neither the table nor the settings have."""

    @property
    def dialect(self) -> Dialect:
        """Which request format the model's own provider speaks."""
        return self.cache.dialect

    @property
    def binds_thinking(self) -> bool:
        """Whether an edit before a thinking block makes the block invalid."""
        return self.thinking.binds

    def offers(self, feature: NativeFeature) -> bool:
        """Whether the provider does this itself for the model."""
        return feature in self.features.native
