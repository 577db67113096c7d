"""Hypothesis strategies: any legal transcript, and transcripts that are broken in every way that recordings are.

It knows the shapes that a transcript may take. It must never know what a test does with it. Each event of a transcript
is drawn as one whole number, whose digits choose everything about it and whose zero is the simplest; so drawing is
quick, and what a failing test shows in the end is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from hypothesis import strategies as st

from perdure.kernel.messages import (
    REMINDER_OPENING,
    Block,
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
    Usage,
)
from perdure.kernel.value import record

START = 1_790_000_000.0
"""Time of the first message, in seconds since 1970."""

_BYTES = 3
"""Bytes of an event. All of them are drawn at once, which is what makes drawing quick."""


@st.composite
def transcripts(draw: st.DrawFn, *, max_events: int = 30, open_end: bool = True, largest: int = 12_000) -> Transcript:
    """Any legal transcript: its order is valid in every dialect, though not every dialect has a form for every block.

    An event is something that the user says, an answer, or a round of calls with its results; so there are up to about
    twice as many messages. With `open_end` the last round may lack results. The largest output has `largest`
    characters.
    """
    events = _events(draw, 1, max_events)
    return Transcript(_write(events, draw(_ENDS) if open_end else 0, largest))


@st.composite
def turns(draw: st.DrawFn, *, max_rounds: int = 6, largest: int = 12_000) -> tuple[Message, ...]:
    """One closed turn: what the user typed, rounds of calls, and an answer."""
    opening, answer, *rounds = _events(draw, 2, max_rounds + 2)
    draft = _Draft(largest=largest)
    _say(draft, _Digits(opening))
    for event in rounds:
        _round(draft, _Digits(event))
    _answer(draft, _Digits(answer))
    return tuple(draft.messages)


@st.composite
def messages(draw: st.DrawFn, *, largest: int = 12_000) -> Message:
    """Any message of a legal transcript, alone: typed text, an answer, calls or results."""
    written = _write(_events(draw, 2, 2), 0, largest)
    return written[-1 if draw(st.booleans()) else 0]


@st.composite
def broken_transcripts(draw: st.DrawFn, *, max_events: int = 12, largest: int = 2_000) -> tuple[Message, ...]:
    """A transcript with one to four breakages: lost, repeated, moved and emptied messages and blocks."""
    whole = draw(transcripts(max_events=max_events, largest=largest))
    return _break(tuple(whole), _events(draw, 1, 4))


def _events(draw: st.DrawFn, least: int, most: int) -> list[int]:
    size = draw(st.integers(least, most)) * _BYTES
    drawn = draw(st.binary(min_size=size, max_size=size))
    return [int.from_bytes(drawn[place : place + _BYTES], "big") for place in range(0, size, _BYTES)]


_ENDS = st.integers(0, 2)


@record()
class _Digits:
    """A whole number, taken apart digit by digit."""

    value: int

    def take(self, choices: int) -> int:
        self.value, digit = divmod(self.value, choices)
        return digit


@record()
class _Draft:
    """The transcript so far."""

    largest: int
    messages: list[Message] = field(default_factory=list[Message])
    calls: int = 0
    size: int = 0
    """Characters so far."""
    time: float = START

    def add(self, message: Message) -> None:
        self.messages.append(message)

    def text(self, digit: int) -> str:
        """A text that no other message has."""
        mark = f"{_WORDS[digit % len(_WORDS)]} {len(self.messages)}"
        match digit % 8:
            case 0 | 1:
                text = mark
            case 2:
                text = f"{mark}：请把重试次数改成 7，谢谢。"
            case 3:
                text = f"{mark}\n\n```\n{_LINE * 6}```\n"
            case 4:
                text = f"  {mark} 🧭 e\u0301 \u200f \t\u0007 </system-reminder> "
            case 5:
                text = f"{mark} " + _LINE * 80
            case 6:
                text = f"{mark}: never edit legacy/{mark.split(maxsplit=1)[0]}.py; the limit is {len(self.messages)}."
            case _:
                text = f'{{"{mark}": [1, 2.5, null], "path": "src/{mark.split(maxsplit=1)[0]}.py"}}'
        self.size += len(text)
        return text


def _write(events: Sequence[int], end: int, largest: int) -> list[Message]:
    draft = _Draft(largest=largest)
    for event in events:
        if not event and draft.messages:
            # Nothing happens: so what shrinks to zero leaves the transcript.
            continue
        digits = _Digits(event)
        kind = digits.take(3)
        # The user speaks first; after that anybody may, also twice in a row.
        match kind if draft.messages else 0:
            case 0:
                _say(draft, digits)
            case 1:
                _round(draft, digits)
            case _:
                _answer(draft, digits)
    if end:
        _open(draft, end)
    return draft.messages


def _say(draft: _Draft, digits: _Digits) -> None:
    """A message of the user's, with whatever the harness and he put around what he typed."""
    text = Text(text=draft.text(digits.take(16)))
    pause = _PAUSES[digits.take(4)]
    reminder, media, second = digits.take(2), digits.take(4), digits.take(3)
    content: list[Block] = []
    if reminder:
        content.append(Text(text=f"{REMINDER_OPENING}\ntoday is day {len(draft.messages)}\n</system-reminder>"))
    if media == 1:
        content.append(_IMAGE)
    elif media == 2:
        content.append(_DOCUMENT)
    content.append(text)
    if second == 1:
        content.append(Text(text=draft.text(second + 5)))
    draft.time += pause
    draft.add(
        Message(
            id=f"m{len(draft.messages)}",
            role="user",
            content=tuple(content),
            provenance="user",
            plain=len(content) == 1 and second == 2,
            time=draft.time,
        )
    )


