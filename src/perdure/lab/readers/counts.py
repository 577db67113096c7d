"""What a provider counted, from the names that recordings have for it.

It knows the names. It must never know where in a file they stand.
"""

from __future__ import annotations

from perdure.kernel.messages import JsonObject, Usage
from perdure.kernel.wire.anthropic.usage import decode_usage
from perdure.lab.readers.fields import count, part


def counted(usage: Usage) -> Usage | None:
    """The usage, unless it says that nothing was read: then the recording does not know it."""
    return usage if usage.prompt_tokens > 0 else None


def usage_of(raw: JsonObject) -> Usage | None:
    """The usage of an Anthropic, OpenAI or LiteLLM response; None where nothing was counted."""
    if "prompt_tokens" in raw or "input_tokens_details" in raw or "cached_input_tokens" in raw:
        return counted(inclusive(raw))
    return counted(decode_usage(raw))


def inclusive(raw: JsonObject) -> Usage:
    """Usage whose input counts what was read from the cache, and written to it, among the rest (OpenAI, LiteLLM)."""
    details = part(raw, "prompt_tokens_details") | part(raw, "input_tokens_details")
    read = (
        count(details, "cached_tokens")
        or count(raw, "cached_input_tokens")
        or count(raw, "cache_read_input_tokens")
        or count(raw, "cache_read_tokens")
        or count(raw, "prompt_cache_hit_tokens")
        or count(raw, "cached_tokens")
    )
    written = (
        count(details, "cache_write_tokens")
        or count(details, "cache_creation_tokens")
        or count(raw, "cache_creation_input_tokens")
        or count(raw, "cache_write_tokens")
    )
    total = count(raw, "prompt_tokens") or count(raw, "input_tokens")
    return Usage(
        input_tokens=max(0, total - read - written),
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=count(raw, "completion_tokens") or count(raw, "output_tokens"),
        raw=raw,
    )
