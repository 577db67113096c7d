"""Sessions of the GitHub Copilot CLI: a JSONL of events (to version 1.0.64).

It knows events. It must never know a file. Only output tokens are counted there, which says nothing of a request's
price, so no usage is read. What was typed stands inside what was sent (`transformedContent`). A subagent's events name
the call that started it, and are a recording of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.messages import Block, JsonObject, Message, Provenance, Text, Thinking, ToolResult
from perdure.lab.readers.decode import call
from perdure.lab.readers.fields import part, parts, seconds, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.recording import Recording

NAME = "copilot-cli"

_EVENTS = frozenset({"session.start", "user.message", "assistant.message", "assistant.turn_start", "system.message"})


def _recognises(sample: Sample) -> bool:
    return any(text(line, "type") in _EVENTS and isinstance(line.get("data"), dict) for line in sample.lines)


def _read(given: Input) -> Iterator[Recording]:
    tapes = {"": Tape(file=given.file, format=NAME, troubles=given.troubles)}
    for number, line in given.objects():
        data = part(line, "data")
        parent = text(data, "parentToolCallId")
        thread = f"agent-{parent}" if parent else ""
        if thread not in tapes:
            tapes[thread] = Tape(file=given.file, format=NAME, troubles=given.troubles, thread=thread)
        _event(line, data, number, tapes[thread])
    for tape in tapes.values():
        yield tape.recording()


FORMAT = Format(name=NAME, about="a Copilot CLI session (JSONL)", layout="lines", recognises=_recognises, read=_read)


def _event(line: JsonObject, data: JsonObject, number: int | None, tape: Tape) -> None:
    kind, time = text(line, "type"), seconds(line.get("timestamp"))
    name = text(line, "id") or f"m{len(tape)}"
    if kind == "assistant.message":
        _answer(data, name, time, number, tape)
    elif kind == "user.message":
        tape.tell(_said(data, name, time, tape.thread != ""), line=number)
    elif kind == "tool.execution_complete":
        tape.tell((_result(data, name, time),), line=number)
    elif kind == "system.message":
        said = text(data, "content")
        if said and not tape.system:
            tape.system = (Text(text=said),)
    elif kind == "system.notification":
        tape.tell((_spoken(name, text(data, "content") or "", "harness", time),), line=number)
    elif kind == "session.compaction_complete" and data.get("success") is not False:
        tape.compacted()


def _spoken(name: str, said: str, provenance: Provenance, time: float | None) -> Message:
    return Message(id=name, role="user", content=(Text(text=said),), provenance=provenance, time=time)


def _said(data: JsonObject, name: str, time: float | None, by_agent: bool) -> Iterator[Message]:
    """What was sent, in pieces: what the harness put before it, what was typed, what stands behind it."""
    typed = text(data, "content") or ""
    before, found, behind = (text(data, "transformedContent") or "").partition(typed) if typed else ("", "", "")
    harness = text(data, "source") not in (None, "user")
    if found:
        yield _spoken(f"{name}.before", before, "harness", time)
    yield _spoken(name, typed, "peer" if by_agent else "harness" if harness else "user", time)
    if found:
        yield _spoken(f"{name}.behind", behind, "harness", time)


def _answer(data: JsonObject, name: str, time: float | None, line: int | None, tape: Tape) -> None:
    blocks: list[Block] = []
    tape.dialect = "anthropic" if (text(data, "model") or "claude").startswith("claude") else "chat"
    thought, hidden = text(data, "reasoningText"), text(data, "reasoningOpaque")
    if thought or hidden:
        blocks.append(Thinking(thinking=thought or "", signature=hidden))
    said = text(data, "content")
    if said:
        blocks.append(Text(text=said))
    for request in parts(data, "toolRequests"):
        asked, tool = text(request, "toolCallId"), text(request, "name")
        if asked and tool:
            blocks.append(call(tool, asked, request.get("arguments"), line, tape.troubles))
    if not blocks:
        return
    answer = Message(
        id=name,
        role="assistant",
        content=tuple(blocks),
        provenance="assistant",
        time=time,
        model=text(data, "model"),
    )
    tape.answer(answer)


def _result(data: JsonObject, name: str, time: float | None) -> Message:
    content = text(part(data, "result"), "content")
    if content is None:
        content = text(part(data, "error"), "message") or ""
    result = ToolResult(
        tool_use_id=text(data, "toolCallId") or "",
        content=content,
        is_error=True if data.get("success") is False else None,
    )
    return Message(id=name, role="user", content=(result,), provenance="tool", time=time)
