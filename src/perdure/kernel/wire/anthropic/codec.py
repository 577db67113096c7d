"""The codec of Anthropic's Messages API.

It knows which function serves which door, and copies what a caller still holds. It must never know a field: the files
beside it do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from perdure.kernel.messages import JsonObject, Message, Request, Response, decode_object, freeze_object
from perdure.kernel.value import record
from perdure.kernel.wire.anthropic.decode import decode_message, decode_request, decode_response
from perdure.kernel.wire.anthropic.encode import encode_request, encode_response, message_object
from perdure.kernel.wire.anthropic.events import encode_events
from perdure.kernel.wire.anthropic.names import DIALECT
from perdure.kernel.wire.anthropic.stream import AnthropicStream
from perdure.kernel.wire.codec import Dialect


@record(frozen=True)
class AnthropicCodec:
    """The two-way map between values and the Messages API; see `Codec` for the contract."""

    @property
    def dialect(self) -> Dialect:
        """The name of this dialect."""
        return DIALECT

    def decode_request(self, body: bytes | Mapping[str, object]) -> Request:
        """The request of a body; marks that say nothing but their life are lifted out of its content."""
        return decode_request(_object(body))

    def encode_request(self, request: Request) -> bytes:
        """The canonical body; encodings are kept with messages and tools."""
        return encode_request(request)

    def decode_messages(self, items: Iterable[Mapping[str, object]], *, first: int = 0) -> tuple[Message, ...]:
        """The values of wire messages. Cache marks stay fields of their blocks, since no request holds them."""
        return tuple(decode_message(freeze_object(item), index) for index, item in enumerate(items, first))

    def encode_messages(self, messages: Iterable[Message]) -> list[JsonObject]:
        """The wire messages, which share nothing with the values."""
        return [freeze_object(message_object(message)) for message in messages]

    def decode_response(self, body: bytes | Mapping[str, object]) -> Response:
        """The response of a body; its message has the id `m0`, the provider's own id stays in `params`."""
        return decode_response(_object(body))

    def encode_response(self, response: Response) -> bytes:
        """The canonical body of a response."""
        return encode_response(response)

    def encode_events(self, response: Response) -> Iterator[JsonObject]:
        """The events that tell this response to a client that asked for a stream."""
        return encode_events(response)

    def stream(self) -> AnthropicStream:
        """A decoder for the events of one response."""
        return AnthropicStream()


ANTHROPIC = AnthropicCodec()


def _object(body: bytes | Mapping[str, object]) -> JsonObject:
    return decode_object(body) if isinstance(body, bytes) else freeze_object(body)
