"""A double of the OpenAI Responses and Chat Completions APIs that refuses what the real ones refuse."""

from __future__ import annotations

from perdure.testing.doubles.openai.app import OpenAIDouble
from perdure.testing.doubles.openai.models import OPENAI_MODELS, OpenAIModel

__all__ = ["OPENAI_MODELS", "OpenAIDouble", "OpenAIModel"]
