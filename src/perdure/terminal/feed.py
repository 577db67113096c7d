"""The conversation as it comes: events in, finished lines and a live rest out.

It knows when a part of an answer is finished, so that it is printed once and never again. It must never print by
itself.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.kernel.agent import (
    CacheBreak,
    CompactionEnd,
    CompactionStart,
    MessageDelta,
    MessageEnd,
    ToolEnd,
    ToolStart,
    Trouble,
    TurnStart,
)
from perdure.kernel.messages import ToolResult, text_of
from perdure.kernel.wire import BlockGrew
from perdure.session import SessionEvent, SubagentHeard
from perdure.terminal import blocks
from perdure.terminal.blocks import Look
from perdure.terminal.plain import clean

FENCE = ("```", "~~~")
SEEN = 4_000
"""Characters of the end of what is not finished that are shown: more than fits the lines it has."""
KEPT = 50
"""Results that /output can show."""


class Feed:
    """What is shown of one session."""

    def __init__(self, put: Callable[[str], None], look: Callable[[], Look], *, thinking: bool = False) -> None:
        """A feed.

        Args:
            put: Gets finished lines.
            look: Tells how they are to look now.
            thinking: Whether thinking is shown.
        """
        self._put, self._look, self._thinking = put, look, thinking
        self._text = ""
        self._thought = ""
        self._scan = _Paragraphs()
        self.doing = ""
        """What goes on, in a few words; empty where nothing does."""
        self.breaks: list[CacheBreak] = []
        self.results: list[ToolResult] = []

    @property
    def live(self) -> str:
        """The end of what is not finished of the answer: it is drawn with every piece, so it has to be short."""
        return clean((self._text or self._thought)[-SEEN:])

    def hear(self, event: SessionEvent) -> None:
        """Something happened."""
        look = self._look()
        match event:
            case SubagentHeard(number=number, event=ToolStart(call=call)):
                self.doing = f"subagent {number}: {call.name}"
            case TurnStart():
                self.doing = "thinking"
            case MessageDelta(delta=BlockGrew(kind="text", piece=piece)):
                self.doing = "writing"
                self._grow(piece)
            case MessageDelta(delta=BlockGrew(kind="thinking", piece=piece)) if self._thinking:
                self._thought = (self._thought + piece)[-2_000:]
            case MessageEnd(message=message) if message.role == "assistant":
                self._finish()
            case MessageEnd(message=message) if message.is_typed:
                self._put(blocks.said(text_of(message.content), look))
            case ToolStart(call=call):
                self.doing = call.name
                self._put(blocks.called(call, look))
            case ToolEnd(call=call, result=found):
                self.results = [*self.results[1 - KEPT :], found]
                self._put(blocks.result(call, found, look))
            case CompactionStart():
                self.doing = "making room in the context"
            case CompactionEnd():
                self._put(blocks.folded(event, look))
            case Trouble():
                if event.void:
                    self._text, self._scan = "", _Paragraphs()
                self._put(blocks.trouble(event, look))
            case CacheBreak():
                self.breaks.append(event)
            case _:
                pass

    def stop(self) -> None:
        """The run is over."""
        self._finish()
        self.doing = ""

    def _grow(self, piece: str) -> None:
        """Whole paragraphs are finished; inside of a fence nothing is."""
        self._text += piece
        self._thought = ""
        end = self._scan.end_in(self._text)
        if end:
            self._put("\n" + blocks.markdown(self._text[:end], self._look()))
            self._text, self._scan = self._text[end:].lstrip("\n"), _Paragraphs()

    def _finish(self) -> None:
        if self._text.strip():
            self._put("\n" + blocks.markdown(self._text, self._look()))
        self._text = self._thought = ""
        self._scan = _Paragraphs()


class _Paragraphs:
    """Where the last finished paragraph of a growing text ends. No line is looked at twice: a fence may be long."""

    def __init__(self) -> None:
        self._at = 0
        self._end = 0
        self._fenced = False
        self._listed = False

    def end_in(self, text: str) -> int:
        """The end in a text that begins with all that was given before; 0 where none is."""
        whole = text.rfind("\n", self._at) + 1
        for line in text[self._at : whole].splitlines(keepends=True):
            self._take(line)
        return self._end

    def _take(self, line: str) -> None:
        stripped = line.lstrip()
        if stripped.startswith(FENCE):
            self._fenced = not self._fenced
        elif not stripped and not self._fenced and not self._listed:
            self._end = self._at
        elif stripped:
            # A list goes on behind an empty line; what is printed in two parts would be numbered anew.
            self._listed = (
                stripped[:1] in "-*+"
                or (stripped[:1].isdigit() and ". " in stripped[:5])
                or (self._listed and line[:1] == " ")
            )
        self._at += len(line)
