"""Anthropic's Messages API."""

from perdure.providers.anthropic.api import AnthropicApi, anthropic
from perdure.providers.anthropic.native import (
    MEMORY_TOOL,
    Native,
    compact,
    count_tokens,
    deferred,
    tool_search,
)

__all__ = [
    "MEMORY_TOOL",
    "AnthropicApi",
    "Native",
    "anthropic",
    "compact",
    "count_tokens",
    "deferred",
    "tool_search",
]
