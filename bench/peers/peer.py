"""What a peer is to the replay: messages in, messages out.

It knows Perdure's messages and how a session goes on. It must never import a peer: each has a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from perdure.kernel.context import Original, Summarize
from perdure.kernel.messages import Block, Message, Text, ToolResult, ToolUse, Transcript, text_of
from perdure.kernel.models import ModelProfile
from perdure.lab.policies.run import Policy, Sent

TRIGGER = 60_000
"""Tokens at which peers act, where that can be set."""
TAIL = 20_000
"""Tokens that stay verbatim, where that can be set."""
SUMMARY = "## State\n" + "The work went on as asked, and what was found was taken into account.\n" * 34
"""What every summarizer writes: 2,400 characters without facts."""
SUMMARY_TOKENS = 800
INSTRUCTION = "Summarize this conversation so that the work can go on from the summary alone."


@dataclass(slots=True)
class Written:
    """Whether a summary had to be written for the request at hand."""

    count: int = 0

    def write(self) -> str:
        """The fixed summary."""
        self.count += 1
        return SUMMARY


class Peer(Protocol):
    """One session with one peer."""

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """What is sent. `given` is the whole session, `new` what came since the last request."""
        ...

    def recalled(self) -> Mapping[str, str]:
        """Texts that the model could get back, by their handles."""
        ...


@dataclass(slots=True, kw_only=True)
class Run:
    """A peer as a policy of the lab, so that its requests are priced and checked as any."""

    peer: Peer
    written: Written = field(default_factory=Written)
    before: tuple[Message, ...] = ()
    seen: int = 0

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The peer's messages; a summary is paid for as one that reads what was sent before."""
        count = self.written.count
        new = transcript[self.seen :]
        messages = tuple(self.peer.send(transcript, new, self.written))
        asks = self.written.count - count
        ask = Summarize(messages=(*self.before, *new), instruction=INSTRUCTION, extends=True, max_tokens=SUMMARY_TOKENS)
        edited = messages[: len(self.before)] != self.before
        self.before, self.seen = messages, len(transcript)
        written = (SUMMARY_TOKENS,) * asks
        return Sent(messages=messages, asks=(ask,) * asks, written=written, edited=edited)

    def originals(self) -> Mapping[str, Original]:
        """What the model could get back."""
        return {
            handle: Original(handle=handle, message_id=handle, what="output", tokens=0, content=(Text(text=text),))
            for handle, text in self.peer.recalled().items()
        }


def as_policy(begin: Callable[[], Peer]) -> Policy:
    """A policy of the lab that begins a session with a peer."""

    def policy(profile: ModelProfile, overhead: int) -> Run:
        return Run(peer=begin())

    return policy


Key: TypeAlias = tuple[str, str]
"""A message's id, and of the result the id of its call; empty for everything else in the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What most libraries have as a message of its own: one result, or all the rest of a message."""

    key: Key
    message: Message
    text: str


def pieces_of(message: Message) -> list[Piece]:
    """The pieces of a message, in order."""
    pieces = [
        Piece(key=(message.id, block.tool_use_id), message=message, text=text_of(block.content))
        for block in message.tool_results
    ]
    rest = tuple(block for block in message.content if not isinstance(block, ToolResult | ToolUse))
    if rest or message.role == "assistant":
        pieces.append(Piece(key=(message.id, ""), message=message, text=text_of(rest)))
    return pieces


def rebuilt(found: Iterable[tuple[Piece | None, str]]) -> list[Message]:
    """Messages from the pieces that a peer kept and what it made of their texts; a summary belongs to no piece."""
    messages: list[Message] = []
    group: dict[Key, str] = {}
    last: Message | None = None
    for piece, text in [*found, (None, "")]:
        if last is not None and (piece is None or piece.message is not last):
            messages.append(_message(last, group))
            last, group = None, {}
        if piece is not None:
            last = piece.message
            group[piece.key] = text
        elif text:
            said = Message(id="summary", role="user", content=(Text(text=text),), provenance="harness")
            messages.append(said)
    return messages


def _message(message: Message, texts: Mapping[Key, str]) -> Message:
    """A message of which some results are left, with what they say now; itself where nothing changed."""
    before = {piece.key: piece.text for piece in pieces_of(message)}
    if texts == before:
        return message
    blocks: list[Block] = []
    for block in message.content:
        key = (message.id, block.tool_use_id if isinstance(block, ToolResult) else "")
        if key not in texts:
            continue
        if isinstance(block, ToolResult) and texts[key] != before[key]:
            blocks.append(replace(block, content=(Text(text=texts[key]),)))
        elif isinstance(block, Text) and texts[key] != before[key] and message.role == "user":
            blocks.append(Text(text=texts[key]))
        else:
            blocks.append(block)
    return replace(message, content=tuple(blocks))
