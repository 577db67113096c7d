"""The prefix chain: for each block of a request, a hash of everything up to it, and the tokens up to it.

It knows prefix order (tools, system, messages) and what else is part of a prompt. It must never know what is cached.
Two requests share a prefix exactly as far as their chains are equal. Chains of one line of history share their store,
as transcripts do: a chain that extends another by k blocks costs k blocks, and comparing two costs a binary search.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import accumulate

from perdure.kernel.cache.content import DIGEST, Seen, digest_of, seen_in, seen_system, seen_tool
from perdure.kernel.errors import UserError
from perdure.kernel.messages import (
    Json,
    JsonObject,
    Mark,
    Message,
    Request,
    Text,
    Tool,
    Ttl,
    Unknown,
    same_start,
    weigh_definition,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import TOOL_PROMPT, UNCALIBRATED, Calibration, tokens_of
from perdure.kernel.value import value

SHOWN_THINKING = frozenset({"display", "block_binding"})
"""Fields of `thinking` that change what is shown or checked, and not the prompt."""


@value
class Head:
    """What stands before the messages: the model, its settings, tools and system blocks."""

    profile: ModelProfile
    tools: tuple[Tool, ...] = ()
    system: tuple[Text | Unknown, ...] = ()
    params: JsonObject = field(default_factory=JsonObject)
    """The request's other fields; those that are part of the prompt are taken from them."""
    calibration: Calibration = UNCALIBRATED
    """Turns weights into tokens, for as long as the chain lives: positions must not shift beneath it."""


class PrefixChain:
    """The chain over a head and some messages. Immutable; `over` gives the chain of the next request."""

    __slots__ = ("_count", "_length", "_store")

    def __init__(self, head: Head, messages: Iterable[Message] = ()) -> None:
        """Chain a head and messages, in the time of hashing what was not hashed before."""
        messages = tuple(messages)
        self._store = _Store(head, pictured=head.profile.dialect == "anthropic" and _any_picture(messages))
        self._store.add(messages)
        self._count = len(messages)
        self._length = len(self._store.hashes)

    def then(self, messages: Sequence[Message]) -> PrefixChain:
        """The chain with more messages at its end, at the cost of these alone."""
        store = self._store
        if not store.pictured and store.minds_pictures and _any_picture(messages):
            return PrefixChain(store.head, (*store.messages[: self._count], *messages))
        if self._count < len(store.messages):
            store = store.fork(self._count)
        store.add(messages)
        return self._on(store, len(store.messages))

    def cut(self, count: int) -> PrefixChain:
        """The chain over the first `count` messages alone."""
        store, count = self._store, min(count, self._count)
        if store.pictured and not store.pictures[count]:
            return PrefixChain(store.head, store.messages[:count])
        return self._on(store, count)

    def over(self, messages: Sequence[Message]) -> PrefixChain:
        """The chain over other messages behind the same head: what both begin with is taken over, not hashed again."""
        known = self._store.messages[: self._count]
        common = same_start(known, messages)
        for ours, theirs in zip(known[common:], messages[common:], strict=False):
            if ours is not theirs and seen_in(ours) != seen_in(theirs):
                break
            common += 1
        return (self if common == self._count else self.cut(common)).then(messages[common:])

    def counted(self, tokens: Sequence[int]) -> PrefixChain:
        """The same chain with given tokens for each position, such as a provider's own counts.

        Raises:
            UserError: not one count for each position.
        """
        if len(tokens) != self._length:
            raise UserError(f"the chain has {self._length} positions, and {len(tokens)} counts were given")
        store = self._store.fork(self._count)
        store.ends = list(accumulate(tokens, initial=0))
        return self._on(store, self._count)

    def __len__(self) -> int:
        """Positions: blocks in prefix order."""
        return self._length

    @property
    def head(self) -> Head:
        """What stands before the messages."""
        return self._store.head

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self._store.ends[self._length]

    @property
    def overhead(self) -> int:
        """Positions before the first message."""
        return self._store.starts[0]

    def tokens_through(self, position: int) -> int:
        """Tokens up to and including a position."""
        return self._store.ends[position + 1]

    def hash_at(self, position: int) -> bytes:
        """The hash of everything up to and including a position."""
        return self._store.hashes[position]

    def markable(self, position: int) -> bool:
        """Whether a mark may stand there."""
        return self._store.markable[position] == 1

    def common(self, other: PrefixChain) -> int:
        """How many positions the two begin with alike."""
        most = min(self._length, other._length)
        if self._store is other._store:
            return most
        return bisect_left(range(most), True, key=lambda place: self.hash_at(place) != other.hash_at(place))

    def position_of(self, mark: Mark) -> int | None:
        """The position that a mark stands on; None where this chain has no such block or it is deferred."""
        store = self._store
        match mark.part:
            case "tools":
                return store.tools.index(mark.index) if mark.index in store.tools else None
            case "system":
                position = len(store.tools) + mark.index
                return position if position < store.starts[0] else None
            case "messages":
                if mark.index >= self._count:
                    return None
                position = store.starts[mark.index] + mark.block
                return position if position < store.starts[mark.index + 1] else None

    def mark_at(self, position: int, ttl: Ttl | None = None) -> Mark:
        """The mark on a position."""
        store = self._store
        if position < len(store.tools):
            return Mark(part="tools", index=store.tools[position], ttl=ttl)
        if position < store.starts[0]:
            return Mark(part="system", index=position - len(store.tools), ttl=ttl)
        message = bisect_right(store.starts, position) - 1
        return Mark(part="messages", index=message, block=position - store.starts[message], ttl=ttl)

    def message_end(self, index: int) -> int:
        """The position behind the last block of a message, counted from the first message; -1 gives the overhead."""
        return self._store.starts[index + 1]

    @property
    def messages(self) -> int:
        """How many messages the chain covers."""
        return self._count

    @classmethod
    def _on(cls, store: _Store, count: int) -> PrefixChain:
        chain = cls.__new__(cls)
        chain._store, chain._count, chain._length = store, count, store.starts[count]
        return chain


