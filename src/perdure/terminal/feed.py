"""The conversation as it comes: events in, finished lines and a live rest out.

It knows when a part of an answer is finished, so that it is printed once and never again. It must never print by
itself.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.kernel.agent import (
    CacheBreak,
    CompactionEnd,
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
        self.doing = ""
        """What goes on, in a few words; empty where nothing does."""
        self.breaks: list[CacheBreak] = []
        self.results: list[ToolResult] = []

    @property
    def live(self) -> str:
        """The part of the answer that is not finished."""
        return clean(self._text or self._thought)

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
            case CompactionEnd():
                self._put(blocks.folded(event, look))
            case Trouble():
                self._text = "" if event.void else self._text
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
        end = _end_of_paragraphs(self._text)
        if end:
            self._put("\n" + blocks.markdown(self._text[:end], self._look()))
            self._text = self._text[end:].lstrip("\n")

    def _finish(self) -> None:
        if self._text.strip():
            self._put("\n" + blocks.markdown(self._text, self._look()))
        self._text = self._thought = ""


def _end_of_paragraphs(text: str) -> int:
    """Where the last finished paragraph ends; 0 where none is."""
    end = at = 0
    fenced = False
    listed = False
    for line in text.splitlines(keepends=True):
        stripped = line.lstrip()
        if stripped.startswith(FENCE):
            fenced = not fenced
        elif not stripped and not fenced and not listed:
            end = at
        elif stripped:
            # A list goes on behind an empty line; what is printed in two parts would be numbered anew.
            listed = (
                stripped[:1] in "-*+"
                or (stripped[:1].isdigit() and ". " in stripped[:5])
                or (listed and line[:1] == " ")
            )
        at += len(line)
    return end
