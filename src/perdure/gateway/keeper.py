"""The engine at work for one call: from a request as it came to a request as it goes.

It knows which messages stay and what a request carries besides. It must never know a connection. Nothing here is
specific to a client: whoever asks for edits and whoever asks for nothing get the same ledger.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from perdure.gateway.call import ITEMS, Call
from perdure.gateway.conversation import Conversation, LostRace, Ports, committed, counting, hiding, summing
from perdure.gateway.conversations import Conversations, Shelf, Wanted
from perdure.gateway.hidden import Splice
from perdure.gateway.identity import normal, prefix_hash, prefix_of, seed_of
from perdure.gateway.metrics import Metrics
from perdure.gateway.state import Record, StoreUnreachable
from perdure.gateway.tally import LIMITS
from perdure.kernel.cache import bill_of
from perdure.kernel.context import (
    ClearThinking,
    ClearToolResult,
    EditingRule,
    Failed,
    Projection,
    Refused,
    Reply,
    Settings,
    Summarize,
    drive_async,
    overhead_of,
    preset,
)
from perdure.kernel.errors import CallRefused, Infeasible
from perdure.kernel.messages import Json, JsonObject, Mark, Message, Request, Tool, Transcript, Usage
from perdure.kernel.value import record, value

T = TypeVar("T")

RACES = 5
"""Times that a conversation is read again because another replica changed it first."""

CANNOT_FIT = "request_cannot_fit"
"""The code of a request that no edit can make small enough. Its words must match no client's pattern for an overflow:
some retry on those for ever (measured, 2026-11)."""

MOST_MARKS = 4
"""Cache marks of a request (Anthropic, prompt caching guide, 2026-10)."""

ADRIFT = 5
"""Seconds after which it is worth trying again where the store does not answer."""

LEAST_BUDGET = 1_024
"""Tokens of thinking: the least that Anthropic takes (extended thinking, 2026-08)."""


@value
class Task:
    """What the engine is to do for a call."""

    rules: tuple[EditingRule, ...] = ()
    auto: bool = False
    tools: tuple[Tool, ...] = ()
    """The gateway's own, offered beside the client's."""
    summarize: Callable[[Summarize, Request], Awaitable[Reply | Failed | Refused]]
    """Has a model write a narrative; it is given the request that it may extend."""


@record()
class Engaged:
    """A conversation with the request that is to be sent."""

    call: Call
    task: Task
    keeper: Keeper
    shelf: Shelf
    wanted: Wanted
    conversation: Conversation
    said: Transcript
    """What the client sent. The conversation may go on meanwhile, by another request."""
    fixed: Request
    """Everything but the messages."""
    marks: tuple[Mark, ...]
    """The client's, by item."""
    items: int
    extra: tuple[Message, ...] = ()
    """Rounds with our own tools, behind what the client sent."""
    projection: Projection | None = None
    drop_block: bool = False
    """Whether the provider is told to drop thinking that is bound to other bytes."""

    @property
    def transcript(self) -> Transcript:
        """Everything up to now, with the rounds that the client does not see."""
        return self.said.append(*self.extra) if self.extra else self.said

    @property
    def request(self) -> Request:
        """What to send."""
        projection = self.projection or self._as_is
        if self.drop_block and "drop_block_needed" not in projection.notes:
            projection = replace(projection, notes=(*projection.notes, "drop_block_needed"))
        return outgoing(self.fixed, projection, self._marks(), auto=self.task.auto)

    @property
    def _as_is(self) -> Projection:
        return self.conversation.engine.usage(self.transcript)

    @property
    def tokens(self) -> int:
        """The size of the request as it stands, in tokens."""
        return self.conversation.engine.usage(self.transcript).usage.tokens

    @property
    def saved(self) -> int:
        """Tokens that the edits in force keep out of the request."""
        lights = self.conversation.engine.ledger.in_force.lights.values()
        return sum(edit.saved for edits in lights for edit in edits.values())

    async def project(self) -> None:
        """Decide what to send.

        Raises:
            CallRefused: it cannot fit.
        """
        async with self.shelf.lock:
            await self.settled(self.decide)

    async def settled(self, plan: Callable[[], Awaitable[T]]) -> T:
        """Carry out a plan; where another replica was faster, again with what that one kept. Needs the shelf's lock.

        Raises:
            LostRace: others are faster each time.
        """
        for _ in range(RACES):
            if self._moved:
                await self._reopen()
            self.conversation.ahead = self.call.id if self.extra else ""
            try:
                return await plan()
            except LostRace:
                self.let_go()
                await self._reopen()
        return await plan()

    @property
    def _moved(self) -> bool:
        """Whether another request went on with the conversation meanwhile."""
        conversation = self.conversation
        return len(conversation.items) != self.items or conversation.ahead not in ("", self.call.id)

    async def _reopen(self) -> None:
        self.conversation = await self.keeper.conversations.open(self.shelf, self.wanted)
        self.said = self.conversation.transcript

    def let_go(self) -> None:
        """Hold no longer what is old."""
        self.shelf.held[:] = [one for one in self.shelf.held if one is not self.conversation]

    async def decide(self) -> None:
        """The same, once, for who holds the shelf's lock already."""
        engine, now = self.conversation.engine, self.keeper.clock()
        ports = self.ports()
        try:
            if self.task.rules or not self.task.auto:
                self.projection = await drive_async(engine.edit_context(self.transcript, self.task.rules, now), ports)
            if self.task.auto:
                self.projection = await drive_async(engine.project(self.transcript, now), ports)
        except Infeasible as error:
            if self.conversation.adrift:
                raise _later() from error
            raise CallRefused(str(error), status=400, code=CANNOT_FIT) from error

    async def recover(self, error: str) -> bool:
        """Make the request smaller, after the upstream called it too long. False where nothing is left to leave out.

        Raises:
            CallRefused: the store does not answer, and with it the request may be small enough.
        """
        if self.conversation.adrift:
            raise _later()

        async def recover() -> bool:
            entry = self.conversation.engine.recover_overflow(self.transcript, error, self.keeper.clock())
            try:
                self.projection = await drive_async(entry, self.ports())
            except Infeasible:
                return False
            return self.projection.changed

        async with self.shelf.lock:
            return await self.settled(recover)

    async def answered(self, usage: Usage | None) -> None:
        """Keep what the provider counted for the request."""
        if usage is None or not usage.prompt_tokens:
            return
        self.keeper.metrics.add("input_tokens", usage.prompt_tokens)
        self.keeper.metrics.add("cache_read_tokens", usage.cache_read_tokens)
        now, messages = self.keeper.clock(), len(self.said)
        sums = self._sums(usage)

        def counted(record: Record) -> Record:
            record = summing(record, sums)
            return record if self.extra or self._moved else counting(record, messages, usage, now)

        async with self.shelf.lock:
            await self.amend(counted)

    async def hid(self, splice: Splice) -> None:
        """Keep the rounds that the client has not seen."""
        async with self.shelf.lock:
            await self.amend(lambda record: hiding(record, splice))
            if self.conversation.ahead == self.call.id:
                self.conversation.ahead = ""

    async def amend(self, change: Callable[[Record], Record]) -> None:
        """Change what is kept of the conversation; where another replica was faster, what that one kept. Needs the
        shelf's lock."""
        conversation, keeper = self.conversation, self.keeper
        for _ in range(RACES):
            conversation.record = change(conversation.record)
            try:
                await committed(keeper.conversations.store, conversation, conversation.record, None, keeper.metrics)
                return
            except LostRace:
                self.let_go()
            try:
                kept = await keeper.conversations.store.load(conversation.owner, conversation.record.id)
            except StoreUnreachable:
                keeper.metrics.add("state_failures")
                return
            if kept is None:
                return
            conversation.record = kept

    def _sums(self, usage: Usage) -> Mapping[str, float]:
        """What an answer adds to the sums of its conversation."""
        profile = self.call.profile
        saved = sum(getattr(edit, "saved", 0) for edit in self.conversation.engine.ledger)
        return {
            "requests": 1,
            "prompt_tokens": usage.prompt_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "output_tokens": usage.output_tokens,
            "usd": bill_of(usage, profile).usd or 0.0,
            "saved_tokens": saved,
            "saved_usd": bill_of(Usage(cache_read_tokens=saved), profile).usd or 0.0,
        }

    def applied(self) -> list[Json]:
        """What the edits in force took out, in the provider's words."""
        lights = [edit for edits in self.conversation.engine.ledger.in_force.lights.values() for edit in edits.values()]
        cleared = [edit for edit in lights if isinstance(edit, ClearToolResult)]
        thought = [edit for edit in lights if isinstance(edit, ClearThinking)]
        told: list[Json] = []
        if thought:
            told.append({
                "type": "clear_thinking_20251015",
                "cleared_thinking_turns": len(thought),
                "cleared_input_tokens": sum(edit.saved for edit in thought),
            })  # fmt: skip
        if cleared:
            told.append({
                "type": "clear_tool_uses_20250919",
                "cleared_tool_uses": len(cleared),
                "cleared_input_tokens": sum(edit.saved for edit in cleared),
            })  # fmt: skip
        return told

    def ports(self) -> Ports:
        """What the engine asks for, on behalf of this call."""

        async def summarize(ask: Summarize) -> Reply | Failed | Refused:
            return await self.task.summarize(ask, self.fixed)

        return Ports(
            conversation=self.conversation,
            store=self.keeper.conversations.store,
            metrics=self.keeper.metrics,
            summarize=summarize,
        )

    def _marks(self) -> tuple[tuple[str, Mark], ...]:
        """The client's marks with the ids of the messages that they stand on: one message for each item, where there
        are marks, but for what a splice put in."""
        transcript = self.transcript
        shift = len(self.said) - self.items
        places = ((mark.index + (shift if mark.index else 0), mark) for mark in self.marks)
        return tuple((transcript[place].id, mark) for place, mark in places if 0 <= place < len(transcript))


