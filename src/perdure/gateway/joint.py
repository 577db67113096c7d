"""A stream of Anthropic's, joined from the streams of several requests into one that a client can read.

It knows the events and their order. It must never know what a tool does. Events that need no change keep their own
bytes' meaning and order; calls of the gateway's own tools, and the seams between requests, are left out.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx

from perdure.gateway.answers import message_iteration
from perdure.gateway.exchange import Denied, Exchange, events_of, whole_of
from perdure.gateway.refusals import framed
from perdure.gateway.upstream import close
from perdure.kernel.errors import CallRefused, InvalidJson, InvalidMessage
from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.wire import ANTHROPIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Prelude:
    """What stands before the model's answer: the events of a compaction block, and what it cost."""

    events: tuple[JsonObject, ...] = ()
    """Of blocks, numbered from 0."""
    blocks: int = 0
    iterations: tuple[JsonObject, ...] = ()


@dataclass(slots=True)
class Joint:
    """One stream for a client."""

    exchange: Exchange
    edits: bool
    """Whether the client hears which edits were applied."""
    prelude: Prelude = field(default_factory=Prelude)
    _next: int = 0
    _output: int = 0

    async def stream(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The events for the client, as bytes.

        Raises:
            CallRefused: an answer broke off or makes no sense.
        """
        first = True
        while True:
            decoder = ANTHROPIC.stream()
            ending: JsonObject | None = None
            places: dict[int, int] = {}
            try:
                async with aclosing(events_of(response)) as events:
                    async for event in events:
                        decoder.feed(event)
                        if event.get("type") == "message_delta":
                            ending = event
                        for told in self._shown(event, places, first):
                            yield framed("anthropic", told)
            except httpx.HTTPError as error:
                raise CallRefused(f"the upstream's answer broke off ({type(error).__name__})", status=502) from error
            except (InvalidJson, InvalidMessage) as error:
                raise CallRefused("the upstream's answer makes no sense", status=502) from error
            finally:
                await close(response)
            if decoder.error is not None:
                return
            answer = whole_of(decoder)
            call = self.exchange.call
            call.tally.counted(call.profile, answer.message.usage)
            usage = answer.message.usage
            self._output += usage.output_tokens if usage else 0
            if not await self.exchange.went_on(answer.message):
                await self.exchange.finish(answer)
                yield framed("anthropic", self._ending(ending or {"type": "message_delta", "delta": {}}))
                yield framed("anthropic", {"type": "message_stop"})
                return
            again = await self.exchange.ask()
            if isinstance(again, Denied):
                raise CallRefused(f"the upstream refused to go on: {again.failure.message}", status=again.status)
            response, first = again, False

    def _shown(self, event: JsonObject, places: dict[int, int], first: bool) -> Sequence[JsonObject]:
        """An event as the client sees it."""
        kind = event.get("type")
        if kind == "message_start":
            return [event, *self._opening()] if first else ()
        if kind in ("message_delta", "message_stop"):
            return ()
        index = event.get("index")
        if kind == "content_block_start" and isinstance(index, int):
            if self._is_own(event.get("content_block")):
                return ()
            places[index] = self._next
            self._next += 1
        if not isinstance(index, int):
            return (event,)
        return ({**event, "index": places[index]},) if index in places else ()

    def _opening(self) -> Sequence[JsonObject]:
        self._next += self.prelude.blocks
        return self.prelude.events

    def _is_own(self, block: Json) -> bool:
        return (
            isinstance(block, dict)
            and block.get("type") == "tool_use"
            and str(block.get("name")) in self.exchange.own.names
        )

    def _ending(self, event: JsonObject) -> JsonObject:
        usage = event.get("usage")
        told: JsonObject = dict(usage) if isinstance(usage, dict) else {}
        if self.prelude.iterations:
            told["iterations"] = [*self.prelude.iterations, message_iteration(told, self.exchange.call.model)]
        if self._output:
            told["output_tokens"] = self._output
        ending: JsonObject = {**event, "usage": told}
        if self.edits:
            ending["context_management"] = {"applied_edits": self.exchange.engaged.applied()}
        return ending
