"""Conversations written by hand, for tests that need one of a certain shape, and the host that plays them.

It knows how messages follow one another. It must never know what the engine makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.kernel.context import Engine, Ports, Projection, drive
from perdure.kernel.messages import (
    Block,
    Json,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
    Usage,
)

LINE = "2026-09-21T08:00:00Z worker-03 INFO window 17 settled in 41 ms\n"
"""What outputs are filled with."""


class Talk:
    """A conversation that is written message by message; each method returns it, so that calls can be chained."""

    def __init__(self, start: float | None = None, step: float = 2.0) -> None:
        """An empty conversation.

        Args:
            start: Time of the first message, in seconds since 1970; None for messages without times.
            step: Seconds from one message to the next.
        """
        self.messages: list[Message] = []
        self._now = start
        self._step = step
        self._calls = 0

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return Transcript(self.messages)

    @property
    def now(self) -> float | None:
        """Time of the next message."""
        return self._now

    def wait(self, seconds: float) -> Talk:
        """Let time pass."""
        self._now = None if self._now is None else self._now + seconds
        return self

    def typed(self, *texts: str) -> Talk:
        """The user says something."""
        return self.add("user", tuple(Text(text=text) for text in texts))

    def said(self, text: str, *, thought: str = "", usage: Usage | None = None, model: str | None = None) -> Talk:
        """The model answers in words."""
        return self.add("assistant", (*self._thought(thought), Text(text=text)), usage=usage, model=model)

    def called(
        self, *inputs: Mapping[str, Json], tool: str = "bash", thought: str = "", usage: Usage | None = None
    ) -> Talk:
        """The model calls a tool, once for each input; `answered` gives the results."""
        uses: list[Block] = []
        for given in inputs or ({"command": f"step {self._calls}"},):
            uses.append(ToolUse(id=f"call_{self._calls}", name=tool, input={**given}))
            self._calls += 1
        return self.add("assistant", (*self._thought(thought), *uses), usage=usage)

    def answered(self, *outputs: str) -> Talk:
        """The results of the newest calls, in one message."""
        first = self._calls - len(outputs)
        results = tuple(
            ToolResult(tool_use_id=f"call_{first + place}", content=text) for place, text in enumerate(outputs)
        )
        return self.add("tool", results)

    def rounds(self, count: int, characters: int, *, tool: str = "bash", thought: str = "") -> Talk:
        """Rounds of one call and its output of so many characters."""
        for _ in range(count):
            self.called(tool=tool, thought=thought).answered(output(self._calls, characters))
        return self

    def add(
        self,
        speaker: Provenance,
        content: tuple[Block, ...],
        *,
        usage: Usage | None = None,
        model: str | None = None,
    ) -> Talk:
        """Any message."""
        self.messages.append(
            Message(
                id=f"m{len(self.messages)}",
                role="assistant" if speaker == "assistant" else "user",
                content=content,
                provenance=speaker,
                time=self._now,
                usage=usage,
                model=model,
            )
        )
        return self.wait(self._step)

    def _thought(self, text: str) -> tuple[Block, ...]:
        number = len(self.messages)
        return (Thinking(thinking=text, signature=f"sig{number}=="),) if text else ()


def output(number: int, characters: int) -> str:
    """An output that no other number has."""
    return (f"output {number}\n" + LINE * (characters // len(LINE) + 1))[:characters]


def play(engine: Engine, transcript: Transcript, ports: Ports) -> Iterator[Projection]:
    """What an engine sends along a conversation, as a host asks it: before each answer, and at the end."""
    shown = Transcript()
    for place in [*_requests(transcript), len(transcript)]:
        shown = shown.append(*transcript[len(shown) : place])
        yield drive(engine.project(shown, shown[-1].time), ports)


def _requests(transcript: Transcript) -> Iterator[int]:
    for place, message in enumerate(transcript):
        if message.role == "assistant" and place and transcript[place - 1].role != "assistant":
            yield place
