"""From a call to its answer.

It knows the ways that a call can take: on as it came, with edits, behind a summary, in other words for another
upstream. It must never know HTTP on the client's side beyond the answer that it gives.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import httpx

from perdure.gateway.answers import (
    counted,
    iteration,
    kept_headers,
    message_of,
    openai_block,
    openai_usage,
    paused,
    window_item,
    with_block,
)
from perdure.gateway.call import ITEMS, Call
from perdure.gateway.compaction import (
    check_complete,
    opaque_item,
    signed_block,
    summary_item,
    threshold_block,
    unfolded,
    with_last_words,
)
from perdure.gateway.door import Chunks, Reply, json_reply
from perdure.gateway.exchange import Denied, Exchange, decoded, is_stream, whole_of
from perdure.gateway.joint import DONE, Joint
from perdure.gateway.keeper import Engaged, Keeper, Task
from perdure.gateway.metrics import Metrics
from perdure.gateway.own_tools import OwnTools
from perdure.gateway.refusals import broken, error_event, framed
from perdure.gateway.seal import Seal
from perdure.gateway.seams import AnthropicSeam, ChatSeam, Prelude, ResponsesSeam, Seam
from perdure.gateway.summaries import Summary, narrated, summarised
from perdure.gateway.told import Teller, tellable, teller_of
from perdure.gateway.translate import client_answer, client_refusal, upstream_body
from perdure.gateway.upstream import Upstreams, homeward, relayed
from perdure.gateway.watch import Watch
from perdure.gateway.wishes import Wish, wish_of
from perdure.guard import Guard
from perdure.kernel.agent import Failure
from perdure.kernel.context import Failed, Refused, Summarize
from perdure.kernel.context import Reply as Narrative
from perdure.kernel.errors import CallRefused, UserError
from perdure.kernel.messages import Json, JsonObject, Request, Response
from perdure.kernel.value import value
from perdure.memory import MemoryStore

EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}

COUNT_PATH = "/v1/messages/count_tokens"
COMPACT_PATH = "/v1/responses/compact"


@value
class Proxy:
    """Answers calls."""

    keeper: Keeper
    upstreams: Upstreams
    metrics: Metrics
    seal: Seal
    memory: MemoryStore | None
    guard: Guard

    async def create(self, call: Call) -> Reply:
        """An answer of a model.

        Raises:
            UserError: the call is refused.
        """
        wish = wish_of(call)
        if wish.nothing and not call.translated and not call.route.upstream_model:
            return await self._verbatim(call)
        items = _items(call)
        if items is None:
            return await self._verbatim(call)
        items = unfolded(call, self.seal, items)
        if wish.summarize is not None:
            return await self._on_demand(call, wish, items)
        engaged, prelude = await self._engaged(call, wish, items), Prelude()
        if wish.threshold is not None and engaged.tokens >= wish.threshold.trigger:
            engaged, prelude = await self._folded(call, wish, engaged, wish.threshold.instructions)
            if wish.threshold.pause:
                return paused(call, prelude.iterations, prelude.block)
        return await self._answered(call, wish, engaged, prelude)

    async def count(self, call: Call) -> Reply:
        """How many tokens a request has, behind edits and before.

        Raises:
            UserError: the call is refused.
        """
        wish = wish_of(call)
        if wish.nothing and not call.translated and not call.route.upstream_model:
            return await self._verbatim(call, COUNT_PATH)
        items = _items(call)
        if items is None:
            return await self._verbatim(call, COUNT_PATH)
        engaged = await self._engaged(call, wish, unfolded(call, self.seal, items), keep=False)
        if call.translated:
            return json_reply({"input_tokens": engaged.tokens})
        body = call.codec.encode_request(replace(engaged.request, params=_countable(engaged.request.params)))
        status, headers, raw = await self.upstreams.whole(call.outgoing(body, path=COUNT_PATH))
        if status != 200 or not wish.edits:
            return Reply(status=status, headers=kept_headers(headers), body=raw)
        return counted(raw, headers, engaged.saved)

    async def compact(self, call: Call) -> Reply:
        """OpenAI's `/responses/compact`.

        Raises:
            UserError: the call is refused.
        """
        wish = wish_of(call)
        native = call.route.native != "never" and call.profile.offers("response_compaction")
        if native and not call.translated and not wish.blocks:
            return await self._verbatim(call, COMPACT_PATH)
        items = _items(call)
        if items is None or call.body.get("previous_response_id") is not None:
            raise CallRefused("input: the whole list of items is needed here")
        plain = unfolded(call, self.seal, items)
        engaged = await self._engaged(call, wish, plain, keep=False)
        made = await self._summary(call, engaged, "")
        said = [window_item(item) for item in plain if isinstance(item, dict) and item.get("role") == "user"]
        return json_reply({
            "id": f"resp_{call.id}",
            "object": "response.compaction",
            "created_at": int(self.keeper.clock()),
            "output": [*said, opaque_item(self.seal, call, made.text)],
            "usage": openai_usage(made.response),
        })  # fmt: skip

    async def _verbatim(self, call: Call, path: str = "") -> Reply:
        if call.translated:
            raise CallRefused(f"{ITEMS[call.dialect]}: a list of messages is needed")
        self.metrics.add("verbatim_requests", protocol=call.dialect)
        response = await self.upstreams.open(call.outgoing(call.raw, path=path))
        reply = relayed(response, None, broken(call.dialect, call.id))
        if not call.caller.account or response.status_code != 200 or path == COUNT_PATH or reply.chunks is None:
            return reply
        call.tally.taken(call.profile, len(call.raw))
        return replace(reply, chunks=_tallying(reply.chunks, response, call))

    async def _engaged(self, call: Call, wish: Wish, items: Sequence[Json], *, keep: bool = True) -> Engaged:
        async def summarize(ask: Summarize, fixed: Request) -> Narrative | Failed | Refused:
            return await narrated(call, self.upstreams, fixed, ask)

        task = Task(rules=wish.rules, auto=wish.auto, tools=wish.tools, summarize=summarize)
        self.metrics.add("edited_requests", protocol=call.dialect)
        return await self.keeper.engage(call, items, task, keep=keep)

    def _exchange(self, call: Call, wish: Wish, engaged: Engaged) -> Exchange:
        return Exchange(
            call=call,
            engaged=engaged,
            upstreams=self.upstreams,
            own=OwnTools(
                owner=call.caller.principal,
                names=frozenset(tool.name for tool in wish.tools),
                state=self.keeper.conversations.store,
                memory=self.memory,
                guard=self.guard,
            ),
            outgoing=lambda request: upstream_body(call, request),
            recovered=lambda: self.metrics.add("overflows_recovered"),
            ran=lambda: self.metrics.add("own_tool_calls"),
        )

    async def _answered(self, call: Call, wish: Wish, engaged: Engaged, prelude: Prelude) -> Reply:
        exchange = self._exchange(call, wish, engaged)
        response = await exchange.ask()
        if isinstance(response, Denied):
            return client_refusal(call, response)
        untouched = not (wish.tools or wish.edits or prelude.block or call.translated)
        if untouched:
            return _watched(relayed(response, None, broken(call.dialect, call.id)), response, call, engaged)
        if call.streams and is_stream(response):
            headers = EVENTS if call.translated else {**kept_headers(homeward(response)), **EVENTS}
            return Reply(headers=headers, chunks=guarded(self._streamed(exchange, response, wish, prelude), call))
        if call.streams:
            return Reply(headers=EVENTS, chunks=guarded(_gathered_events(exchange, response, wish, prelude), call))
        answer = await exchange.converse(response)
        if isinstance(answer, Denied):
            return client_refusal(call, answer)
        return json_reply(_body(exchange, answer, wish, prelude))

    def _streamed(self, exchange: Exchange, response: httpx.Response, wish: Wish, prelude: Prelude) -> Chunks:
        call = exchange.call
        if call.translated:
            teller = teller_of(call, int(self.keeper.clock()), prelude.block)
            return _told_events(exchange, response, teller, lambda answer: _body(exchange, answer, wish, prelude))
        return Joint(exchange, _seam_of(exchange, wish, prelude)).stream(response)

    async def _folded(self, call: Call, wish: Wish, engaged: Engaged, instructions: str) -> tuple[Engaged, Prelude]:
        """Behind a summary. Where none comes, the conversation goes on as it is, and an empty block says so."""
        try:
            made = await self._summary(call, engaged, instructions)
        except CallRefused:
            if call.dialect == "responses":
                return engaged, Prelude()
            return engaged, Prelude(block=threshold_block(self.seal, call, ""))
        text = with_last_words(made.text, engaged.transcript)
        anthropic = call.dialect == "anthropic"
        block = threshold_block(self.seal, call, text) if anthropic else opaque_item(self.seal, call, text)
        prelude = Prelude(block=block, iterations=(iteration(made.response),))
        head = [
            item
            for item in _items(call) or []
            if isinstance(item, dict) and item.get("role") in ("system", "developer")
        ]
        items: list[Json] = [*(() if anthropic else head), summary_item(text, call.dialect)]
        return await self._engaged(call, wish, items), prelude

    async def _on_demand(self, call: Call, wish: Wish, items: Sequence[Json]) -> Reply:
        if call.dialect == "anthropic":
            check_complete(items)
        engaged = await self._engaged(call, wish, items, keep=False)
        if call.dialect == "responses":
            made = await self._summary(call, engaged, "")
            text = with_last_words(made.text, engaged.transcript)
            return openai_block(call, opaque_item(self.seal, call, text), made.response, int(self.keeper.clock()))
        try:
            made = await self._summary(call, engaged, wish.summarize or "")
        except _NoSummary as none:
            return message_of(call, None, none.summary.stop_reason, none.summary.response)
        return message_of(call, signed_block(self.seal, call, made.text), "compaction", made.response)

    async def _summary(self, call: Call, engaged: Engaged, instructions: str) -> Summary:
        """A summary of what a request would send.

        Raises:
            _NoSummary: the model wrote none.
            CallRefused: it could not be asked.
        """
        request = engaged.request
        fixed = replace(engaged.fixed, marks=request.marks)
        made = await summarised(call, self.upstreams, fixed, request.messages, instructions)
        if isinstance(made, Failure):
            code = "compaction_unavailable" if call.dialect == "anthropic" else ""
            status = 529 if made.status in (None, 200) or (made.status or 0) >= 500 else made.status or 529
            raise CallRefused(f"the summary could not be made: {made.message}", status=status, code=code)
        if not made.text:
            raise _NoSummary(made)
        self.metrics.add("compactions")
        return made


class _NoSummary(CallRefused):
    """A model was asked and wrote no summary."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the model wrote no summary", status=529)
        self.summary = summary


