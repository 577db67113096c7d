"""Settings of the engine and the limits that follow from them for one model.

It knows numbers and how they scale. It must never know a transcript. Every figure is a default that a user may change;
each says where it comes from. The measured ones come from a simulation of context policies on 124 recorded sessions
(17,466 requests): the flat part of each curve was taken, not its lowest point.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value

Preset: TypeAlias = Literal["balanced", "cautious", "thrifty"]

DEFAULT_RESERVE = 20_000
"""Tokens kept free for an answer, where the model can answer that long and the window is not small."""

FOLD_MARGIN = 25_000
"""Tokens that must lie between what a checkpoint leaves and the next one. With less, checkpoints follow one another so
fast that each costs more than it saves."""

_NOT_NEGATIVE = (
    "entry_limit",
    "clear_growth",
    "fold_growth",
    "batch_floor",
    "keep_results",
    "small_result",
    "trim_head",
    "trim_tail",
    "trim_newest",
    "keep_tail",
    "checkpoint_size",
    "session_memory_cap",
)


@value
class Settings:
    """What a user may decide. Token figures are for large windows; `limits` scales them down for small ones."""

    compact_ratio: float | None = None
    """Act at this part of the window instead of leaving the default reserve; 0.3 to 0.95."""
    entry_limit: int | None = 4_000
    """Tokens of a tool output above which it is reduced before its first send; None turns that off."""
    clear_growth: int | None = 60_000
    """Tokens of history above the fixed overhead at which light rungs run; None: at the threshold alone."""
    fold_growth: int | Literal["auto"] | None = 80_000
    """Tokens of history above the fixed overhead at which a checkpoint is made; `auto` follows the model's prices;
    None: at the threshold alone."""
    low_water: float = 0.5
    """Light rungs clear down to this part of the history. Flat from 0.3 to 0.6, dear above 0.7."""
    batch_floor: int = 10_000
    """Tokens that one batch of light edits must free, since it rewrites the prefix. Flat from 5k to 20k."""
    keep_results: int = 5
    """The newest tool results that light rungs leave alone, counted once for each tool and arguments."""
    small_result: int = 200
    """Tokens under which a tool result is left alone: clearing it saves nothing and costs the prefix."""
    protected_tools: frozenset[str] = frozenset(
        {
            "skill",
            "Skill",
            "ask_user",
            "AskUserQuestion",
            "recall",
            "todo",
            "TodoWrite",
            "update_plan",
            "exit_plan_mode",
            "ExitPlanMode",
        }
    )
    """Tools whose results are procedures, answers of the user or recalled originals: never cleared, never reduced."""
    recall_tool: str | None = "recall"
    """The tool by which the model recalls an original; None: there is none, and then no text offers a handle."""
    clear_inputs: bool = False
    """Whether old calls' arguments are cleared together with their results."""
    trim_over: int = 4_000
    """Characters above which an old text block is shortened."""
    trim_head: int = 1_200
    """Characters of it that stay at its beginning."""
    trim_tail: int = 800
    """Characters of it that stay at its end."""
    trim_newest: int = 4
    """Messages at the end that are never trimmed."""
    keep_tail: int = 10_000
    """Tokens that stay verbatim behind a checkpoint. 20,000 cost 2 to 6 % more on 47 sessions, and kept half a percent
    more in sight."""
    checkpoint_size: int = 12_000
    """Tokens that a checkpoint document may have."""
    session_memory_cap: int = 20_000
    """Characters of the session memory that become a checkpoint's narrative; cut at a line's end."""
    breaker_limit: int = 3
    """Failures of the summarizer in a row after which it is skipped once."""
    progress_floor: float = 0.1
    """A rewrite that frees less than this part of its aim is dropped."""
    retry_growth: float = 0.1
    """What made no progress is not tried again until the transcript grew by this part of the window."""
    commit_on_project: bool = False
    """Whether a checkpoint that `project` makes becomes the baseline at once."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            InvalidSetting: a figure out of its range.
        """
        if self.compact_ratio is not None and not 0.3 <= self.compact_ratio <= 0.95:
            raise InvalidSetting(f"compact_ratio is {self.compact_ratio}; it must lie between 0.3 and 0.95")
        for name in ("low_water", "progress_floor", "retry_growth"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidSetting(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")
        for name in _NOT_NEGATIVE:
            value: object = getattr(self, name)
            if isinstance(value, int) and value < 0:
                raise InvalidSetting(f"{name} is {value}; it cannot be negative")
        for name in ("breaker_limit", "trim_over"):
            if getattr(self, name) < 1:
                raise InvalidSetting(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.trim_head + self.trim_tail > self.trim_over:
            raise InvalidSetting("trim_head and trim_tail together exceed trim_over, so that trimming would add text")


PRESETS: dict[Preset, Settings] = {
    "balanced": Settings(),
    "cautious": Settings(entry_limit=8_000, clear_growth=100_000, fold_growth=None, keep_tail=20_000),
    "thrifty": Settings(fold_growth=40_000),
}


def preset(name: str) -> Settings:
    """The settings of a preset.

    Raises:
        InvalidSetting: no preset of that name.
    """
    for known, settings in PRESETS.items():
        if known == name:
            return settings
    raise InvalidSetting(f"no preset {name!r}; there are {', '.join(PRESETS)}")


@value
class Limits:
    """The settings as they apply to one window and one fixed overhead. All in tokens."""

    window: int
    reserve: int
    threshold: int
    """Window less reserve: a request beyond it is made smaller, whatever it takes. Higher only where the fixed overhead
    would leave the history no room below it."""
    overhead: int
    """Tools and system blocks."""
    clear_at: int
    """Clear point."""
    fold_at: int
    """Fold point."""
    keep_tail: int
    checkpoint_size: int
    batch_floor: int
    entry_limit: int | None
    trim_over: int
    """Characters."""

    @property
    def room(self) -> int:
        """What the history may take below the threshold."""
        return max(0, self.threshold - self.overhead)

    @property
    def hard(self) -> int:
        """The largest request that is sent at all: at least a sixteenth of the window, or the reserve if that is less,
        stays for the answer."""
        return _hard(self.window, self.reserve)


def limits_of(settings: Settings, profile: ModelProfile, overhead: int, growth: int | None = None) -> Limits | None:
    """The limits of one model, or None where its window is not known.

    `growth` is the growth since the last checkpoint at which the next one pays, for `fold_growth="auto"`.
    No limit assumes a large window: each is at most a quarter of the threshold, and of the room above the overhead.
    """
    window = profile.window.tokens
    if window is None:
        return None
    reserve = reserve_of(settings, profile, window)
    threshold = _threshold(window, reserve, overhead)
    quarter = max(1, min(threshold, max(0, threshold - overhead)) // 4)
    keep_tail = min(settings.keep_tail, quarter)
    checkpoint_size = min(settings.checkpoint_size, quarter)
    chosen = growth if settings.fold_growth == "auto" else settings.fold_growth
    least = overhead + checkpoint_size + keep_tail + FOLD_MARGIN
    return Limits(
        window=window,
        reserve=reserve,
        threshold=threshold,
        overhead=overhead,
        clear_at=threshold if settings.clear_growth is None else min(threshold, overhead + settings.clear_growth),
        fold_at=threshold if chosen is None else min(threshold, max(overhead + chosen, least)),
        keep_tail=keep_tail,
        checkpoint_size=checkpoint_size,
        batch_floor=min(settings.batch_floor, quarter),
        entry_limit=None if settings.entry_limit is None else min(settings.entry_limit, quarter),
        trim_over=min(settings.trim_over, max(200, quarter)),
    )


def _threshold(window: int, reserve: int, overhead: int) -> int:
    """Window less reserve. Where tools and system blocks come near that, the reserve yields to what an answer needs at
    the least: else every call would fold what little history there is, and never get below."""
    return max(window - reserve, min(_hard(window, reserve), overhead + window // 16))


def _hard(window: int, reserve: int) -> int:
    return window - min(reserve, max(64, window // 16))


def reserve_of(settings: Settings, profile: ModelProfile, window: int) -> int:
    """Tokens kept free for the answer."""
    if settings.compact_ratio is not None:
        return window - int(window * settings.compact_ratio)
    return min(DEFAULT_RESERVE, profile.window.max_output or DEFAULT_RESERVE, window // 2)


def scaled_trim(settings: Settings, limits: Limits) -> tuple[int, int]:
    """Characters kept at head and tail of a trimmed text, in proportion where the window is small."""
    part = limits.trim_over / settings.trim_over
    return int(settings.trim_head * part), int(settings.trim_tail * part)


def with_window(profile: ModelProfile, window: int) -> ModelProfile:
    """The same model with a smaller (or declared) window, in tokens.

    Raises:
        InvalidSetting: a window under 1,000 tokens, which no request fits.
    """
    if window < 1_000:
        raise InvalidSetting(f"a window of {window} tokens holds no request; give at least 1000")
    return replace(profile, window=replace(profile.window, tokens=window))
