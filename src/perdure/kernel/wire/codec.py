"""What a codec is: the two-way map between values and one provider's wire.

It knows the shape that every codec has. It must never know a dialect. A codec is pure and stateless; `decode` then
`encode` gives an equal wire object, and the very same bytes where the input was canonical.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Protocol, TypeAlias

from perdure.kernel.messages import Block, JsonObject, Message, Request, Response
from perdure.kernel.value import value

Dialect: TypeAlias = Literal["anthropic", "responses", "chat"]


@value
class BlockStarted:
    """A block began at this position of the answer; what is known of it so far."""

    index: int
    block: Block


@value
class BlockGrew:
    """A piece of a block's content arrived: readable text, readable reasoning, or the argument text of a call."""

    index: int
    kind: Literal["text", "thinking", "input"]
    piece: str


@value
class BlockDone:
    """A block is complete, as it will stand in the message."""

    index: int
    block: Block


Delta: TypeAlias = BlockStarted | BlockGrew | BlockDone


class StreamDecoder(Protocol):
    """Turns the events of one streamed response into deltas for a screen, and in the end into the response."""

    def feed(self, event: JsonObject) -> tuple[Delta, ...]:
        """Take one event (the decoded `data` of a server-sent event).

        Raises:
            InvalidMessage: an event that does not fit what came before. An event of an unknown kind is passed over.
        """
        ...

    @property
    def error(self) -> JsonObject | None:
        """The provider's error object, if the stream carried one."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the provider said that the response is at its end."""
        ...

    def response(self) -> Response:
        """What arrived so far, equal to what the same response would be without streaming once `complete`."""
        ...


class Codec(Protocol):
    """One dialect's two-way map. Every `decode` takes bytes, or a caller's objects, which it copies.

    Every `decode` raises `InvalidJson` for what is no JSON, and `InvalidMessage` for a shape that cannot be a request,
    message or response at all; whatever is merely unknown is carried. Every `encode` raises `UntranslatableBlock` for a
    block that this dialect has no form for.
    """

    @property
    def dialect(self) -> Dialect:
        """Which wire this is."""
        ...

    def decode_request(self, body: bytes | Mapping[str, object]) -> Request:
        """The value of a request body."""
        ...

    def encode_request(self, request: Request) -> bytes:
        """The canonical body. The encodings of messages are kept with them, so that a long history costs one join."""
        ...

    def decode_messages(self, items: Iterable[Mapping[str, object]], *, first: int = 0) -> tuple[Message, ...]:
        """The values of a list of wire messages or items; ids are `m0`, `m1` ... counted from `first`."""
        ...

    def encode_messages(self, messages: Iterable[Message]) -> list[JsonObject]:
        """The wire messages or items, as objects for a caller's own client."""
        ...

    def decode_response(self, body: bytes | Mapping[str, object]) -> Response:
        """The value of a response body."""
        ...

    def encode_response(self, response: Response) -> bytes:
        """The canonical body of a response."""
        ...

    def encode_events(self, response: Response) -> Iterator[JsonObject]:
        """The events of the same response for a client that asked for a stream; decoding them gives it again."""
        ...

    def stream(self) -> StreamDecoder:
        """A decoder for the events of one streamed response."""
        ...
