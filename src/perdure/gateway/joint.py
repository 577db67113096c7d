"""One stream for a client, joined from the streams of several requests to an upstream of the same protocol.

It knows when a stream ends and another begins. It must never know an event: `seams` does. Nothing is held back but what
cannot be told yet: whose a call is, and how the whole ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from perdure.gateway.exchange import Denied, Exchange, events_of, reading, whole_of
from perdure.gateway.refusals import framed
from perdure.gateway.seams import Seam
from perdure.gateway.upstream import close
from perdure.kernel.errors import CallRefused
from perdure.kernel.value import record
from perdure.kernel.wire import StreamDecoder

DONE = b"data: [DONE]\n\n"
"""What ends a stream of Chat Completions."""


@record()
class Joint:
    """One stream for a client."""

    exchange: Exchange
    seam: Seam
    _output: int = 0
    """Tokens of all answers."""

    async def stream(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The events for the client, as bytes.

        Raises:
            CallRefused: an answer broke off or makes no sense.
        """
        call = self.exchange.call
        while True:
            decoder = call.codec.stream()
            async with aclosing(self._passing(response, decoder)) as pieces:
                async for piece in pieces:
                    yield piece
            if decoder.error is not None:
                return
            answer = whole_of(decoder)
            call.tally.counted(call.profile, answer.message.usage)
            usage = answer.message.usage
            self._output += usage.output_tokens if usage else 0
            if not await self.exchange.went_on(answer.message):
                break
            again = await self.exchange.ask()
            if isinstance(again, Denied):
                raise CallRefused(f"the upstream refused to go on: {again.failure.message}", status=again.status)
            response = again
            self.seam.again()
        shown = await self.exchange.finish(answer)
        for event in self.seam.ending(shown.message.stop_reason, self._output):
            yield framed(call.dialect, event)
        if call.dialect == "chat":
            yield DONE

    async def _passing(self, response: httpx.Response, decoder: StreamDecoder) -> AsyncGenerator[bytes, None]:
        """What the client sees of one stream."""
        try:
            with reading():
                async with aclosing(events_of(response)) as events:
                    async for event in events:
                        decoder.feed(event)
                        for told in self.seam.shown(event):
                            yield framed(self.exchange.call.dialect, told)
        finally:
            await close(response)
