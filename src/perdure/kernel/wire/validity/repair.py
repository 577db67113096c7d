"""Repair of a broken input: explicit, reported, and the same however often it is done.

It knows what makes calls and results pair up again without losing a word. It must never invent an outcome: a call
whose result is unknown is answered with an error that says so. It works on what came in, never on what the engine
made.

A result that answers nothing becomes text, in a message of provenance `tool`, so that nobody takes it for the user's
words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Literal, TypeAlias

from perdure.kernel.messages import (
    Block,
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    text_of,
)
from perdure.kernel.value import record, value

RepairKind: TypeAlias = Literal[
    "message_renamed",
    "call_renamed",
    "result_moved",
    "result_told_as_text",
    "call_answered",
    "thinking_dropped",
    "empty_text_dropped",
    "empty_message_dropped",
]

_THOUGHTS = (Thinking, RedactedThinking)

UNKNOWN_OUTCOME = (
    "The outcome of this call is unknown: the history ends before its result. "
    "It may have run wholly, partly or not at all. Inspect the state before you rely on it or repeat it."
)


@value
class Repair:
    """One thing that was put right."""

    kind: RepairKind
    message_id: str
    """The message that was changed, added or dropped."""
    detail: str
    """What was done, for people; names ids only."""


@value
class Repaired:
    """The messages after a repair; the very same ones where nothing was broken."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


def repair(messages: Sequence[Message]) -> Repaired:
    """Put calls and results, ids and empty content right. What is valid comes back identical."""
    work = _Work()
    turns = _turns(_without_last_thinking(_kept(messages, work), work))
    for position, (by_assistant, turn) in enumerate(turns, start=1):
        if by_assistant:
            work.done.extend(_call_turn(turn, work))
        else:
            work.done.extend(_reply_turn(turn, work, is_last=position == len(turns)))
            work.awaiting, work.asked = {}, ()
    return Repaired(messages=tuple(work.done), repairs=tuple(work.repairs))


@record()
class _Work:
    """What is known while repairing on from turn to turn."""

    repairs: list[Repair] = field(default_factory=list[Repair])
    done: list[Message] = field(default_factory=list[Message])
    message_ids: dict[str, int] = field(default_factory=dict[str, int])
    call_ids: dict[str, int] = field(default_factory=dict[str, int])
    """Ids that are taken, with the last number that was given to one who wanted them."""
    awaiting: dict[str, deque[str]] = field(default_factory=dict[str, deque[str]])
    """Calls of the turn before: the id that results name, and the ids that its calls now have."""
    asked: tuple[tuple[str, Message], ...] = ()
    """The calls of the turn before by their new ids, each with its message."""

    def report(self, kind: RepairKind, message_id: str, detail: str) -> None:
        self.repairs.append(Repair(kind=kind, message_id=message_id, detail=detail))

    def fresh(self, wanted: str) -> str:
        """An id for a message, unused so far."""
        return _unused(wanted, self.message_ids)


def _unused(wanted: str, taken: dict[str, int]) -> str:
    """An id that is not taken, which it is from now on. Counting goes on where it stopped: many may want the same."""
    name = wanted
    while name in taken:
        taken[wanted] += 1
        name = f"{wanted}-{taken[wanted]}"
    taken[name] = 1
    return name


def _kept(messages: Iterable[Message], work: _Work) -> list[Message]:
    """The messages that say something, each with an id of its own."""
    kept: list[Message] = []
    for message in messages:
        content = message.content
        if any(_is_empty(block) for block in content):
            content = tuple(block for block in content if not _is_empty(block))
            work.report("empty_text_dropped", message.id, "text without a visible character was left out")
        if not content:
            work.report("empty_message_dropped", message.id, "nothing was left in the message")
            continue
        name = work.fresh(message.id)
        if name != message.id:
            work.report("message_renamed", name, f"the id {message.id!r} came before")
        changed = name != message.id or content is not message.content
        kept.append(replace(message, id=name, content=content) if changed else message)
    return kept


def _is_empty(block: Block) -> bool:
    return isinstance(block, Text) and (not block.text or block.text.isspace())


def _turns(messages: Sequence[Message]) -> list[tuple[bool, list[Message]]]:
    """Runs of messages of the assistant, and of everybody else."""
    turns: list[tuple[bool, list[Message]]] = []
    for message in messages:
        assistant = message.role == "assistant"
        if turns and turns[-1][0] == assistant:
            turns[-1][1].append(message)
        else:
            turns.append((assistant, [message]))
    return turns


