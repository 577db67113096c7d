"""A recording while it is being read: messages, requests and troubles in the order in which they come.

It knows what a recording must be: ids are unique, no text is empty, calls and results pair up. It must never know a
format. What it had to put right it reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from perdure.kernel.context import Edit
from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import (
    Block,
    Compaction,
    Message,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolUse,
    Transcript,
    Unknown,
    Usage,
    weigh,
)
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect
from perdure.kernel.wire.validity import repair
from perdure.lab.readers.format import Troubles
from perdure.lab.recording import Asked, Recording

MISSING = "[What stood here is not in the recording.]"
"""What is told in the place of a message without which no wire would take the others."""

MOST_TOKENS = 10_000_000
"""Of one request or answer. No model's window is larger: a greater count is broken, and what is worked out from it,
such as a system prompt of that size, would take all memory that there is."""

_THOUGHTS = (Thinking, RedactedThinking)
_MODELS_ALONE = (Thinking, RedactedThinking, ToolUse, ServerToolUse, Compaction)


@value
class _Request:
    place: int
    time: float | None
    usage: Usage | None
    model: str | None
    baseline: int
    edits: int
    ledger: int
    answer: str | None = None
    """The id of what the model said, where that was told."""


class Tape:
    """One conversation on its way to a `Recording`."""

    def __init__(self, *, file: str, format: str, troubles: Troubles, thread: str = "") -> None:
        """Begin an empty one. A thread of its own is reported under the file's name and its own."""
        self.file = f"{file}#{thread}" if thread else file
        self.format = format
        self.troubles = troubles
        self.thread = thread
        self.dialect: Dialect = "anthropic"
        self.system: tuple[Text | Unknown, ...] = ()
        self.tools: tuple[Tool, ...] = ()
        self.edits = 0
        """How often the recorded harness had rewritten in place what it had sent before."""
        self.ledger: list[Edit] = []
        """Edits of ours, in order."""
        self._messages: list[Message] = []
        self._names: dict[str, int] = {}
        self._copies: Counter[str] = Counter()
        self._unsigned = 0
        self._misplaced = 0
        self._incredible = 0
        self._requests: list[_Request] = []
        self._baseline = 0
        self._newest: float | None = None

    def __len__(self) -> int:
        """Messages so far."""
        return len(self._messages)

    @property
    def last(self) -> Message | None:
        """The newest message."""
        return self._messages[-1] if self._messages else None

    @property
    def begun(self) -> bool:
        """Whether anything was said so far that a harness did not say by itself."""
        return any(message.provenance != "harness" for message in self._messages)

    def place_of(self, name: str) -> int | None:
        """Where the message of this id stands."""
        return self._names.get(name)

    def tell(self, messages: Iterable[Message], *, line: int | None = None) -> None:
        """Put messages at the end. Empty text is left out; a message that cannot be weighed is reported instead."""
        for message in messages:
            content = self._in_order(tuple(block for block in message.content if self._says(block, message)))
            if not content:
                continue
            name = self._own(message.id)
            whole = message
            if name != message.id or len(content) != len(message.content):
                whole = replace(message, id=name, content=content)
            try:
                weigh(whole)
            except (InvalidJson, InvalidMessage) as error:
                self.troubles.add(line, f"a message holds what cannot be encoded: {error}")
                continue
            self._names[name] = len(self._messages)
            self._messages.append(whole)
            self._newest = self._newest if whole.time is None else whole.time

    def _in_order(self, content: tuple[Block, ...]) -> tuple[Block, ...]:
        """Anthropic's answers never think behind a call: lines that came out of order are no such answer."""
        if self.dialect != "anthropic":
            return content
        call = next((place for place, block in enumerate(content) if isinstance(block, ToolUse)), len(content))
        kept = (*content[:call], *(block for block in content[call:] if not isinstance(block, _THOUGHTS)))
        self._misplaced += len(content) - len(kept)
        return kept

    def _credible(self, usage: Usage | None) -> Usage | None:
        """The usage, unless no model could have read or written as much."""
        if usage is None or max(usage.prompt_tokens, usage.output_tokens) <= MOST_TOKENS:
            return usage
        self._incredible += 1
        return None

    def ask(self, *, time: float | None = None, usage: Usage | None = None, model: str | None = None) -> None:
        """A request was made with everything that was told so far."""
        if time is None:
            time = self._newest
        self._requests.append(
            _Request(
                place=len(self._messages),
                time=time,
                usage=self._credible(usage),
                model=model,
                baseline=self._baseline,
                edits=self.edits,
                ledger=len(self.ledger),
            )
        )

    def count_last(self, usage: Usage) -> bool:
        """Say what the last request was counted as, which came later; False where it has been said before."""
        if not self._requests or self._requests[-1].usage is not None:
            return False
        self._requests[-1] = replace(self._requests[-1], usage=self._credible(usage))
        return True

    def answer(self, message: Message, *, time: float | None = None, usage: Usage | None = None) -> None:
        """A request was made, and this is what the model said."""
        self.ask(time=time, usage=usage, model=message.model)
        before = len(self._messages)
        self.tell((message,))
        told = self._messages[before].id if len(self._messages) > before else ""
        self._requests[-1] = replace(self._requests[-1], answer=told)

    def compacted(self, first_kept: int | None = None) -> None:
        """The recorded harness sends nothing before this place from now on; by default, nothing of what was told."""
        self._baseline = max(self._baseline, len(self._messages) if first_kept is None else first_kept)

    def recording(self) -> Recording:
        """The recording, with its messages put right. The troubles so far go with it."""
        if self._unsigned:
            self.troubles.add(None, f"{self._unsigned} blocks of thinking had no signature and are left out")
        if self._misplaced:
            self.troubles.add(None, f"{self._misplaced} blocks of thinking stood behind a call and are left out")
        if self._incredible:
            self.troubles.add(None, f"{self._incredible} counts of tokens exceed every window and are left out")
        repaired = repair(self._without_gaps())
        names = {message.id: place for place, message in enumerate(repaired.messages)}
        for one in repaired.repairs:
            self.troubles.add(None, f"{one.kind}: {one.message_id!r}: {one.detail}")
        places = [len(repaired.messages)] * (len(self._messages) + 1)
        for old in range(len(self._messages) - 1, -1, -1):
            places[old] = names.get(self._messages[old].id, places[old + 1])
        models = Counter(request.model for request in self._requests if request.model)
        return Recording(
            file=self.file,
            format=self.format,
            transcript=Transcript(repaired.messages),
            asked=tuple(
                Asked(
                    at=places[request.place],
                    time=request.time,
                    usage=request.usage,
                    model=request.model,
                    baseline=places[request.baseline],
                    edits=request.edits,
                    ledger=request.ledger,
                    thread=self.thread,
                )
                for request in self._requests
                # An answer that broke off before its first word, and was not billed, was no request.
                if request.usage is not None or request.answer is None or request.answer in names
            ),
            ledger=tuple(self.ledger),
            model=max(models, key=lambda name: models[name]) if models else None,
            system=self.system,
            tools=self.tools,
            dialect=self.dialect,
            troubles=self.troubles.taken(),
        )

    def _without_gaps(self) -> list[Message]:
        """The messages, with a note where something must have stood: before an answer at the start, and between two
        answers of which the first calls tools, since each wire wants results, or anything, there."""
        whole: list[Message] = []
        for message in self._messages:
            before = whole[-1] if whole else None
            opens = before is None or (before.role in ("system", "developer") and len(whole) == 1)
            called = self.dialect == "chat" and before is not None and before.role == "assistant" and before.tool_uses
            if message.role == "assistant" and (opens or called):
                note = Message(
                    id=self._own(f"{message.id}-before"),
                    role="user",
                    content=(Text(text=MISSING),),
                    provenance="harness",
                    time=message.time,
                )
                self._names[note.id] = -1
                self.troubles.add(None, f"nothing is recorded before the answer {message.id!r}; a note stands there")
                whole.append(note)
            whole.append(message)
        return whole

    def _says(self, block: Block, message: Message) -> bool:
        """Whether a block may be sent again: text that is not blank, and no thinking that the provider would refuse."""
        if isinstance(block, _MODELS_ALONE) and message.role != "assistant":
            self.troubles.add(None, f"{message.id!r}: a block that only a model can say stood in another's message")
            return False
        if isinstance(block, Text):
            return bool(block.text) and not block.text.isspace()
        if isinstance(block, Thinking) and not block.signature and self.dialect == "anthropic":
            self._unsigned += 1
            return False
        return True

    def _own(self, wanted: str) -> str:
        name = wanted or f"m{len(self._messages)}"
        while name in self._names:
            self._copies[wanted] += 1
            name = f"{wanted}~{self._copies[wanted]}"
        return name