async def guarded(chunks: AsyncGenerator[bytes, None], call: Call) -> AsyncGenerator[bytes, None]:
    """A stream that ends in an error event where it fails: its status was sent long ago."""
    try:
        async with aclosing(chunks) as pieces:
            async for piece in pieces:
                yield piece
    except UserError as error:
        refused = error if isinstance(error, CallRefused) else CallRefused(str(error), status=502)
        yield framed(call.dialect, error_event(call.dialect, refused, call.id))


def _watched(reply: Reply, response: httpx.Response, call: Call, engaged: Engaged) -> Reply:
    """The same, and what the provider counted is kept when it has passed."""
    return reply if reply.chunks is None else replace(reply, chunks=_counting(reply.chunks, response, call, engaged))


async def _counting(chunks: Chunks, response: httpx.Response, call: Call, engaged: Engaged) -> Chunks:
    watch = Watch(call.upstream_codec, is_stream(response))
    async with aclosing(chunks) as pieces:
        async for piece in pieces:
            yield piece
            watch.feed(piece)
    usage = watch.usage()
    call.tally.counted(call.profile, usage)
    await engaged.answered(usage)


async def _tallying(chunks: Chunks, response: httpx.Response, call: Call) -> Chunks:
    watch = Watch(call.upstream_codec, is_stream(response))
    async with aclosing(chunks) as pieces:
        async for piece in pieces:
            yield piece
            watch.feed(piece)
    call.tally.counted(call.profile, watch.usage())


