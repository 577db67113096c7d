"""Doubles of the provider APIs: they refuse what the real ones refuse, and keep a cache of their own.

They know what is documented and observed of the providers, up to 2026-11. They must never use the kernel's idea of it:
of `perdure.kernel` they import the JSON encoder alone, so that agreement with the kernel means something.

    double = AnthropicDouble(replies([answer("Hello.")]))
    with serve(double) as url:
        client = anthropic.Anthropic(base_url=url, api_key="any")
"""

from __future__ import annotations

from perdure.testing.doubles.anthropic import AnthropicDouble
from perdure.testing.doubles.faults import (
    CompactionUnavailable,
    Cut,
    ErrorInStream,
    Fault,
    Overloaded,
    RateLimited,
    ServerError,
    Slow,
)
from perdure.testing.doubles.inprocess import ANTHROPIC_HEADERS, OPENAI_HEADERS, Answered, post
from perdure.testing.doubles.openai import OpenAIDouble
from perdure.testing.doubles.record import Received, shared_prefix
from perdure.testing.doubles.script import Call, Raw, Say, Script, Think, Turn, answer, echo, replies, summariser
from perdure.testing.doubles.serve import serve

__all__ = [
    "ANTHROPIC_HEADERS",
    "Answered",
    "AnthropicDouble",
    "Call",
    "CompactionUnavailable",
    "Cut",
    "ErrorInStream",
    "Fault",
    "OPENAI_HEADERS",
    "OpenAIDouble",
    "Overloaded",
    "RateLimited",
    "Raw",
    "Received",
    "Say",
    "Script",
    "ServerError",
    "Slow",
    "Think",
    "Turn",
    "answer",
    "echo",
    "post",
    "replies",
    "serve",
    "shared_prefix",
    "summariser",
]
