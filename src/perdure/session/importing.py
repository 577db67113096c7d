"""A conversation of another harness as a session of ours, to go on with it here.

It knows what of a foreign transcript may enter a request again. It must never know a foreign format: readers give
messages. The log that it writes says nothing of tools and system blocks, so that the first resume brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from perdure.kernel.agent.answers import UNKNOWN
from perdure.kernel.messages import (
    Block,
    Compaction,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    readable,
    text_of,
)
from perdure.log import Labelled, ModelChanged, create_log
from perdure.session.stored import new_id, path_of

PROVIDERS_OWN = (Compaction, ServerToolUse, ServerToolResult, Unknown)
"""Blocks that only the conversation which they came in can carry: their text stays."""


def import_transcript(
    folder: Path, messages: Sequence[Message], *, title: str, model: str | None, clock: Callable[[], float]
) -> Path:
    """Write the log of a new session that begins with these messages; `Session.resume` goes on with it.

    Ids are kept, or given anew where two messages share one. Thinking stays behind: its signature is bound to requests
    of another harness. Counts stay behind too, since they hold that one's tools. A call that nothing answered gets a
    result that says so, but for those of the last message, which the agent answers when it goes on.

    Args:
        folder: Where the sessions of the project are.
        messages: The conversation, as a reader gave it.
        title: For people; empty for none.
        model: The model that answered last, where it is known.
        clock: Gives Unix seconds.

    Raises:
        DiskError: the log cannot be made.
    """
    name = new_id(clock())
    with create_log(path_of(folder, name), name, clock()) as log:
        for message in adopted(messages):
            log.append_message(message, clock() if message.time is None else message.time)
        if model is not None:
            log.append(ModelChanged(model=model), clock())
        if title:
            log.append(Labelled(text=title), clock())
        return log.path


def adopted(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages as they may stand in a request again: none without content, each call answered once, behind it."""
    taken = {message.id for message in messages}
    fresh = (name for number in count() if (name := f"i{number}") not in taken)
    used: set[str] = set()
    waiting: tuple[ToolUse, ...] = ()
    for given in messages:
        if given.role in ("system", "developer"):
            # The harness's own words: this one has its own.
            continue
        answered, rest = _sorted(given, waiting)
        name = given.id
        if waiting and (answered or rest):
            results = tuple(answered.get(call.id) or _unknown(call) for call in waiting)
            own = next(fresh) if given.role == "assistant" else name
            told = Message(id=own, role="user", content=results, provenance="tool", time=given.time)
            yield _named(told, used, fresh)
            waiting = ()
        if rest:
            name = next(fresh) if name in used else name
            plain = given.plain and len(rest) == 1
            message = replace(given, id=name, content=rest, plain=plain, usage=None, extra=None)
            waiting = message.tool_uses if message.role == "assistant" else ()
            yield _named(message, used, fresh)


def _sorted(given: Message, waiting: Sequence[ToolUse]) -> tuple[dict[str, ToolResult], tuple[Block, ...]]:
    """The results that calls wait for, and what else the message says."""
    wanted = {call.id for call in waiting}
    answered: dict[str, ToolResult] = {}
    rest: list[Block] = []
    for block in given.content:
        match block:
            case ToolResult(tool_use_id=name) if given.role == "user" and name in wanted and name not in answered:
                answered[name] = block
            case ToolResult(content=content):
                rest += _told(text_of(content) if not isinstance(content, str) else content)
            case Thinking() | RedactedThinking():
                continue
            case Text(text=text):
                rest += _told(text)
            case _ if isinstance(block, PROVIDERS_OWN):
                rest += _told(readable((block,)))
            case _:
                rest.append(block)
    return answered, tuple(rest)


def _told(text: str) -> list[Block]:
    return [Text(text=text)] if text.strip() else []


def _unknown(call: ToolUse) -> ToolResult:
    return ToolResult(tool_use_id=call.id, content=UNKNOWN, is_error=True)


def _named(message: Message, used: set[str], fresh: Iterator[str]) -> Message:
    if not message.id or message.id in used:
        message = replace(message, id=next(fresh))
    used.add(message.id)
    return message
