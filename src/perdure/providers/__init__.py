"""Where bytes leave: models behind HTTP APIs, and servers on this machine."""

from perdure.providers.anthropic import AnthropicApi, Native, anthropic
from perdure.providers.edge import Edge
from perdure.providers.failures import classify
from perdure.providers.http_model import HttpModel
from perdure.providers.local import LocalModel, chat_at, find_local, window_of
from perdure.providers.openai import ChatApi, ResponsesApi, chat, openai
from perdure.providers.retry import Patience
from perdure.providers.warm import Ping, keep_warm

__all__ = [
    "AnthropicApi",
    "ChatApi",
    "Edge",
    "HttpModel",
    "LocalModel",
    "Native",
    "Patience",
    "Ping",
    "ResponsesApi",
    "anthropic",
    "chat",
    "chat_at",
    "classify",
    "find_local",
    "keep_warm",
    "openai",
    "window_of",
]
