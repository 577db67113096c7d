"""What the Messages API counted, as a value and back.

It knows the usage object (SDK `anthropic` 2.14.0, `BetaUsage`). It must never know a price. The top-level counters
leave out compaction iterations; whoever bills reads `iterations` in `Usage.raw`.
"""

from __future__ import annotations

from perdure.kernel.messages import JsonObject, Usage
from perdure.kernel.messages.fields import tokens_of


def decode_usage(given: JsonObject) -> Usage:
    """The counters of one response; what is missing or null counts as 0."""
    split = given.get("cache_creation")
    hour = tokens_of(split.get("ephemeral_1h_input_tokens")) if isinstance(split, dict) else 0
    minutes = tokens_of(split.get("ephemeral_5m_input_tokens")) if isinstance(split, dict) else 0
    written = given.get("cache_creation_input_tokens")
    return Usage(
        input_tokens=tokens_of(given.get("input_tokens")),
        cache_read_tokens=tokens_of(given.get("cache_read_input_tokens")),
        cache_write_tokens=tokens_of(written) if written is not None else hour + minutes,
        cache_write_1h_tokens=hour,
        output_tokens=tokens_of(given.get("output_tokens")),
        raw=given,
    )


def usage_object(usage: Usage) -> JsonObject:
    """The wire object: the provider's own where it still says the same, else one made from the counters."""
    raw = usage.raw
    # OpenAI's usage shares names with this one, but always has a total, which this one never has.
    if raw is not None and "total_tokens" not in raw and decode_usage(raw) == usage:
        return raw
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens - usage.cache_write_1h_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        },
        "output_tokens": usage.output_tokens,
    }
