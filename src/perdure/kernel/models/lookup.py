"""From a model's name to its profile.

Knows the order in which a profile is sought: declared by the user, then the table, then a safe default. Must never
raise for a model that nobody knows: a session goes on with what is certain, and `known` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from perdure.kernel.models import rules
from perdure.kernel.models._generated_prices import PRICES
from perdure.kernel.models.names import key_of, keys_of, open_keys_of
from perdure.kernel.models.profile import Dialect, ModelProfile, Source, Window
from perdure.kernel.models.table import ALIASES, HAND_PRICES, ROWS


def lookup(model_id: str, declared: Sequence[ModelProfile] = (), *, dialect: Dialect | None = None) -> ModelProfile:
    """The profile of `model_id`, however vendors, clouds and routers spell it.

    Declared profiles come first, an equal id before an equal key. A model that nobody knows gets `unknown`;
    `dialect` is then the request format that it is spoken to in.
    """
    exact = next((profile for profile in declared if profile.id == model_id), None)
    return (
        exact
        or (_find(model_id, {key_of(profile.id): profile for profile in declared}) if declared else None)
        or _in_table(model_id)
        or unknown(model_id, dialect)
    )


def unknown(model_id: str, dialect: Dialect | None = None) -> ModelProfile:
    """What is safe to assume of any model: no window, no price, no native feature, the most tokens per byte and
    the strictest rules. Without a `dialect`, a name with `claude` in it is taken to speak Anthropic's."""
    marked = dialect == "anthropic" or (dialect is None and "claude" in model_id.lower())
    generation = rules.CLAUDE_UNKNOWN if marked else rules.UNKNOWN
    return ModelProfile(
        id=model_id,
        family=generation.family if "claude" in model_id.lower() else "unknown",
        window=Window(tokens=None, max_output=None),
        cache=rules.marked(min_tokens=4096) if marked else rules.automatic(read=0.1, lives=rules.MINUTES),
        tokenizer=generation.tokenizer,
        thinking=generation.thinking,
        features=generation.features,
        prices=None,
        source=Source(text="no profile: a safe default", date=""),
        known=False,
    )


# A gateway asks for the same few names with each request, and a name's spellings take a millisecond to go through.
@lru_cache(maxsize=1_000)
def _in_table(model_id: str) -> ModelProfile | None:
    return _find(model_id, _KNOWN)


def _find(model_id: str, profiles: Mapping[str, ModelProfile]) -> ModelProfile | None:
    named = (profiles[key] for key in keys_of(model_id) if key in profiles)
    weights = (profiles[key] for key in open_keys_of(model_id) if key in profiles and profiles[key].family == "open")
    return next(named, None) or next(weights, None)


def _known() -> dict[str, ModelProfile]:
    """The table by key, with prices, aliases included."""
    by_hand = {name: prices for name, (prices, _) in HAND_PRICES.items()}
    priced = {row.id: replace(row, prices=PRICES.get(row.id) or by_hand.get(row.id)) for row in ROWS}
    return {key_of(name): profile for name, profile in priced.items()} | {
        key_of(alias): priced[name] for alias, name in ALIASES.items()
    }


_KNOWN: Mapping[str, ModelProfile] = _known()

PROFILES: tuple[ModelProfile, ...] = tuple({profile.id: profile for profile in _KNOWN.values()}.values())
"""Every profile of the table, with its prices."""
