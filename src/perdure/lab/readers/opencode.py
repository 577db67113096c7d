"""Exports of OpenCode (`opencode export`): one document {info, messages: [{info, parts}]} (to version 1.18).

It knows messages and parts. It must never know a file. Each step of an assistant's message ends in a `step-finish` with
its counts; a call and its outcome are one part. A message marked `summary` is a compaction, from whose request on
nothing older is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import (
    Block,
    Document,
    Image,
    JsonObject,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolResult,
    Usage,
)
from perdure.kernel.wire.openai import source_of
from perdure.lab.readers.counts import counted
from perdure.lab.readers.decode import call
from perdure.lab.readers.fields import count, flat, part, parts, seconds, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.recording import Recording

NAME = "opencode"


def _recognises(sample: Sample) -> bool:
    whole = sample.document
    if not isinstance(whole, dict):
        return False
    return any("role" in part(one, "info") and "parts" in one for one in parts(whole, "messages")[:5])


def _read(given: Input) -> Iterator[Recording]:
    for number, whole in given.objects():
        tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
        for place, message in enumerate(parts(whole, "messages")):
            _message(message, place, number, tape)
        yield tape.recording()


FORMAT = Format(name=NAME, about="an OpenCode export (JSON)", layout="document", recognises=_recognises, read=_read)


def _message(message: JsonObject, place: int, line: int | None, tape: Tape) -> None:
    info, given = part(message, "info"), parts(message, "parts")
    name = text(info, "id") or f"m{place}"
    if text(info, "role") == "user":
        _said(given, name, seconds(part(info, "time").get("created")), tape)
    elif info.get("summary") is True or info.get("mode") == "compaction":
        if tape.begun:
            tape.compacted()
        else:
            said = "\n".join(text(one, "text") or "" for one in given if one.get("type") == "text")
            note = Message(id=name, role="user", content=(Text(text=said),), provenance="harness")
            tape.tell((note,), line=line)
    elif text(info, "role") == "assistant":
        tape.dialect = "anthropic" if "claude" in (text(info, "modelID") or "claude") else "chat"
        for number, step in enumerate(_steps(given)):
            _step(step, info, name if number == 0 else f"{name}.{number + 1}", line, tape)
    else:
        tape.troubles.add(line, f"message {place} has the unknown role {text(info, 'role')!r}")


def _said(given: Sequence[JsonObject], name: str, time: float | None, tape: Tape) -> None:
    """What a user's message holds. Texts marked `synthetic` are the harness's; `ignored` ones were never sent."""
    for number, one in enumerate(given):
        block = _block(one)
        if block is None or one.get("ignored") is True:
            continue
        synthetic: Provenance = "harness" if one.get("synthetic") is True else "user"
        identity = name if number == 0 else f"{name}.{number + 1}"
        tape.tell((Message(id=identity, role="user", content=(block,), provenance=synthetic, time=time),))


def _steps(given: Sequence[JsonObject]) -> Iterator[list[JsonObject]]:
    """The parts of each response."""
    step: list[JsonObject] = []
    for one in given:
        if one.get("type") == "step-start" and any(_says(other) for other in step):
            yield step
            step = []
        step.append(one)
        if one.get("type") == "step-finish":
            yield step
            step = []
    if step:
        yield step


def _says(given: JsonObject) -> bool:
    return given.get("type") in ("text", "reasoning", "tool")


def _step(step: Sequence[JsonObject], info: JsonObject, name: str, line: int | None, tape: Tape) -> None:
    blocks: list[Block] = []
    results: list[ToolResult] = []
    for one in step:
        if one.get("type") == "tool":
            asked = text(one, "callID") or text(one, "id") or name
            state = part(one, "state")
            blocks.append(call(text(one, "tool") or "", asked, state.get("input"), line, tape.troubles))
            results.extend(_result(state, asked))
        elif (block := _block(one)) is not None:
            blocks.append(block)
    finish = next((one for one in step if one.get("type") == "step-finish"), info)
    usage = _usage(part(finish, "tokens"))
    if not blocks and usage is None:
        return
    times = part(info, "time")
    answer = Message(
        id=name,
        role="assistant",
        content=tuple(blocks),
        provenance="assistant",
        time=seconds(times.get("completed")) or seconds(times.get("created")),
        model=text(info, "modelID"),
        stop_reason=text(finish, "reason") or text(info, "finish"),
        usage=usage,
    )
    tape.answer(answer, time=None if "." in name else seconds(times.get("created")), usage=usage)
    if results:
        ends = [seconds(part(part(one, "state"), "time").get("end")) for one in step]
        time = max((end for end in ends if end is not None), default=None)
        told = Message(id=f"{name}-results", role="user", content=tuple(results), provenance="tool", time=time)
        tape.tell((told,), line=line)


def _result(state: JsonObject, asked: str) -> Iterator[ToolResult]:
    status = text(state, "status")
    if status == "completed":
        yield ToolResult(tool_use_id=asked, content=text(state, "output") or flat(state.get("output")))
    elif status == "error":
        yield ToolResult(tool_use_id=asked, content=text(state, "error") or "", is_error=True)


def _usage(raw: JsonObject) -> Usage | None:
    """What was counted: the parts exclude one another, and reasoning is beside the output."""
    cache = part(raw, "cache")
    return counted(
        Usage(
            input_tokens=count(raw, "input"),
            cache_read_tokens=count(cache, "read"),
            cache_write_tokens=count(cache, "write"),
            output_tokens=count(raw, "output") + count(raw, "reasoning"),
            raw=raw,
        )
    )


def _block(one: JsonObject) -> Block | None:
    match one:
        case {"type": "text", "text": str(said)}:
            return Text(text=said)
        case {"type": "reasoning", "text": str(thought)}:
            metadata = part(one, "metadata")
            signatures = [text(kept, "signature") for kept in metadata.values() if isinstance(kept, dict)]
            return Thinking(thinking=thought, signature=next((one for one in signatures if one), None))
        case {"type": "file", "mime": str(kind), "url": str(address)} if not address.startswith("file:"):
            source = source_of(address)
            return Image(source=source) if kind.startswith("image/") else Document(source=source)
        case _:
            return None
