"""OpenAI's Responses API: a flat list of items, and the messages that they are."""

from perdure.kernel.wire.responses.codec import RESPONSES, ResponsesCodec
from perdure.kernel.wire.responses.pairs import unpaired

__all__ = ["RESPONSES", "ResponsesCodec", "unpaired"]
