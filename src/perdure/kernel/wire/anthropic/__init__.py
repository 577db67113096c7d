"""Anthropic's Messages API: requests, messages, responses and streams, decoded and encoded without loss."""

from perdure.kernel.wire.anthropic.codec import ANTHROPIC, AnthropicCodec
from perdure.kernel.wire.anthropic.events import encode_events

__all__ = ["ANTHROPIC", "AnthropicCodec", "encode_events"]
