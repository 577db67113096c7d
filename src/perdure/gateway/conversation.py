"""One conversation as the gateway holds it between requests: its messages, its engine, and what is kept of it.

It knows how a request extends it. It must never know how a request came or where it goes. What it holds can be made
anew from the client's next request and the store at any time; holding it saves decoding a long history again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from perdure.gateway.hidden import Splice, restored, splice_from_json, splice_to_json
from perdure.gateway.metrics import Metrics
from perdure.gateway.state import Head, Record, StateStore
from perdure.kernel.context import (
    Answer,
    Append,
    Archive,
    Done,
    Edit,
    Engine,
    Failed,
    Ledger,
    Need,
    Original,
    ReadSessionMemory,
    Refused,
    Reply,
    Restore,
    Restored,
    Rewritten,
    Settings,
    Summarize,
)
from perdure.kernel.context.persist import edit_from_json, edit_to_json
from perdure.kernel.errors import CallRefused, StoreUnreachable, UserError
from perdure.kernel.messages import Json, JsonObject, Message, Transcript, Usage, readable
from perdure.kernel.messages.persist import block_to_json, message_to_json, usage_from_json, usage_to_json
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import record, value
from perdure.kernel.wire import Codec
from perdure.memory import Principal

TURNS = 20
"""Counts of the provider's that are kept; the engine needs the newest, and calibrates by the others."""


class LostRace(CallRefused):
    """Another replica, or another process, changed the conversation first: what is held of it here is old."""

    def __init__(self) -> None:
        super().__init__("this conversation is changed from elsewhere at once; try again", status=503, retry_after=1)


@record()
class Conversation:
    """See the file's words. One request at a time holds its shelf's lock."""

    owner: Principal
    codec: Codec
    record: Record
    engine: Engine
    prefix: str
    """Hash of tools and system."""
    items: list[JsonObject]
    """What the client sent, normal."""
    hashes: list[bytes]
    transcript: Transcript
    told: list[Json]
    """Tools and system, normal: compared before they are hashed again."""
    overhead: int
    ahead: str = ""
    """The call whose hidden rounds the engine has seen, while they are not kept: under way, or left by the client."""
    adrift: bool = False
    """Whether nobody could say if it was kept before: then nothing of it is, since what was decided would be lost."""

    def extends(self, items: Sequence[JsonObject]) -> bool:
        """Whether a request goes on from here."""
        known = len(self.items)
        return known <= len(items) and items[:known] == self.items

    def take(self, items: Sequence[JsonObject], hashes: Sequence[bytes], now: float) -> None:
        """Take in what a request adds.

        Raises:
            UserError: it adds what no message is.
        """
        known = len(self.items)
        fresh = list(items[known:])
        if not fresh:
            return
        again = bool(known) and self.codec.dialect != "anthropic" and _continues(items, known)
        if again:
            # A list of results that grew belongs to a message that we hold already: all is decoded again.
            self.transcript, known, fresh = Transcript(), 0, list(items)
        actual = restored(fresh, known, self.splices, self.codec.dialect)
        decoded = self.codec.decode_messages(actual, first=len(self.transcript))
        self.transcript = self.transcript.append(*self._stamped(decoded, now))
        self.items = list(items)
        self.hashes = [*self.hashes, *hashes]
        if again:
            self.engine.sync(self.transcript, self.engine.ledger)

    @property
    def splices(self) -> tuple[Splice, ...]:
        """Rounds that the client has not seen."""
        return tuple(splice_from_json(item) for item in self.record.splices)

    @property
    def head(self) -> Head:
        """Where it stands."""
        return Head(
            hash=self.hashes[-1].hex(),
            prefix=self.prefix,
            conversation=self.record.id,
            items=len(self.items),
            messages=len(self.transcript),
        )

    def _stamped(self, messages: Sequence[Message], now: float) -> list[Message]:
        """With times and counts as far as they are kept; what is new came now."""
        turns = {turn["messages"]: turn for turn in self.record.turns}
        first = len(self.transcript)
        newest = max((place for place in turns if isinstance(place, int)), default=0)
        stamped: list[Message] = []
        for place, message in enumerate(messages, start=first):
            answered, asked = turns.get(place), turns.get(place + 1)
            usage = usage_from_json(answered["usage"]) if answered and message.role == "assistant" else None
            time = _time(asked) if asked else (now if place >= newest else None)
            stamped.append(replace(message, time=time, usage=usage))
        return stamped


