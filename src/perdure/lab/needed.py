"""What was needed later: names that the recorded agent took from tool results, and whether a policy still shows them.

It knows words that look like names: paths, identifiers, numbers with a shape, hashes. It must never be taken for answer
quality: the recorded agent acted on the context that it had, and another context might have led it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.kernel.context import Original
from perdure.kernel.messages import (
    Block,
    Json,
    Message,
    Text,
    ToolResult,
    ToolUse,
    Transcript,
    text_of,
)
from perdure.kernel.pattern import pattern
from perdure.lab.composition import unchanged

_WORD = pattern(r"[A-Za-z0-9_][A-Za-z0-9_./:\-]{4,118}[A-Za-z0-9_]")
"""Never ends in what ends a sentence."""
_NAMELIKE = pattern(r"[0-9_./]|[a-z][A-Z]")
_NUMBERED = pattern(r"\n[ ]*\d+(?:\t|→|: |\|)[ ]?")
"""Begins with the break before it, which is found in a tenth of the time that the start of a line is."""

SHORTEST_QUOTE = 24
"""Characters of a line that counts as quoted text: shorter ones recur by chance."""

COMMON_SHARE = 0.4
"""A name that stands in more than this part of all tool results says nothing about memory."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """How often a needed name was there."""

    asked: int = 0
    visible: int = 0
    recallable: int = 0
    gone: int = 0

    def add(self, other: Tally) -> None:
        """Sum up."""
        self.asked += other.asked
        self.visible += other.visible
        self.recallable += other.recallable
        self.gone += other.gone


class Vocabulary:
    """The names and lines that the calls of one session use; nothing else is looked for.

    Harnesses without calls put commands into the text of an answer and send outputs back as text: there it is the text
    that counts.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        """Collect them."""
        used: set[str] = set()
        for message in messages:
            used |= self.used_by(message)
        self._used = frozenset(used)
        self._lines = frozenset(name for name in used if len(name) >= SHORTEST_QUOTE)
        self._found: dict[str, frozenset[str]] = {}

    def used_by(self, message: Message) -> frozenset[str]:
        """What the model uses in a message: in its calls, or in its text where it makes none."""
        return message.keep(Vocabulary, lambda given: frozenset(_terms(_used_texts(given))))

    def of(self, message: Message) -> frozenset[str]:
        """Which of them a message shows, found once."""
        return message.keep(self, lambda given: self.within(_texts(given.content)))

    def within(self, texts: Iterable[str]) -> frozenset[str]:
        """Which of them some texts show, found once for each text: what is archived was shown before."""
        found: frozenset[str] = frozenset()
        for text in texts:
            known = self._found.get(text)
            if known is None:
                # What is used has the shape of a name already, so nothing else is looked at closely.
                known = self._used.intersection(_WORD.findall(text))
                if self._lines and len(text) >= SHORTEST_QUOTE:
                    known |= self._lines.intersection(_lines(text))
                self._found[text] = known
            found |= known
        return found

    def needs(self, transcript: Transcript, ats: Sequence[int]) -> tuple[frozenset[str], ...]:
        """For each answer, what it used that only tool results before it had brought. `ats` are their positions."""
        brought: dict[str, int] = {}
        told: set[str] = set()
        results = 0
        wanted = set(ats)
        needs: dict[int, frozenset[str]] = {}
        for place, message in enumerate(transcript):
            if message.role == "assistant":
                if place in wanted:
                    common = max(3, int(results * COMMON_SHARE))
                    used = self.used_by(message) - told
                    needs[place] = frozenset(name for name in used if 0 < brought.get(name, 0) <= common)
            elif message.tool_results or message.is_output:
                results += 1
                for name in self.of(message):
                    brought[name] = brought.get(name, 0) + 1
            else:
                told |= self.of(message)
        return tuple(needs.get(at, frozenset()) for at in ats)


class Visibility:
    """Counts the names of a view as it grows and changes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Count nothing yet."""
        self._vocabulary = vocabulary
        self._counts: dict[str, int] = {}
        self._shown: list[Message] = []

    def follow(self, messages: Sequence[Message]) -> None:
        """Take in the present view; only what differs from the last one is looked at."""
        shown = self._shown
        same = unchanged(shown, messages)
        for message in shown[same:]:
            for name in self._vocabulary.of(message):
                self._counts[name] -= 1
        new = list(messages[same:])
        for message in new:
            for name in self._vocabulary.of(message):
                self._counts[name] = self._counts.get(name, 0) + 1
        self._shown = [*shown[:same], *new]

    def shows(self, name: str) -> bool:
        """Whether the view holds this name."""
        return self._counts.get(name, 0) > 0


class Recallable:
    """The names behind handles."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Hold nothing yet."""
        self._vocabulary = vocabulary
        self._names: set[str] = set()
        self._seen = 0

    def follow(self, originals: Mapping[str, Original]) -> None:
        """Take in what was archived since the last time."""
        for original in list(originals.values())[self._seen :]:
            self._names |= self._vocabulary.within(_texts(original.content))
            for message in original.messages:
                self._names |= self._vocabulary.of(message)
        self._seen = len(originals)

    def holds(self, name: str) -> bool:
        """Whether some handle leads to this name."""
        return name in self._names


def _terms(texts: Iterable[str]) -> Iterator[str]:
    """Names, and whole lines without the number that a tool set before them."""
    for text in texts:
        for name in _WORD.findall(text):
            if _NAMELIKE.search(name):
                yield name
        yield from (line for line in _lines(text) if len(line) >= SHORTEST_QUOTE)


def _lines(text: str) -> Iterator[str]:
    """Lines without the number that a tool set before them, and without the space around them."""
    return map(str.strip, _NUMBERED.sub("\n", "\n" + text).splitlines())


def _texts(content: tuple[Block, ...]) -> Iterator[str]:
    for block in content:
        match block:
            case Text(text=text):
                yield text
            case ToolResult(content=inner):
                yield text_of(inner)
            case ToolUse():
                yield from _strings(block)
            case _:
                pass


def _used_texts(message: Message) -> Iterator[str]:
    if message.role == "assistant":
        yield from _call_texts(message.content) if message.tool_uses else _texts(message.content)


def _call_texts(content: tuple[Block, ...]) -> Iterator[str]:
    for block in content:
        if isinstance(block, ToolUse):
            yield from _strings(block)


def _strings(call: ToolUse) -> Iterator[str]:
    """The strings of a call's arguments, at any depth."""
    if call.raw_input is not None:
        yield call.raw_input
    pending: list[Json] = [call.input]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
