"""OpenAI's Chat Completions, spoken by many servers: a list of messages with roles, and the messages that they are."""

from perdure.kernel.wire.chat.codec import CHAT, ChatCodec

__all__ = ["CHAT", "ChatCodec"]