@value
class Keeper:
    """Engages conversations."""

    conversations: Conversations
    metrics: Metrics
    clock: Callable[[], float]

    async def engage(self, call: Call, items: Sequence[Json], task: Task, *, keep: bool = True) -> Engaged:
        """The conversation of a call, with what is to be sent decided. `keep` is off for what is only counted.

        Raises:
            UserError: the request is none.
            CallRefused: it cannot fit.
        """
        plain, marks = normal(items, call.dialect)
        fixed = fixed_of(call, task)
        profile = call.profile
        wanted = Wanted(
            owner=call.caller.principal,
            codec=call.codec,
            profile=profile,
            settings=settings_of(call, task),
            seed=seed_of(call.dialect, profile.id, call.headers),
            told=prefix_of(call.body),
            overhead=overhead_of(profile, system=fixed.system, tools=fixed.tools),
            items=plain,
            now=self.clock(),
        )
        shelf = self.conversations.shelf(wanted)
        async with shelf.lock:
            conversation = await self.conversations.open(shelf, wanted)
            engaged = Engaged(
                call=call,
                task=task,
                keeper=self,
                shelf=shelf,
                wanted=wanted,
                conversation=conversation,
                said=conversation.transcript,
                fixed=fixed,
                marks=marks,
                items=len(plain),
            )

            async def decided() -> None:
                await self._prefix(engaged, wanted)
                await engaged.decide()
                if keep:
                    await self._keep(engaged)

            await engaged.settled(decided)
        return engaged

    async def _keep(self, engaged: Engaged) -> None:
        """Write down where the conversation stands."""
        conversation, profile = engaged.conversation, engaged.call.profile
        record = replace(
            conversation.record,
            items=engaged.items,
            model=engaged.call.model,
            window=profile.window.tokens,
            seen=engaged.wanted.now,
        )
        await committed(self.conversations.store, conversation, record, conversation.head, self.metrics)

    async def _prefix(self, engaged: Engaged, wanted: Wanted) -> None:
        """Tools or system changed since the last request: sizes follow."""
        conversation = engaged.conversation
        if conversation.told == wanted.told and conversation.overhead == wanted.overhead:
            return
        conversation.told, conversation.prefix = wanted.told, prefix_hash(wanted.told)
        conversation.overhead = wanted.overhead
        entry = conversation.engine.prefix_changed(conversation.transcript, wanted.profile, wanted.overhead, wanted.now)
        await drive_async(entry, engaged.ports())


