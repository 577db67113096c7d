"""Asking an upstream on behalf of a call: once, and again where that is the gateway's own affair.

It knows overflows, rounds with the gateway's own tools, and what is kept of an answer. It must never know the form in
which a client gets it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import field, replace

import httpx

from perdure.gateway.call import Call
from perdure.gateway.hidden import Splice
from perdure.gateway.keeper import CANNOT_FIT, Engaged
from perdure.gateway.own_tools import OwnTools
from perdure.gateway.upstream import Outgoing, Upstreams, aiter_raw, close, lower
from perdure.kernel.agent import Failure
from perdure.kernel.errors import CallRefused, InvalidJson, InvalidMessage
from perdure.kernel.messages import Block, JsonObject, Message, Request, Response, Text, ToolResult, ToolUse
from perdure.kernel.value import record, value
from perdure.kernel.wire import Delta, Dialect, StreamDecoder
from perdure.providers import classify
from perdure.providers.sse import EventReader

ROUNDS = 12
"""Rounds with our own tools in one answer; then the client gets what there is."""

LONGEST_ERROR = 65_536
"""Bytes of a refusal that are read."""

ENDS = frozenset({"tool_use", "tool_calls", "completed", "stop"})
"""Why a model stops that waits for results; some servers of Chat Completions say `stop`."""

WHOLE: Mapping[Dialect, str] = {"anthropic": "end_turn", "chat": "stop", "responses": "completed"}
"""Why it stops that waits for nothing."""


@value
class Denied:
    """An upstream's refusal, as it came."""

    status: int
    headers: dict[str, str]
    body: bytes
    failure: Failure


@record()
class Exchange:
    """One call under way."""

    call: Call
    engaged: Engaged
    upstreams: Upstreams
    own: OwnTools
    outgoing: Callable[[Request], Outgoing]
    """The request as it goes to the upstream."""
    recovered: Callable[[], None]
    ran: Callable[[], None]
    """Told of each call of our own tools."""
    rounds: list[tuple[Message, Message]] = field(default_factory=list[tuple[Message, Message]])
    """Answers and results that the client does not see."""

    async def ask(self) -> httpx.Response | Denied:
        """The head of an answer; after an overflow, of the answer to a smaller request.

        Raises:
            CallRefused: nothing came back, or no smaller request is possible.
        """
        for last in (False, True):
            outgoing = self.outgoing(self.engaged.request)
            response = await self.upstreams.open(outgoing)
            if response.status_code == 200:
                self.call.tally.taken(self.call.profile, len(outgoing.body))
                if last:
                    self.recovered()
                return response
            denied = await refusal_of(response)
            if denied.failure.kind == "thinking_bound" and not last and self.call.profile.offers("drop_block"):
                # An edit moved what it was bound to: the provider may leave it out (preserved thinking, 2026-10).
                self.engaged.drop_block = True
                continue
            if denied.failure.kind != "overflow" or not self.engaged.task.auto:
                return denied
            if last or not await self.engaged.recover(denied.failure.message):
                break
        raise CallRefused(
            "the conversation does not fit the model behind this gateway, whatever is left out of it; "
            "begin a new one, or declare the window that the model really has",
            code=CANNOT_FIT,
        )

    async def converse(self, response: httpx.Response) -> Response | Denied:
        """The whole answer, after all rounds with our own tools.

        Raises:
            CallRefused: an answer broke off or makes no sense.
        """
        while True:
            answer = await gathered(response, self.call)
            self.call.tally.counted(self.call.profile, answer.message.usage)
            if not await self.went_on(answer.message):
                return await self.finish(answer)
            again = await self.ask()
            if isinstance(again, Denied):
                return again
            response = again

    async def went_on(self, message: Message) -> bool:
        """Whether an answer calls our own tools alone; then they ran, and the conversation has to be asked again."""
        ours, others = self.split(message)
        if not ours or others or message.stop_reason not in ENDS or len(self.rounds) >= ROUNDS:
            return False
        await self._run(message, ours)
        await self.engaged.project()
        return True

    async def _run(self, message: Message, ours: list[ToolUse]) -> None:
        engaged = self.engaged
        results: list[ToolResult] = []
        for use in ours:
            self.ran()
            results.append(await self.own.call(use, engaged.conversation.record.family))
        first = len(engaged.transcript)
        said = replace(message, id=f"m{first}")
        told = Message(id=f"m{first + 1}", role="user", content=tuple(results), provenance="tool")
        self.rounds.append((said, told))
        engaged.extra = (*engaged.extra, said, told)

    def split(self, message: Message) -> tuple[list[ToolUse], list[ToolUse]]:
        """The calls of our own tools, and the client's."""
        ours = [use for use in message.tool_uses if use.name in self.own.names]
        return ours, [use for use in message.tool_uses if use.name not in self.own.names]

    async def finish(self, answer: Response) -> Response:
        """Keep what is to be kept of the last answer, and give the one that the client sees."""
        message = answer.message
        await self.engaged.answered(message.usage)
        ours, others = self.split(message)
        if not self.rounds and not ours:
            return answer
        seen = [said for said, _ in self.rounds] + [message]
        content = tuple(
            block
            for said in seen
            for block in said.content
            if not (isinstance(block, ToolUse) and block.name in self.own.names)
        )
        if self.call.dialect == "chat":
            content = _one_text(content)
        waits = bool(others) or message.stop_reason not in ENDS
        shown = replace(
            message, content=content, stop_reason=message.stop_reason if waits else WHOLE[self.call.dialect]
        )
        await self._hide(message, ours, shown)
        return replace(answer, message=shown)

    async def _hide(self, message: Message, ours: list[ToolUse], shown: Message) -> None:
        codec, engaged = self.call.codec, self.engaged
        if self.call.translated:
            return
        results = [await self.own.call(use, engaged.conversation.record.family) for use in ours]
        told = Message(id="results", role="user", content=tuple(results), provenance="tool")
        actual = [*engaged.extra, replace(message, usage=None)]
        behind = codec.encode_messages([told]) if results else []
        inside = self.call.dialect == "anthropic"
        if not inside and behind:
            actual.append(told)
        results_inside: tuple[JsonObject, ...] = ()
        if inside and behind and isinstance(content := behind[0].get("content"), list):
            results_inside = tuple(block for block in content if isinstance(block, dict))
        splice = Splice(
            at=engaged.items,
            shown=tuple(codec.encode_messages([replace(shown, usage=None)])),
            actual=tuple(codec.encode_messages(actual)),
            results=results_inside,
        )
        await engaged.hid(splice)