def _answer(draft: _Draft, digits: _Digits) -> None:
    """An answer in words."""
    content = [*_thinking(draft, digits.take(4)), Text(text=draft.text(digits.take(8)))]
    _assistant(draft, content, usage=digits.take(2) == 0, stop_reason="end_turn")


def _round(draft: _Draft, digits: _Digits) -> None:
    """An assistant message with calls, and all of their results."""
    uses = _call(draft, digits)
    form, size, split = digits.take(8), digits.take(5), digits.take(3)
    draft.time += _PAUSES[digits.take(2)]
    length = min(_SIZES[size], draft.largest)
    results = [_result(draft, use, form + place, length) for place, use in enumerate(uses)]
    # Results may come in any order, and in messages of their own.
    results = results[::-1] if split == 1 else results
    parts = [[result] for result in results] if split == 2 else [results]
    for part in parts:
        _results(draft, part)


def _call(draft: _Draft, digits: _Digits) -> list[ToolUse]:
    count, thought, narrated = digits.take(4) + 1, digits.take(4), digits.take(3)
    tool, same, between = digits.take(4), digits.take(2), digits.take(2)
    content: list[Block] = _thinking(draft, thought)
    if narrated:
        content.append(Text(text=draft.text(narrated + 3)))
    uses: list[ToolUse] = []
    for place in range(count):
        number = draft.calls
        draft.calls += 1
        # Calls with equal arguments are told apart by their ids alone.
        path = "src/same.py" if same else f"src/file{number}.py"
        name = _TOOLS[(tool + place) % len(_TOOLS)]
        uses.append(ToolUse(id=f"call_{number}", name=name, input={"path": path, "limit": 40} if tool else {}))
        if between and place:
            content.append(Text(text=f"and then {number}"))
        content.append(uses[-1])
    _assistant(draft, content, usage=digits.take(2) == 0, stop_reason="tool_use")
    return uses


def _open(draft: _Draft, end: int) -> None:
    """A last round without results (1), or with the first of two (2)."""
    uses = _call(draft, _Digits(end - 1))
    if end > 1:
        _results(draft, [_result(draft, uses[0], 0, _SIZES[1])])


def _assistant(draft: _Draft, content: list[Block], *, usage: bool, stop_reason: str) -> None:
    draft.time += 3
    draft.add(
        Message(
            id=f"m{len(draft.messages)}",
            role="assistant",
            content=tuple(content),
            provenance="assistant",
            time=draft.time,
            model="claude-sonnet-4-6",
            stop_reason=stop_reason,
            usage=Usage(cache_read_tokens=draft.size // 3, input_tokens=50, output_tokens=60) if usage else None,
        )
    )


def _results(draft: _Draft, results: Sequence[Block]) -> None:
    draft.add(
        Message(id=f"m{len(draft.messages)}", role="user", content=tuple(results), provenance="tool", time=draft.time)
    )


def _thinking(draft: _Draft, digit: int) -> list[Block]:
    number = len(draft.messages)
    signed = Thinking(thinking=f"thought {number}" if number % 3 else "", signature=f"sig{number}==")
    redacted = RedactedThinking(data=f"hidden{number}==")
    choices: list[list[Block]] = [[], [signed], [redacted], [signed, redacted]]
    return choices[digit]


def _result(draft: _Draft, use: ToolUse, form: int, length: int) -> ToolResult:
    text = f"output of {use.id}\n" + _LINE * (length // len(_LINE)) if length else ""
    draft.size += len(text)
    failed = None
    content: str | tuple[Block, ...] | None
    match form % 8:
        case 0 | 1:
            content = text
        case 2:
            content = (Text(text=text or use.id),)
        case 3:
            content, failed = f"error in {use.id}: no such file", True
        case 4:
            content = (Text(text=f"picture of {use.id}"), _IMAGE)
        case 5:
            content = None
        case 6:
            content, failed = (Text(text="第一行：" + text), Text(text=use.id)), False
        case _:
            content = (_DOCUMENT,)
    return ToolResult(tool_use_id=use.id, content=content, is_error=failed)


def _break(whole: tuple[Message, ...], breakages: Sequence[int]) -> tuple[Message, ...]:
    broken = list(whole)
    for number in breakages:
        if not broken:
            break
        digits = _Digits(number)
        kind, place = digits.take(7), digits.take(max(1, len(broken)))
        message = broken[place]
        block = digits.take(max(1, len(message.content)))
        match kind:
            case 0:
                del broken[place]
            case 1:
                broken[place] = replace(message, content=message.content[:block] + message.content[block + 1 :])
            case 2:
                broken.insert(place, replace(message, id=f"{message.id}-again"))
            case 3:
                broken.insert(0, broken.pop(place))
            case 4 if message.role == "user":
                broken[place] = replace(message, content=message.content[::-1])
            case 5:
                broken[place] = replace(message, content=(*message.content, Text(text=" ")))
            case _:
                broken.insert(place, message)
    return tuple(broken)


_WORDS = ("berth", "tariff", "crane", "pilotage", "潮汐", "vessel", "manifest", "quay")
_TOOLS = ("read", "bash", "grep", "edit")
_LINE = "2026-09-21T08:00:00Z worker-03 INFO tide window 17 settled in 41 ms\n"
_SIZES = (0, 70, 700, 7_000, 200_000)
"""Characters of outputs; the last is cut to the `largest` that a test asks for."""
_PAUSES = (1.0, 40.0, 400.0, 7_200.0)
"""Seconds; the last two are longer than five minutes and than an hour."""
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
_IMAGE = Image(source={"type": "base64", "media_type": "image/png", "data": _PIXEL})
_DOCUMENT = Document(source={"type": "text", "media_type": "text/plain", "data": "The tide table of the north quay."})
