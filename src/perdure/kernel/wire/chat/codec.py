"""The codec of OpenAI's Chat Completions: the one object that others see.

It knows which function does what. It must never hold a rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from perdure.kernel.messages import (
    JsonObject,
    Message,
    Request,
    Response,
    decode_object,
    encode_json,
    freeze_object,
)
from perdure.kernel.wire.chat.events import encode_events
from perdure.kernel.wire.chat.messages import decode_list, encode_message
from perdure.kernel.wire.chat.parts import DIALECT
from perdure.kernel.wire.chat.request import decode_request, encode_request
from perdure.kernel.wire.chat.response import decode_response, encode_response
from perdure.kernel.wire.chat.stream import ChatStream


class ChatCodec:
    """Values to and from OpenAI's Chat Completions. It holds no state; `CHAT` is the one that everybody shares."""

    @property
    def dialect(self) -> Literal["chat"]:
        """Which wire this is."""
        return DIALECT

    def decode_request(self, body: bytes | Mapping[str, object]) -> Request:
        """The value of a request body."""
        return decode_request(_object(body))

    def encode_request(self, request: Request) -> bytes:
        """The canonical body."""
        return encode_request(request)

    def decode_messages(self, items: Iterable[Mapping[str, object]], *, first: int = 0) -> tuple[Message, ...]:
        """The messages of a list of chat messages."""
        return decode_list((freeze_object(item) for item in items), first)

    def encode_messages(self, messages: Iterable[Message]) -> list[JsonObject]:
        """The chat messages of messages."""
        return [item for message in messages for item in encode_message(message)]

    def decode_response(self, body: bytes | Mapping[str, object]) -> Response:
        """The value of a response body."""
        return decode_response(_object(body))

    def encode_response(self, response: Response) -> bytes:
        """The canonical body of a response."""
        return encode_json(encode_response(response))

    def encode_events(self, response: Response) -> Iterator[JsonObject]:
        """A whole response as the chunks of a stream, for a client that asked for one."""
        return encode_events(response)

    def stream(self) -> ChatStream:
        """A decoder for the chunks of one streamed response."""
        return ChatStream()


def _object(body: bytes | Mapping[str, object]) -> JsonObject:
    return decode_object(body) if isinstance(body, bytes) else freeze_object(body)


CHAT = ChatCodec()