def chain_of(request: Request, profile: ModelProfile, calibration: Calibration = UNCALIBRATED) -> PrefixChain:
    """The chain of a whole request."""
    head = Head(
        profile=profile, tools=request.tools, system=request.system, params=request.params, calibration=calibration
    )
    return PrefixChain(head, request.messages)


def last_markable(chain: PrefixChain, end: int, start: int) -> int | None:
    """The last position before `end` that may carry a mark, not before `start`."""
    return next((place for place in range(end - 1, start - 1, -1) if chain.markable(place)), None)


class _Store:
    """What the chains of one line of history share. It only grows, beyond the length of every chain on it."""

    __slots__ = (
        "ends",
        "hashes",
        "head",
        "last",
        "markable",
        "messages",
        "pictured",
        "pictures",
        "root",
        "starts",
        "tools",
    )

    def __init__(self, head: Head, *, pictured: bool) -> None:
        self.head = head
        self.pictured = pictured
        self.hashes: list[bytes] = []
        self.ends: list[int] = [0]
        self.markable = bytearray()
        self.messages: list[Message] = []
        self.pictures: list[int] = [0]
        self.tools = [index for index, tool in enumerate(head.tools) if not tool.deferred]
        self.last = digest_of(head.profile.id)
        for index in self.tools:
            self._link(seen_tool(head.tools[index]))
        if self.tools and head.profile.family == "claude":
            self.ends[1:] = [end + TOOL_PROMPT for end in self.ends[1:]]
        self._salt(digest_of(*_system_settings(head.params)))
        for block in head.system:
            self._link(seen_system(block))
        self._salt(digest_of(*_message_settings(head.params), pictured))
        self.root = self.last
        self.starts = [len(self.hashes)]

    @property
    def minds_pictures(self) -> bool:
        return self.head.profile.dialect == "anthropic"

    def add(self, messages: Sequence[Message]) -> None:
        for message in messages:
            for seen in seen_in(message):
                self._link(seen)
                for name in seen.loads:
                    self._load(name)
            self.messages.append(message)
            self.pictures.append(self.pictures[-1] + _any_picture((message,)))
            self.starts.append(len(self.hashes))

    def fork(self, count: int) -> _Store:
        """A store of its own over the first messages."""
        length = self.starts[count]
        forked = _Store.__new__(_Store)
        forked.head, forked.pictured, forked.tools, forked.root = self.head, self.pictured, self.tools, self.root
        forked.hashes = self.hashes[:length]
        forked.ends = self.ends[: length + 1]
        forked.markable = self.markable[:length]
        forked.messages = self.messages[:count]
        forked.pictures = self.pictures[: count + 1]
        forked.starts = self.starts[: count + 1]
        forked.last = self.hashes[length - 1] if length > self.starts[0] else self.root
        return forked

    def _link(self, seen: Seen) -> None:
        self._salt(seen.digest)
        self.hashes.append(self.last)
        self.ends.append(self.ends[-1] + tokens_of(seen.weight, self.head.profile, self.head.calibration))
        self.markable.append(seen.markable)

    def _load(self, name: str) -> None:
        """A deferred tool's definition becomes part of the block that names it."""
        tool = next((tool for tool in self.head.tools if tool.name == name and tool.deferred), None)
        if tool is not None:
            loaded = seen_tool(tool)
            self._salt(loaded.digest)
            self.hashes[-1] = self.last
            self.ends[-1] += tokens_of(weigh_definition(tool), self.head.profile, self.head.calibration)

    def _salt(self, digest: bytes) -> None:
        self.last = hashlib.blake2b(self.last + digest, digest_size=DIGEST).digest()


def _system_settings(params: JsonObject) -> tuple[Json, ...]:
    """What changes the prompt from the first system block on."""
    return (params.get("speed"),)


def _message_settings(params: JsonObject) -> tuple[Json, ...]:
    """What changes the prompt from the first message on (Anthropic, prompt caching guide, what invalidates the cache,
    2026-08; OpenAI names `reasoning_effort_changed` among the reasons of a miss)."""
    thinking, config, reasoning = params.get("thinking"), params.get("output_config"), params.get("reasoning")
    kept: Json = None
    if isinstance(thinking, dict):
        kept = {key: value for key, value in thinking.items() if key not in SHOWN_THINKING}
    effort = config.get("effort") if isinstance(config, dict) else None
    budget = config.get("task_budget") if isinstance(config, dict) else None
    left = budget.get("remaining") if isinstance(budget, dict) else None
    asked = reasoning.get("effort") if isinstance(reasoning, dict) else params.get("reasoning_effort")
    return params.get("tool_choice"), kept, effort, left, asked


def _any_picture(messages: Iterable[Message]) -> bool:
    """Whether a picture stands anywhere: the first that comes, and the last that goes, changes the prompt of all
    messages (Anthropic, prompt caching guide, what invalidates the cache, 2026-08)."""
    return any(message.keep(_any_picture, _pictured) for message in messages)


def _pictured(message: Message) -> bool:
    return any(media.kind == "image" for seen in seen_in(message) for media in seen.weight.media)