def _one_text(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """What was said in several answers as one: a message of Chat Completions has one text."""
    texts = [block for block in content if isinstance(block, Text)]
    if len(texts) < 2:
        return content
    others = tuple(block for block in content if not isinstance(block, Text))
    return (replace(texts[0], text="".join(text.text for text in texts)), *others)


async def refusal_of(response: httpx.Response) -> Denied:
    """A refusal, read no further than it can say something."""
    body = bytearray()
    try:
        async with aclosing(aiter_raw(response)) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= LONGEST_ERROR:
                    break
    except httpx.HTTPError:
        body.clear()
    finally:
        await close(response)
    headers = lower(response.headers)
    failure = classify(response.status_code, bytes(body), headers)
    return Denied(status=response.status_code, headers=headers, body=bytes(body), failure=failure)


async def gathered(response: httpx.Response, call: Call) -> Response:
    """An answer as a value, streamed or not.

    Raises:
        CallRefused: it broke off, makes no sense, or says that it failed.
    """
    codec = call.upstream_codec
    if is_stream(response):
        decoder = codec.stream()
        async with aclosing(decoded(response, decoder)) as deltas:
            async for _ in deltas:
                pass
        return whole_of(decoder)
    try:
        with reading():
            return codec.decode_response(await response.aread())
    finally:
        await close(response)


@contextmanager
def reading() -> Generator[None]:
    """What goes wrong while an upstream's answer is read, in the words of a refusal."""
    try:
        yield
    except httpx.HTTPError as error:
        raise CallRefused(f"the upstream's answer broke off ({type(error).__name__})", status=502) from error
    except (InvalidJson, InvalidMessage) as error:
        raise CallRefused("the upstream's answer makes no sense", status=502) from error


def is_stream(response: httpx.Response) -> bool:
    """Whether an answer comes as events."""
    return "event-stream" in response.headers.get("content-type", "")


async def decoded(response: httpx.Response, decoder: StreamDecoder) -> AsyncGenerator[Delta, None]:
    """The deltas of a stream.

    Raises:
        CallRefused: it broke off or makes no sense.
    """
    try:
        with reading():
            async with aclosing(events_of(response)) as events:
                async for event in events:
                    for delta in decoder.feed(event):
                        yield delta
    finally:
        await close(response)


def whole_of(decoder: StreamDecoder) -> Response:
    """The answer that a stream told.

    Raises:
        CallRefused: it told of a failure, or ended before its end.
    """
    if decoder.error is not None:
        failure = classify(None, {"error": decoder.error})
        raise CallRefused(f"the upstream failed in the middle of its answer: {failure.message}", status=529)
    if not decoder.complete:
        raise CallRefused("the upstream's answer ended before its end", status=502)
    return decoder.response()


async def events_of(response: httpx.Response) -> AsyncGenerator[JsonObject, None]:
    """The events of a stream."""
    reader = EventReader()
    async with aclosing(aiter_raw(response)) as chunks:
        async for chunk in chunks:
            for event in reader.feed(chunk):
                yield event
    for event in reader.end():
        yield event