def _later() -> CallRefused:
    """Where it cannot be told what was decided before, a request that is too long may be none."""
    return CallRefused(
        "the store of conversations does not answer, and without it this one is too long; try again",
        status=503,
        retry_after=ADRIFT,
    )


def settings_of(call: Call, task: Task) -> Settings:
    """The engine's settings on a route; a handle is offered where there is a tool to recall with."""
    named = next((tool.name for tool in task.tools if tool.name == "recall"), None)
    return replace(preset(call.route.preset), recall_tool=named)


def fixed_of(call: Call, task: Task) -> Request:
    """Everything of a request but its messages, with our own tools."""
    body: JsonObject = {**call.body, ITEMS[call.dialect]: []}
    body.pop("context_management", None)
    fixed = call.codec.decode_request(body)
    params = {name: value for name, value in fixed.params.items() if name != ITEMS[call.dialect]}
    named = {tool.name for tool in fixed.tools}
    ours = tuple(tool for tool in task.tools if tool.name not in named)
    return replace(
        fixed,
        model=call.route.model_for(call.model),
        tools=(*fixed.tools, *ours),
        params=params,
        keys=(),
        messages=(),
    )


def outgoing(fixed: Request, projection: Projection, marks: Sequence[tuple[str, Mark]], *, auto: bool) -> Request:
    """The request of a projection."""
    messages = projection.messages
    places = {message.id: place for place, message in enumerate(messages)}
    kept: dict[int, Mark] = {}
    for message_id, mark in marks:
        place = places.get(message_id)
        if place is not None and (spot := _markable(messages[place], mark.block)) is not None:
            kept[place] = replace(mark, index=place, block=spot)
    params = fixed.params
    if auto and projection.max_tokens is not None and projection.limits is not None:
        params = _bounded(params, projection.max_tokens, projection.limits.window)
    if "drop_block_needed" in projection.notes:
        thinking = params.get("thinking")
        binding: JsonObject = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        params = {
            **params,
            "thinking": {**(thinking if isinstance(thinking, dict) else {"type": "adaptive"}), **binding},
        }
    others = tuple(mark for mark in fixed.marks if mark.part != "messages")
    if auto and kept and len(others) + len(kept) < MOST_MARKS:
        _mark_frontier(kept, messages, projection.frontier)
    return replace(fixed, messages=messages, marks=(*others, *(kept[place] for place in sorted(kept))), params=params)


