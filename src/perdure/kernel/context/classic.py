"""The classic ladder: how coding agents commonly keep a context small, as a baseline for comparison.

It plans anew at each call and renders for that call only. It knows the thresholds, texts, order, stop rule and break
rule of that ladder, and its way of counting. It must never borrow from the engine: no edit is remembered, no price is
asked, any text may be trimmed, an open breaker returns the untouched view, and there is no last rung. A full summary is
the one thing that lasts: it becomes the new baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from perdure.kernel.context.checkpoint import CLOSING, OPENING
from perdure.kernel.context.checkpoint.ask import transcript_request
from perdure.kernel.context.checkpoint.narrative import summary_of
from perdure.kernel.context.cut import Cut, Cuts, find_cut
from perdure.kernel.context.describe import call_names
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.ports import Answer, Need, ReadSessionMemory, Reply, SessionMemory, Summarize
from perdure.kernel.context.settings import Settings, reserve_of
from perdure.kernel.context.strategies.session_memory import capped
from perdure.kernel.context.strategies.tool_results import CLEARED
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import (
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
    encode_json,
    text_of,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value

KEEP_RESULTS = 5
SMALL_RESULT = 200
TRIM_OVER, TRIM_HEAD, TRIM_TAIL, TRIM_NEWEST = 4_000, 1_200, 800, 4
KEEP_TAIL, KEEP_LEAST = 20_000, 2_000
MEMORY_CAP = 20_000
BREAKER_LIMIT = 3
IMAGE_TOKENS = 1_200


@value
class ClassicView:
    """What the classic ladder would send."""

    messages: tuple[Message, ...]
    tokens: int
    """By its own way of counting."""
    steps: tuple[Rung, ...] = ()
    """The rungs that changed something, in order."""
    skipped: bool = False
    """Whether the breaker returned the untouched view."""
    failed: str = ""
    """Why a rung failed; the call that asked for the view fails with it."""


@value
class _State:
    """A view in the making."""

    messages: tuple[Message, ...]
    tokens: int


class Classic:
    """One session under the classic ladder."""

    def __init__(self, profile: ModelProfile, *, overhead: int = 0, session_memory: bool = True) -> None:
        """A ladder for one session.

        Raises:
            InvalidSetting: the model's window is not known.
        """
        window = profile.window.tokens
        if window is None:
            raise InvalidSetting(f"the window of {profile.id!r} is not known; declare it to use the classic ladder")
        self.threshold = window - reserve_of(Settings(), profile, window)
        self._overhead = overhead
        self._session_memory = session_memory
        self._summary: Message | None = None
        self._baseline = 0
        self._failures = 0
        self._count = 0

    def project(self, transcript: Transcript) -> Generator[Need, Answer, ClassicView]:
        """The view for one call: rungs in order until the estimate is below the threshold."""
        state = self._state(transcript)
        if state.tokens <= self.threshold:
            return ClassicView(messages=state.messages, tokens=state.tokens)
        if self._failures >= BREAKER_LIMIT:
            self._failures = BREAKER_LIMIT - 1
            return ClassicView(messages=state.messages, tokens=state.tokens, skipped=True)
        steps: list[Rung] = []
        for rung, change in _LIGHT:
            if state.tokens > self.threshold and (smaller := change(state)).tokens < state.tokens:
                steps.append(rung)
                state = smaller
        if state.tokens > self.threshold and self._session_memory:
            seeded = yield from self._from_memory(transcript)
            if seeded is not None:
                steps.append("session_memory")
                state = seeded
        if state.tokens > self.threshold:
            return (yield from self._summarized(transcript, state, steps))
        self._failures = 0 if steps else self._failures
        return ClassicView(messages=state.messages, tokens=state.tokens, steps=tuple(steps))

    def compact(self, transcript: Transcript) -> Generator[Need, Answer, ClassicView]:
        """A full summary, because somebody asked or the provider said that the request is too long."""
        return (yield from self._summarized(transcript, self._state(transcript), []))

    def _state(self, transcript: Transcript) -> _State:
        opening = (self._summary,) if self._summary is not None else ()
        messages = (*opening, *transcript[self._baseline :])
        return _State(messages=messages, tokens=self._overhead + sum(map(classic_tokens, messages)))

    def _summarized(
        self, transcript: Transcript, state: _State, steps: list[Rung]
    ) -> Generator[Need, Answer, ClassicView]:
        cut = self._cut(transcript)
        if cut is None:
            return ClassicView(messages=state.messages, tokens=state.tokens, steps=tuple(steps))
        answer = yield Summarize(
            messages=(),
            instruction=transcript_request(transcript[self._baseline : cut.index], previous=None),
            extends=False,
            max_tokens=8_000,
        )
        text = summary_of(text_of(answer.message.content)) if isinstance(answer, Reply) else None
        if not text:
            self._failures += 1
            return ClassicView(
                messages=state.messages,
                tokens=state.tokens,
                steps=tuple(steps),
                failed="the summarizer gave no summary",
            )
        self._count += 1
        self._failures = 0
        self._summary = _summary_message(text, self._count)
        self._baseline = cut.index
        fresh = self._state(transcript)
        return ClassicView(messages=fresh.messages, tokens=fresh.tokens, steps=(*steps, "full_summary"))

    def _from_memory(self, transcript: Transcript) -> Generator[Need, Answer, _State | None]:
        """The session memory in the place of what it covers, for this call; a turn is never split."""
        answer = yield ReadSessionMemory()
        cut = self._cut(transcript)
        if not isinstance(answer, SessionMemory) or cut is None or not answer.text.strip():
            return None
        if answer.text.strip() == answer.template.strip():
            return None
        start = cut.turn_start if cut.turn_start is not None else cut.index
        covered = transcript.index_of(answer.covers_until)
        if covered is None or covered + 1 < start or start <= self._baseline:
            return None
        summary = _summary_message(capped(answer.text, MEMORY_CAP), self._count + 1)
        messages = (summary, *transcript[start:])
        return _State(messages=messages, tokens=self._overhead + sum(map(classic_tokens, messages)))

    def _cut(self, transcript: Transcript) -> Cut | None:
        sizes = [0]
        for message in reversed(transcript[self._baseline :]):
            sizes.append(sizes[-1] + classic_tokens(message))
        end = len(transcript)
        keep = min(KEEP_TAIL, max(KEEP_LEAST, self.threshold // 4))
        cuts = Cuts(transcript, self._baseline)
        return find_cut(cuts, transcript, self._baseline, keep, lambda place: sizes[end - place])


def classic_tokens(message: Message) -> int:
    """Tokens as the classic ladder counts them: a quarter of the bytes, or 1.5 per character where most are wide."""
    return message.keep(classic_tokens, _classic_tokens)


def _classic_tokens(message: Message) -> int:
    total = 0
    for block in message.content:
        match block:
            case Text(text=text) | Thinking(thinking=text):
                total += _text_tokens(text)
            case ToolUse(name=name, input=given):
                total += (len(name) + len(encode_json(given))) // 4
            case ToolResult(content=content):
                total += _text_tokens(text_of(content)) + IMAGE_TOKENS * _pictures(content)
            case Image() | Document():
                total += IMAGE_TOKENS
            case RedactedThinking(data=data):
                total += len(data) // 4
            case _:
                total += 1
    return max(1, total)


def _text_tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return len(text) * 3 // 2 if size > 2 * len(text) else size // 4


def _pictures(content: str | tuple[object, ...] | None) -> int:
    return sum(isinstance(block, Image) for block in content) if isinstance(content, tuple) else 0


def _microcompact(state: _State) -> _State:
    """Old tool results become the placeholder; the newest five, counted once per call, stay."""
    calls = call_names(state.messages)
    kept: dict[tuple[str, bytes], str] = {}
    for message in reversed(state.messages):
        for result in reversed(message.tool_results):
            call = calls.get(result.tool_use_id)
            key = (call.name, encode_json(call.input)) if call else ("", encode_json(result.tool_use_id))
            if len(kept) < KEEP_RESULTS:
                kept.setdefault(key, result.tool_use_id)
    protected = Settings().protected_tools
    stays = set(kept.values()) | {call.id for call in calls.values() if call.name in protected}
    return _rewritten(state, lambda message, _: _cleared(message, stays))


def _cleared(message: Message, stays: set[str]) -> Message:
    if not message.tool_results:
        return message
    content = tuple(
        replace(block, content=CLEARED)
        if isinstance(block, ToolResult)
        and block.tool_use_id not in stays
        and _text_tokens(text_of(block.content)) >= SMALL_RESULT
        else block
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _light_trim(state: _State) -> _State:
    """Long texts of all but the newest messages lose their middle, whoever wrote them."""
    last = len(state.messages) - TRIM_NEWEST
    return _rewritten(state, lambda message, place: _trimmed(message) if place < last else message)


def _trimmed(message: Message) -> Message:
    content = tuple(
        replace(block, text=_trim(block.text))
        if isinstance(block, Text)
        else replace(block, content=_trim(block.content))
        if isinstance(block, ToolResult) and isinstance(block.content, str)
        else block
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _trim(text: str) -> str:
    if len(text) <= TRIM_OVER:
        return text
    left_out = len(text) - TRIM_HEAD - TRIM_TAIL
    return f"{text[:TRIM_HEAD]}\n[{left_out} characters trimmed]\n{text[-TRIM_TAIL:]}"


def _rewritten(state: _State, change: Callable[[Message, int], Message]) -> _State:
    """Every message as `change` gives it; what that saves is subtracted from the running estimate."""
    messages = tuple(change(message, place) for place, message in enumerate(state.messages))
    saved = sum(
        classic_tokens(before) - classic_tokens(after)
        for before, after in zip(state.messages, messages, strict=True)
        if before is not after
    )
    return _State(messages=messages, tokens=state.tokens - saved)


def _summary_message(text: str, count: int) -> Message:
    return Message(
        id=f"classic-{count}",
        role="user",
        content=(Text(text=f"{OPENING}\n{text}\n{CLOSING}"),),
        provenance="harness",
    )


_LIGHT: Sequence[tuple[Rung, Callable[[_State], _State]]] = (
    ("tool_result_microcompact", _microcompact),
    ("light_trim", _light_trim),
)
