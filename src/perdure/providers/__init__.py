"""Where bytes leave: models behind HTTP APIs, and servers on this machine."""

from perdure.providers.anthropic import AnthropicApi, Native, anthropic
from perdure.providers.edge import Edge
from perdure.providers.failures import classify
from perdure.providers.http_model import HttpModel
from perdure.providers.local import LocalModel, chat_at, find_local, window_of
from perdure.providers.openai import ChatApi, ResponsesApi, chat, openai
from perdure.providers.retry import Patience

__all__ = [
    "AnthropicApi",
    "ChatApi",
    "Edge",
    "HttpModel",
    "LocalModel",
    "Native",
    "Patience",
    "ResponsesApi",
    "anthropic",
    "chat",
    "chat_at",
    "classify",
    "find_local",
    "openai",
    "window_of",
]