def _mark_frontier(kept: dict[int, Mark], messages: Sequence[Message], frontier: int) -> None:
    """Where the client leaves a mark unused, it stands at the end of what no later edit changes: without it the prompt
    cache fell back to the system prompt at each batch of edits (measured with Claude Code 2.1.332)."""
    place = min(frontier, len(messages)) - 1
    if place < 0 or place in kept or (spot := _markable(messages[place], len(messages[place].content) - 1)) is None:
        return
    # One of five minutes may not stand before one of an hour (Anthropic, prompt caching guide, 2026-10).
    kept[place] = Mark(part="messages", index=place, block=spot, ttl=kept[max(kept)].ttl)


def _markable(message: Message, wanted: int) -> int | None:
    """The block that a mark may stand on: the wanted one, or the last before it that is no thinking."""
    for place in range(min(wanted, len(message.content) - 1), -1, -1):
        if type(message.content[place]).__name__ not in ("Thinking", "RedactedThinking"):
            return place
    return None


def _bounded(params: JsonObject, most: int, window: int) -> JsonObject:
    """The longest answer, so that it fits behind the request."""
    bounded = dict(params)
    for name in LIMITS:
        value = bounded.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > most:
            bounded[name] = most
    thinking = bounded.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and isinstance(budget, int):
        bounded["thinking"] = {**thinking, "budget_tokens": _budget(budget, most, window)}
    return bounded


def _budget(wanted: int, most: int, window: int) -> int:
    """A budget of thinking that stays the same while a conversation grows, since another one has the provider forget
    every cached message: a quarter of the window at the most, and halves of that where the room is less."""
    budget = min(wanted, max(LEAST_BUDGET, window // 4))
    while budget >= most and budget > LEAST_BUDGET:
        budget = max(LEAST_BUDGET, budget // 2)
    return budget
