"""A double of the Anthropic Messages API that refuses what the real one refuses."""

from __future__ import annotations

from perdure.testing.doubles.anthropic.app import AnthropicDouble
from perdure.testing.doubles.anthropic.models import MODELS, Model

__all__ = ["MODELS", "AnthropicDouble", "Model"]
