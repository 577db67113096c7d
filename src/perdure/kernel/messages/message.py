"""A message: who said what, when, and what the provider counted.

It knows values. It must never know a dialect. What is derived from a message once and for all, its encodings and its
weight, is kept with it, so that a long history costs nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields
from typing import Literal, TypeAlias, TypeVar, cast

from perdure.kernel.messages.blocks import Block, Text, ToolResult, ToolUse
from perdure.kernel.messages.canonical import JsonObject
from perdure.kernel.messages.extra import Extra
from perdure.kernel.value import value

Role: TypeAlias = Literal["user", "assistant", "system", "developer"]
"""`system` and `developer` are the harness speaking: fixed overhead at the head of a history, an overlay later."""

Provenance: TypeAlias = Literal["user", "assistant", "tool", "harness", "web", "peer"]
"""Who wrote it. Only `user` is what the user said; text of `tool`, `web` and `peer` is data and never a rule."""

REMINDER_OPENING = "<system-reminder>"
"""Opens a text that the harness wrote, also where it stands in a message of the user's."""

T = TypeVar("T")

_NOTHING: dict[object, object] = {}
"""What every message keeps at first: shared, never written to."""


@value
class Usage:
    """What a provider counted for one response, in tokens. The four input parts exclude one another."""

    input_tokens: int = 0
    """Input that was neither read from nor written to the cache."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    """Written to the cache, whatever its life."""
    cache_write_1h_tokens: int = 0
    """The part of `cache_write_tokens` that was written for an hour."""
    output_tokens: int = 0
    raw: JsonObject | None = field(default=None, compare=False)
    """The provider's own object, for what is not named here (iterations, service tier)."""

    @property
    def prompt_tokens(self) -> int:
        """Everything that the model read: the size of the request."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Request and answer: the size of the context after the response."""
        return self.prompt_tokens + self.output_tokens


@value
class Message:
    """One message of a history. Equal means: the same words, by the same speaker, with the same identity."""

    id: str
    """Unique in its transcript; handles, checkpoints and the loss report point to it."""
    role: Role
    content: tuple[Block, ...]
    provenance: Provenance
    plain: bool = False
    """True where the wire had bare text instead of a list with one text block."""
    time: float | None = None
    """Seconds since the epoch; None where it is not known."""
    model: str | None = None
    """The model that wrote it, for messages of an assistant."""
    stop_reason: str | None = None
    """Why the model stopped, in the provider's own word."""
    usage: Usage | None = None
    """What the provider counted for the request that this message answers."""
    extra: Extra | None = None
    _kept: dict[object, object] = field(default_factory=lambda: _NOTHING, init=False, repr=False, compare=False)
    _dialect: str = field(default="", init=False, repr=False, compare=False)
    _encoding: bytes = field(default=b"", init=False, repr=False, compare=False)

    def keep(self, key: object, make: Callable[[Message], T]) -> T:
        """What `make` derives from this message, made once. `make` must be pure and `key` its own."""
        try:
            return cast("T", self._kept[key])
        except KeyError:
            made = make(self)
            if self._kept is _NOTHING:
                object.__setattr__(self, "_kept", {})
            self._kept[key] = made
            return made

    def encoded(self, dialect: str, make: Callable[[Message], bytes]) -> bytes:
        """The encoding that `make` derives from this message, kept for the dialect that asked last.

        It stands in the message itself and not in what `keep` holds: for 10,000 messages that saves three scattered
        reads of memory each, and with them most of the time of encoding a request.
        """
        if self._dialect == dialect:
            return self._encoding
        made = make(self)
        object.__setattr__(self, "_encoding", made)
        object.__setattr__(self, "_dialect", dialect)
        return made

    @staticmethod
    def encodings(messages: Iterable[Message], dialect: str, make: Callable[[Message], bytes]) -> list[bytes]:
        """What `encoded` gives for each message. One that is there already is read without a call, which halves the
        time of encoding a long request."""
        return [
            message._encoding if message._dialect == dialect else message.encoded(dialect, make) for message in messages
        ]

    def counted(self, usage: Usage | None) -> Message:
        """The same message with another count of the provider's. What is derived from its content stays with it."""
        if usage is self.usage:
            return self
        draft = _Draft()
        draft.id = self.id
        draft.role = self.role
        draft.content = self.content
        draft.provenance = self.provenance
        draft.plain = self.plain
        draft.time = self.time
        draft.model = self.model
        draft.stop_reason = self.stop_reason
        draft.usage = usage
        draft.extra = self.extra
        draft.share(self._kept)
        return _frozen(draft)

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls that this message asks for, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The answers that this message carries, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolResult))

    @property
    def is_output(self) -> bool:
        """Whether this is the plain text of a tool, the web or a peer, as harnesses without calls send it back."""
        return self.role == "user" and self.provenance in ("tool", "web", "peer") and not self.tool_results

    @property
    def is_typed(self) -> bool:
        """Whether the user typed something here: it starts a turn, and its text is never trimmed or cleared."""
        return any(True for _ in typed_texts(self))


def received(
    *, id: str, role: Role, content: tuple[Block, ...], provenance: Provenance, plain: bool, extra: Extra | None
) -> Message:
    """A message as a decoder finds it, equal to one that the constructor makes.

    A frozen dataclass sets each field through a generic call, which was half the time of decoding a long request. Here
    they are set on a mutable twin of the same layout, which then becomes the message.
    """
    draft = _Draft()
    draft.id = id
    draft.role = role
    draft.content = content
    draft.provenance = provenance
    draft.plain = plain
    draft.extra = extra
    return _frozen(draft)


def _frozen(draft: _Draft) -> Message:
    # Legal at run time, since both classes have the same slots; no annotation can say so.
    draft.__class__ = Message  # pyright: ignore[reportAttributeAccessIssue]
    return cast("Message", draft)


class _Draft:
    """A message before it is frozen."""

    __slots__ = tuple(each.name for each in fields(Message))
    id: str
    role: Role
    content: tuple[Block, ...]
    provenance: Provenance
    plain: bool
    time: float | None
    model: str | None
    stop_reason: str | None
    usage: Usage | None
    extra: Extra | None
    _kept: dict[object, object]

    def __init__(self) -> None:
        self.time = None
        self.model = None
        self.stop_reason = None
        self.usage = None
        self._kept = _NOTHING
        self._dialect = ""
        self._encoding = b""

    def share(self, kept: dict[object, object]) -> None:
        self._kept = kept


def typed_texts(message: Message) -> Iterator[Text]:
    """The texts of a message that its user typed: of provenance `user`, and not a reminder of the harness."""
    if message.role == "user" and message.provenance == "user":
        for block in message.content:
            if isinstance(block, Text) and not block.text.lstrip().startswith(REMINDER_OPENING):
                yield block


def text_of(content: str | tuple[Block, ...] | None) -> str:
    """The readable text of a content: text blocks, and those inside tool results, joined by line breaks."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content:
        match block:
            case Text(text=text):
                parts.append(text)
            case ToolResult(content=inner):
                parts.append(text_of(inner))
            case _:
                pass
    return "\n".join(part for part in parts if part)