def _call_turn(turn: list[Message], work: _Work) -> list[Message]:
    """Give each call an id of its own, and remember which results are due."""
    asked: list[tuple[str, Message]] = []
    done: list[Message] = []
    for message in turn:
        blocks: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolUse):
                call = _call(block, message, work)
                asked.append((call.id, message))
                blocks.append(call)
            elif isinstance(block, ToolResult):
                work.report("result_told_as_text", message.id, f"a result of {block.tool_use_id!r} by the assistant")
                blocks.append(Text(text=_told(block)))
            else:
                blocks.append(block)
        done.append(_with(message, blocks))
    work.asked = tuple(asked)
    return done


def _call(block: ToolUse, message: Message, work: _Work) -> ToolUse:
    name = _unused(block.id, work.call_ids)
    work.awaiting.setdefault(block.id, deque()).append(name)
    if name == block.id:
        return block
    work.report("call_renamed", message.id, f"the call id {block.id!r} came before; it is {name!r} now")
    return replace(block, id=name)


def _reply_turn(turn: list[Message], work: _Work, *, is_last: bool) -> list[Message]:
    """Give each call of the turn before its result, ahead of everything else; tell what answers nothing as text."""
    sorted_out = _Sorted()
    for message in turn:
        _sort_blocks(message, work, sorted_out)
    missing = [(name, asker) for name, asker in work.asked if name not in sorted_out.answered]
    if is_last and not sorted_out.told:
        missing = []
    for name, asker in missing:
        work.report("call_answered", asker.id, f"the call {name!r} had no result; it is told to be unknown")
    results = [*sorted_out.moved, *(_unknown(name) for name, _ in missing)]
    if not results:
        return [*sorted_out.messages, *sorted_out.strays]
    first = Message(
        id=work.fresh(f"{work.asked[-1][1].id}-results"),
        role="user",
        content=tuple(results),
        provenance="tool",
        time=turn[0].time,
    )
    return [first, *sorted_out.messages, *sorted_out.strays]


@record()
class _Sorted:
    """What the blocks of a reply turn turned out to be."""

    messages: list[Message] = field(default_factory=list[Message])
    moved: list[ToolResult] = field(default_factory=list[ToolResult])
    strays: list[Message] = field(default_factory=list[Message])
    answered: set[str] = field(default_factory=set[str])
    told: bool = False
    """Whether something other than a result came, so that the round is over."""


def _sort_blocks(message: Message, work: _Work, into: _Sorted) -> None:
    stay: list[Block] = []
    stray: list[Block] = []
    for block in message.content:
        if not isinstance(block, ToolResult):
            into.told = True
            stay.append(block)
            continue
        due = work.awaiting.get(block.tool_use_id)
        if not due:
            work.report("result_told_as_text", message.id, f"a result of {block.tool_use_id!r} answers no open call")
            stray.extend(_as_blocks(block))
            continue
        name = due.popleft()
        into.answered.add(name)
        result = block if name == block.tool_use_id else replace(block, tool_use_id=name)
        if into.told:
            work.report("result_moved", message.id, f"the result of {name!r} came behind other content")
            into.moved.append(result)
        else:
            stay.append(result)
    if stay:
        into.messages.append(_with(message, stay))
    if stray:
        into.told = True
        name = work.fresh(f"{message.id}-told") if stay else message.id
        into.strays.append(Message(id=name, role="user", content=tuple(stray), provenance="tool", time=message.time))


def _with(message: Message, blocks: list[Block]) -> Message:
    """The message with these blocks; itself where they are the ones it has."""
    same = len(blocks) == len(message.content) and all(
        one is other for one, other in zip(blocks, message.content, strict=True)
    )
    return message if same else replace(message, content=tuple(blocks), plain=False)


def _as_blocks(result: ToolResult) -> list[Block]:
    media = result.content if isinstance(result.content, tuple) else ()
    return [Text(text=_told(result)), *(block for block in media if isinstance(block, Image | Document))]


def _told(result: ToolResult) -> str:
    return f"[Result of the call {result.tool_use_id!r}, which is not open here]\n{text_of(result.content)}"


def _unknown(call: str) -> ToolResult:
    return ToolResult(tool_use_id=call, content=UNKNOWN_OUTCOME, is_error=True)


def _without_last_thinking(messages: Sequence[Message], work: _Work) -> list[Message]:
    """A turn of the assistant that is over never ends in thinking: such a response broke off before its first word."""
    kept: list[Message] = []
    replied = False
    for message in reversed(messages):
        content = message.content
        while replied and message.role == "assistant" and content and isinstance(content[-1], _THOUGHTS):
            content = content[:-1]
        if content is not message.content:
            work.report("thinking_dropped", message.id, "the response broke off in its thinking")
        if content:
            replied = message.role != "assistant"
            kept.append(message if content is message.content else replace(message, content=content))
    kept.reverse()
    return kept
