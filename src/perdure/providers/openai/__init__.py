"""OpenAI's two APIs, of which the older one is spoken by many servers."""

from perdure.providers.openai.api import ChatApi, ResponsesApi, chat, openai
from perdure.providers.openai.compact import Window, compact

__all__ = ["ChatApi", "ResponsesApi", "Window", "chat", "compact", "openai"]