def hiding(record: Record, splice: Splice) -> Record:
    """A record that remembers a round that the client does not see."""
    others = [item for item in record.splices if item.get("at") != splice.at]
    return replace(record, splices=(*others, splice_to_json(splice)))


def counting(record: Record, messages: int, usage: Usage, now: float) -> Record:
    """A record that knows what the provider counted for a request of so many messages."""
    turn: JsonObject = {"messages": messages, "time": now, "usage": usage_to_json(replace(usage, raw=None))}
    others = tuple(known for known in record.turns if known["messages"] != messages)
    return replace(record, turns=(*others, turn)[-TURNS:])


def summing(record: Record, more: Mapping[str, float]) -> Record:
    """A record with these numbers added to its sums."""
    return replace(record, sums={**record.sums, **{name: record.sums.get(name, 0) + by for name, by in more.items()}})


def _time(turn: JsonObject) -> float | None:
    value = turn["time"]
    return float(value) if isinstance(value, int | float) else None


def _continues(items: Sequence[JsonObject], known: int) -> bool:
    """Whether the first new item may belong to the same message as the last known one."""
    one, two = _side(items[known - 1]), _side(items[known])
    return one == two != "said"


def _side(item: JsonObject) -> str:
    role = item.get("role")
    if role == "tool" or str(item.get("type")).endswith("_output"):
        return "result"
    return "assistant" if role is None or role == "assistant" else "said"


def revive(record: Record, profile: ModelProfile, settings: Settings, overhead: int) -> Engine:
    """The engine of a kept conversation; to be synchronised with its transcript."""
    return Engine(profile, settings, overhead=overhead, ledger=Ledger(edits_of(record)))


def edits_of(record: Record) -> tuple[Edit, ...]:
    """The ledger of a record.

    Raises:
        CallRefused: a newer version wrote it.
    """
    try:
        return tuple(edit_from_json(edit) for edit in record.edits)
    except UserError as error:
        raise CallRefused("the kept state of this conversation cannot be read", status=503) from error


@value
class Ports:
    """What the engine asks of the gateway, for one request."""

    conversation: Conversation
    store: StateStore
    metrics: Metrics
    summarize: Callable[[Summarize], Awaitable[Reply | Failed | Refused]]

    async def perform(self, need: Need) -> Answer:
        """See `AsyncPorts`."""
        match need:
            case Archive(originals=originals):
                return await self._keep(originals)
            case Append(edits=edits):
                return await self._append(edits)
            case Summarize():
                return await self.summarize(need)
            case ReadSessionMemory():
                return Failed(reason="a gateway keeps no session memory")
            case Restore():
                return Restored()
            case Rewritten():
                self.metrics.add("saved_tokens", max(0, need.tokens_before - need.tokens_after))
                return Done()

    async def _keep(self, originals: Sequence[Original]) -> Done | Refused:
        kept: Mapping[str, JsonObject] = {original.handle: original_to_json(original) for original in originals}
        try:
            await self.store.keep(self.conversation.owner, self.conversation.record.family, kept)
        except StoreUnreachable as error:
            self.metrics.add("state_failures")
            return Refused(reason=str(error))
        return Done()

    async def _append(self, edits: Sequence[Edit]) -> Done | Refused:
        record = self.conversation.record
        longer = replace(record, edits=(*record.edits, *(edit_to_json(edit) for edit in edits)))
        kept = await committed(self.store, self.conversation, longer, None, self.metrics)
        return Done() if kept else Refused(reason="the state store does not answer")


async def committed(
    store: StateStore, conversation: Conversation, record: Record, head: Head | None, metrics: Metrics
) -> bool:
    """Keep a record as the next version of the conversation's; False where the store does not answer.

    Raises:
        LostRace: that version is there already.
    """
    if conversation.adrift:
        return False
    record = replace(record, version=record.version + 1)
    try:
        kept = await store.commit(conversation.owner, record, head)
    except StoreUnreachable:
        metrics.add("state_failures")
        return False
    if not kept:
        metrics.add("lost_races")
        raise LostRace
    conversation.record = record
    return True


def original_to_json(original: Original) -> JsonObject:
    """An original as a store keeps it: the exact blocks or messages, and their readable text for a search."""
    said = [f"[{message.role}] {readable(message.content)}" for message in original.messages]
    return {
        "what": original.what,
        "tokens": original.tokens,
        "message_id": original.message_id,
        "text": "\n\n".join(part for part in (readable(original.content), *said) if part),
        "content": [block_to_json(block) for block in original.content],
        "messages": [message_to_json(message) for message in original.messages],
    }
