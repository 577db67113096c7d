"""How the many spellings of a model's name become one key.

Knows how vendors, clouds, routers and local servers decorate names. Must never know which models exist: a key
says nothing about whether anybody has a profile for it.

A name is never shortened to a *different* model: version numbers and size words that make another model
(`-mini`, `-pro`, `-codex`) stay in the key. What may go is listed in `_ROUTE`, `_DATE` and `_WEIGHTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.kernel.pattern import pattern

_REGION = pattern(r"^(?:(?:us|eu|apac|au|jp|global|us-gov)\.)?(?:anthropic|meta|mistral|deepseek|openai|qwen)\.")
"""Bedrock: `us.anthropic.claude-opus-4-5-20251101-v1:0`, with or without an inference region."""

_ROUTER = pattern(r"^(?:openrouter|azure|bedrock|vertex|foundry)-")

_VERSION = pattern(r"-v\d+(?::\d+k?)?$")
"""Bedrock's revision, `-v1:0`; `:0` alone never stands without it."""

_DATE = pattern(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d)$")

_ROUTE = pattern(
    r"(?:\[1m\]|[-:@](?:latest|default|free|beta|exp|preview|thinking|reasoning|fast|nitro|floor|online|cloud|"
    r"minimal|low|medium|high|xhigh))$"
)
"""Service tiers, router options and efforts: the same model with the same limits (some resellers ask more for
`-fast`, which no price here knows). A profile whose own id ends in
such a word is found first, since the longest key is tried first."""

_WEIGHTS = pattern(
    r"[-:](?:\d+(?:\.\d+)?[bm]|\d+x\d+b|a\d+(?:\.\d+)?b|\d+e|instruct|chat|it|hf|gguf|awq|gptq|mlx|turbo|versatile|"
    r"instant|fp8|fp4|mxfp4|nvfp4|bf16|f16|[48]bit|int[48]|q\d(?:_[a-z0-9]+)*|\d{4}|tee|tput)$"
)
"""Sizes, quantisations and chat variants of open weights: `qwen3-coder:30b-a3b-q4_K_M`. The name of a closed model
never loses such a word: `gpt-5-chat` is not `gpt-5`."""

_CLAUDE_ORDER = pattern(r"^claude-(\d+(?:-\d+)?)-(opus|sonnet|haiku|fable|mythos)(?=$|-)")


def keys_of(model_id: str) -> Iterator[str]:
    """Every key under which a profile of this model may stand, the longest first."""
    return _keys(model_id, (_VERSION, _DATE), (_VERSION, _DATE, _ROUTE))


def open_keys_of(model_id: str) -> Iterator[str]:
    """More keys, which hold for open weights alone: without sizes, quantisations and chat variants."""
    return _keys(model_id, (_VERSION, _DATE, _ROUTE, _WEIGHTS))


def key_of(model_id: str) -> str:
    """The key of a profile's own id: the spelling is evened out and nothing is taken away."""
    return _canonical(_plain(model_id))


def _keys(model_id: str, *endings: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    key = _plain(model_id)
    every = (_canonical(shorter) for group in endings for shorter in _shortened(key, group))
    return iter(dict.fromkeys(every))


def _plain(model_id: str) -> str:
    """Lower case, without the vendor's path, the cloud's region or the router's name."""
    last = model_id.strip().lower().rsplit("/", 1)[-1]
    return _ROUTER.sub("", _REGION.sub("", last))


def _canonical(key: str) -> str:
    """`claude-4.5-opus` and `claude-opus-4-5` are one: dots between digits and colons become dashes."""
    dashed = re.sub(r"(?<=\d)\.(?=\d)", "-", key).replace(":", "-")
    return _CLAUDE_ORDER.sub(r"claude-\2-\1", dashed)


def _shortened(key: str, endings: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    """The key, then the key with one ending fewer each time, until none of these endings is left."""
    yield key
    while True:
        shorter = next((cut for ending in endings if (cut := ending.sub("", key)) not in (key, "")), None)
        if shorter is None:
            return
        key = shorter
        yield key
