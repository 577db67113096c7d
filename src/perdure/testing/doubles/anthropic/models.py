"""What each model accepts, in the double's own table.

It knows Anthropic's documentation of 2026-08 to 2026-11. It must never know `perdure.kernel.models`: two tables that
were written apart check one another. Rows and features marked "unverified" follow the nearest documented model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perdure.kernel.value import value


@value
class Model:
    """One model, as far as a request can notice."""

    name: str
    release: int
    """Place in the order of release: a model reads its own and earlier models' thinking."""
    window: int
    """Tokens."""
    max_output: int
    """Tokens."""
    cache_minimum: int
    """Tokens of a prefix below which it is silently not cached."""
    thinking_forms: frozenset[str]
    """Values of `thinking.type` that are accepted."""
    keeps_all_thinking: bool
    """Thinking of earlier turns stays in the prompt; else only the last turn's does."""
    binds_thinking: bool
    """Checks that what stood before a thinking block is unchanged."""
    binds_by_account: bool
    """That check is on only for accounts made since 2026-08-31, or where the request sets a behaviour."""
    accepts_prefill: bool
    accepts_forced_tool: bool
    accepts_sampling: bool
    """`temperature`, `top_p` and `top_k`."""
    compacts_at_threshold: bool
    compacts_on_demand: bool
    accepts_system_messages: bool
    """`role: "system"` inside `messages`."""
    stops_at_window: bool
    """Output that does not fit ends with `model_context_window_exceeded`; older models refuse the request."""
    token_factor: float
    """Tokens per o200k token: the tokenizer of 4.7 and later gives about 30 % more."""


_ROWS: tuple[tuple[str, int], ...] = (
    # In order of release, with the minimum cacheable tokens (Anthropic, prompt caching guide, 2026-08; the 5.1 and 5.5
    # rows from quotes of the same page, 2026-10).
    ("claude-sonnet-4", 1_024),
    ("claude-opus-4-1", 1_024),
    ("claude-sonnet-4-5", 1_024),
    ("claude-haiku-4-5", 4_096),
    ("claude-opus-4-5", 4_096),
    ("claude-opus-4-6", 4_096),
    ("claude-sonnet-4-6", 1_024),
    ("claude-mythos-preview", 2_048),
    ("claude-opus-4-7", 2_048),
    ("claude-opus-4-8", 1_024),
    ("claude-fable-5", 512),
    ("claude-mythos-5", 512),
    ("claude-sonnet-5", 1_024),
    ("claude-opus-5", 512),
    ("claude-fable-5-1", 512),
    ("claude-mythos-5-1", 512),
    ("claude-opus-5-5", 512),
    ("claude-sonnet-5-5", 512),
    ("claude-haiku-5-5", 512),  # unverified
    ("claude-fable-5-2", 512),  # unverified
)
_ORDER = {name: place for place, (name, _) in enumerate(_ROWS)}
_SMALL_WINDOW = {"claude-sonnet-4", "claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"}
_BEFORE_ADAPTIVE = _SMALL_WINDOW
_MAX_OUTPUT = {"claude-opus-4-1": 32_000} | dict.fromkeys(_SMALL_WINDOW - {"claude-opus-4-1"}, 64_000)
_LAST_TURN_ONLY = {"claude-sonnet-4", "claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5"}
# Unverified for Sonnet 5.5, Haiku 5.5 and Fable 5.2: the page says "every later model", and strict is the safer double.
_BINDS = {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"}
# Unverified beyond Sonnet 5, which is documented as refusing them.
_NO_SYSTEM_MESSAGES = {name for name, place in _ORDER.items() if place < _ORDER["claude-opus-4-8"]} | {
    "claude-sonnet-5"
}


def _always_thinks(name: str) -> bool:
    return name.startswith(("claude-fable", "claude-mythos")) or name == "claude-opus-5-5"


def _since(name: str, first: str) -> bool:
    return _ORDER[name] >= _ORDER[first]


def _forms(name: str) -> frozenset[str]:
    if name in _BEFORE_ADAPTIVE:
        return frozenset({"enabled", "disabled"})
    forms = {"adaptive"}
    if not _since(name, "claude-mythos-preview"):
        forms.add("enabled")
    if not _always_thinks(name):
        forms.add("disabled")
    if _since(name, "claude-opus-5-5"):
        forms.add("between_tools")  # unverified: known from the SDK's types alone
    return frozenset(forms)


def _model(name: str, cache_minimum: int) -> Model:
    return Model(
        name=name,
        release=_ORDER[name],
        window=200_000 if name in _SMALL_WINDOW else 1_000_000,
        max_output=_MAX_OUTPUT.get(name, 128_000),
        cache_minimum=cache_minimum,
        thinking_forms=_forms(name),
        keeps_all_thinking=name not in _LAST_TURN_ONLY,
        binds_thinking=name in _BINDS,
        binds_by_account=name == "claude-fable-5-1",
        accepts_prefill=name in _BEFORE_ADAPTIVE,
        accepts_forced_tool=name != "claude-opus-5-5",
        accepts_sampling=not _since(name, "claude-opus-4-7"),
        compacts_at_threshold=name not in _BEFORE_ADAPTIVE,
        # Unverified: the Models API says it per model; taken to be the same models as for the threshold.
        compacts_on_demand=name not in _BEFORE_ADAPTIVE,
        accepts_system_messages=name not in _NO_SYSTEM_MESSAGES,
        stops_at_window=name not in {"claude-sonnet-4", "claude-opus-4-1"},
        token_factor=1.3 if _since(name, "claude-opus-4-7") else 1.0,
    )


MODELS: Mapping[str, Model] = {name: _model(name, minimum) for name, minimum in _ROWS}
"""All models by name; a dated name (`-20260101`) means the same model."""


def find(models: Mapping[str, Model], name: object) -> Model | None:
    """The model of that name, with or without a date behind it."""
    return models.get(re.sub(r"-20\d{6}$", "", name)) if isinstance(name, str) else None


def described(model: Model, *, on_demand: bool) -> dict[str, object]:
    """The entry of the Models API; on-demand compaction appears only to those who sent its beta."""
    supported = {"supported": True}
    capabilities: dict[str, object] = {
        "batch": supported,
        "citations": supported,
        "code_execution": supported,
        "context_management": {
            "supported": True,
            "clear_thinking_20251015": supported,
            "clear_tool_uses_20250919": supported,
            "compact_20260112": {"supported": model.compacts_at_threshold},
        },
        "effort": {"supported": True, **dict.fromkeys(("low", "medium", "high", "xhigh", "max"), supported)},
        "image_input": supported,
        "pdf_input": supported,
        "server_tools": {"supported": False},
        "structured_outputs": supported,
        "thinking": {
            "supported": True,
            "types": {
                form: {"supported": form in model.thinking_forms}
                for form in ("adaptive", "between_tools", "disabled", "enabled")
            },
        },
    }
    if on_demand:
        capability = {"supported": model.compacts_on_demand}
        capabilities["compaction"] = {**capability, "summarize": capability}
    return {
        "type": "model",
        "id": model.name,
        "display_name": model.name.replace("-", " ").title(),
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "capabilities": capabilities,
    }
