"""What an answer means for the loop, and what of it enters the conversation.

It knows the providers' words for why a model stopped, and which rests of an answer a provider would take back. It must
never know how an answer was obtained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perdure.kernel.agent.mend import acceptable, arguments_of, continues, mended
from perdure.kernel.agent.ports import AgentTool, Failure
from perdure.kernel.agent.state import Signal
from perdure.kernel.context import Projection
from perdure.kernel.errors import Overflow
from perdure.kernel.messages import (
    Block,
    Message,
    Text,
    ToolResult,
    ToolUse,
    text_of,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire import BlockDone, BlockGrew, Delta, Dialect
from perdure.kernel.wire.responses import unpaired

CUT = frozenset({"max_tokens", "length", "max_output_tokens", "incomplete"})
"""The answer is longer than it may be (Anthropic; Chat Completions; Responses)."""

FULL = frozenset({"model_context_window_exceeded"})
"""The window ended in the middle of the answer (Anthropic, since 4.5)."""

REFUSED = frozenset({"refusal", "content_filter"})
"""The provider stopped the answer for what it says (Anthropic; OpenAI)."""

PAUSED = frozenset({"pause_turn", "compaction"})
"""The provider wants to be called again with what it said so far (Anthropic)."""

CUT_OFF_NOTE = (
    "<system-reminder>\nYour last answer was cut off at the output limit, and calls in it were not run. "
    "Go on from there in smaller pieces: one file, or one part of a file, at a time.\n</system-reminder>"
)

INTERRUPTED = "The user interrupted before this call ended; what it did until then is unknown."

UNKNOWN = (
    "The session broke off while this call ran: whether it happened, or how far it came, is unknown. "
    "Look at what it would have changed before you go on or call it again."
)

NOT_RUN = "The user interrupted before this call began; it was not run."


def signal_of(message: Message, window: int | None) -> Signal:
    """What a complete answer asks of the loop."""
    reason = message.stop_reason or ""
    if reason in FULL:
        return "too_long"
    if reason in REFUSED or _only_refuses(message):
        return "refused"
    if reason in CUT:
        # A server that lets a request grow past its window leaves no room for an answer, and does not say so.
        read = message.usage.prompt_tokens if message.usage is not None else 0
        return "too_long" if window is not None and read >= window else "cut"
    if message.tool_uses:
        return "calls"
    return "paused" if reason in PAUSED and continues(message) else "said"


def _only_refuses(message: Message) -> bool:
    """Whether a chat server said why it does not answer, and nothing else; such a message it would not take back, since
    a message of the assistant's needs content or calls (OpenAI, Chat Completions, 2026-11)."""
    return not message.content and message.extra is not None and bool(message.extra.get("refusal"))


def taken(message: Message, signal: Signal, dialect: Dialect, used: set[str]) -> Message | None:
    """The answer as it enters the conversation; None where nothing of it can. `used` holds the ids of all calls.

    A whole answer enters whole, equal to what came. Calls of one that broke off go, since they may lack their end.
    """
    if signal == "cut":
        return remnant(message, (block for block in message.content if not isinstance(block, ToolUse)))
    return mended(message, dialect, used)


def remnant(message: Message, blocks: Iterable[Block]) -> Message | None:
    """What may stay of a broken answer. What the provider counted for the whole is no measure of it."""
    kept = unpaired(acceptable(blocks))
    return replace(message, content=kept, usage=None) if kept else None


def call_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all calls of a conversation."""
    return {call.id for message in messages for call in message.tool_uses}


def refused_result(call: ToolUse, tools: Mapping[str, AgentTool]) -> ToolResult | None:
    """The answer to a call that cannot be run; None where it can."""
    if call.name not in tools:
        offered = ", ".join(sorted(tools)) or "none"
        return failed(call, f"There is no tool {call.name!r}; there are: {offered}.")
    if arguments_of(call) is None:
        return failed(call, "The arguments were no JSON object, so that the call was not run. Make it again.")
    return None


def failed(call: ToolUse, text: str) -> ToolResult:
    """A result that says why there is none."""
    return ToolResult(tool_use_id=call.id, content=text, is_error=True)


def raised(call: ToolUse, error: Exception) -> ToolResult:
    """What a call gets whose tool raised. A class that says `speaks` writes for the model, and needs no name."""
    text = str(error) if getattr(error, "speaks", False) else f"{type(error).__name__}: {error}"
    return failed(call, text)


BESIDE = 16
"""Calls that run at once: an answer may hold thousands, and an interruption has to find a loop that listens."""


def groups_of(calls: Sequence[ToolUse], tools: Mapping[str, AgentTool]) -> list[list[ToolUse]]:
    """The calls in their order: those in a row that may run beside one another are a group, of `BESIDE` at most; any
    other is one alone."""
    groups: list[list[ToolUse]] = []
    together = False
    for call in calls:
        beside = call.name in tools and tools[call.name].beside
        if groups and beside and together and len(groups[-1]) < BESIDE:
            groups[-1].append(call)
        else:
            groups.append([call])
        together = beside
    return groups


def open_calls(messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """The calls of the last answer that still have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(call for call in message.tool_uses if call.id not in answered)
        answered |= {result.tool_use_id for result in message.tool_results}
    return ()


def results_message(id: str, results: Sequence[ToolResult], time: float | None) -> Message:
    """The results of one answer's calls, in their order."""
    return Message(id=id, role="user", content=tuple(results), provenance="tool", time=time)


def note_message(id: str, text: str, time: float | None) -> Message:
    """A word of the harness."""
    return Message(id=id, role="user", content=(Text(text=text),), provenance="harness", time=time)


def said_message(id: str, text: str, time: float | None) -> Message:
    """A word of the user's."""
    return Message(id=id, role="user", content=(Text(text=text),), provenance="user", time=time)


def grow(partial: dict[int, Text], event: Delta) -> None:
    """The text of an answer that is still coming, block by block, with one more piece."""
    if isinstance(event, BlockGrew) and event.kind == "text":
        so_far = partial.get(event.index)
        partial[event.index] = Text(text=(so_far.text if so_far else "") + event.piece)
    elif isinstance(event, BlockDone) and isinstance(event.block, Text):
        partial[event.index] = event.block


def answer_text(message: Message | None) -> str:
    """The readable text of an answer."""
    return text_of(message.content) if message is not None else ""


def interrupted_message(id: str, texts: Mapping[int, Text], model: str, time: float | None) -> Message | None:
    """What an answer that the user interrupted had said, by the places of its texts."""
    said = Message(
        id=id,
        role="assistant",
        content=(),
        provenance="assistant",
        time=time,
        model=model,
        stop_reason="interrupted",
    )
    return remnant(said, [texts[index] for index in sorted(texts)])


def overflow_of(failure: Failure, projection: Projection | None, profile: ModelProfile) -> Overflow:
    """The end of a run that is too long for its provider, in numbers."""
    estimate = projection.usage.tokens if projection is not None else 0
    return Overflow(estimate=estimate, window=profile.window.tokens, counted=failure.tokens, limit=failure.window)


def broken(error: Exception) -> Failure:
    """A port that raised, as a failure."""
    return Failure(kind="invalid", message=f"{type(error).__name__}: {error}", code="raised")
