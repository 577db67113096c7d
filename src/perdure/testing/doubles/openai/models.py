"""What each OpenAI model accepts, in the double's own table.

It knows OpenAI's model pages and guides up to 2026-11. It must never know `perdure.kernel.models`. Figures of models
that the guides name without a page are unverified and follow the model before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perdure.kernel.value import value


@value
class OpenAIModel:
    """One model, as far as a request can notice."""

    name: str
    window: int
    """Tokens of input and output together."""
    max_output: int
    """Tokens."""
    reasons: bool
    """Has reasoning items; takes no sampling parameters."""
    long_retention_only: bool = False
    """`prompt_cache_retention` may only be `24h` (5.5 and later)."""
    bills_cache_writes: bool = False
    """The cache is written at breakpoints and billed for it (5.6 and later)."""


_ROWS = (
    OpenAIModel(name="gpt-4o", window=128_000, max_output=16_384, reasons=False),
    OpenAIModel(name="gpt-4.1", window=1_047_576, max_output=32_768, reasons=False),
    OpenAIModel(name="o3", window=200_000, max_output=100_000, reasons=True),
    OpenAIModel(name="gpt-5", window=400_000, max_output=128_000, reasons=True),
    OpenAIModel(name="gpt-5.1", window=400_000, max_output=128_000, reasons=True),
    OpenAIModel(name="gpt-5.2", window=400_000, max_output=128_000, reasons=True),
    OpenAIModel(name="gpt-5.5", window=400_000, max_output=128_000, reasons=True, long_retention_only=True),
    OpenAIModel(
        name="gpt-5.6",
        window=400_000,
        max_output=128_000,
        reasons=True,
        long_retention_only=True,
        bills_cache_writes=True,
    ),
)

OPENAI_MODELS: Mapping[str, OpenAIModel] = {model.name: model for model in _ROWS}
"""All models by name; a dated name (`-2026-01-01`) means the same model."""


def find(models: Mapping[str, OpenAIModel], name: object) -> OpenAIModel | None:
    """The model of that name, with or without a date behind it."""
    return models.get(re.sub(r"-20\d\d-\d\d-\d\d$", "", name)) if isinstance(name, str) else None