def _seam_of(exchange: Exchange, wish: Wish, prelude: Prelude) -> Seam:
    call, own = exchange.call, exchange.own.names
    match call.dialect:
        case "anthropic":
            return AnthropicSeam(own, call.model, prelude, exchange.engaged.applied() if wish.edits else None)
        case "chat":
            return ChatSeam(own)
        case "responses":
            return ResponsesSeam(own, prelude)


def _body(exchange: Exchange, answer: Response, wish: Wish, prelude: Prelude) -> JsonObject:
    """The whole of an answer as the client gets it."""
    call = exchange.call
    body = with_block(call, client_answer(call, answer), prelude.block, prelude.iterations)
    if wish.edits:
        body["context_management"] = {"applied_edits": exchange.engaged.applied()}
    return body


async def _gathered_events(exchange: Exchange, response: httpx.Response, wish: Wish, prelude: Prelude) -> Chunks:
    """A stream from an upstream that does not stream."""
    answer = await exchange.converse(response)
    if isinstance(answer, Denied):
        raise CallRefused(f"the upstream refused: {answer.failure.message}", status=answer.status)
    call = exchange.call
    for event in call.codec.encode_events(call.codec.decode_response(_body(exchange, answer, wish, prelude))):
        yield framed(call.dialect, event)
    if call.dialect == "chat":
        yield DONE


async def _told_events(
    exchange: Exchange, response: httpx.Response, teller: Teller, whole: Callable[[Response], JsonObject]
) -> Chunks:
    """A stream in the client's protocol while it comes in the upstream's."""
    call = exchange.call
    decoder = call.upstream_codec.stream()
    for event in teller.opening():
        yield framed(call.dialect, event)
    async with aclosing(decoded(response, decoder)) as deltas:
        async for delta in deltas:
            for event in teller.feed(delta):
                yield framed(call.dialect, event)
    given = whole_of(decoder)
    call.tally.counted(call.profile, given.message.usage)
    answer = await exchange.finish(given)
    if unknown := [block for block in answer.message.content if not tellable(block)]:
        raise CallRefused(f"the model's answer holds a {type(unknown[0]).__name__}, which has no form in this protocol")
    for event in teller.ending(whole(answer)):
        yield framed(call.dialect, event)
    if call.dialect == "chat":
        yield DONE


def _items(call: Call) -> list[Json] | None:
    """The items of a call; None where there are none, which is the upstream's to refuse."""
    items = call.body.get(ITEMS[call.dialect])
    if isinstance(items, str) and items and call.dialect == "responses":
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": items}]}]
    return items if isinstance(items, list) and items else None


def _countable(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name not in ("max_tokens", "stream", "metadata")}
