"""Sessions of pi: a JSONL of entries; a tree by `parentId` since version 2, a plain list before (to 0.73).

It knows entries and pi's own messages. It must never know a file. A compaction names the first entry that it keeps, by
its id or, in version 1, by its place in the file. The time in an assistant's message is that of the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import (
    Block,
    Image,
    Json,
    JsonObject,
    Message,
    Provenance,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    Usage,
)
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect
from perdure.lab.readers.counts import counted
from perdure.lab.readers.decode import call
from perdure.lab.readers.fields import count, flat, part, seconds, text
from perdure.lab.readers.format import Format, Input, Sample, Troubles
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.tree import path_to
from perdure.lab.readers.voices import told_apart
from perdure.lab.recording import Recording

NAME = "pi"

_DIALECTS: dict[str, Dialect] = {
    "openai-completions": "chat",
    "mistral-conversations": "chat",
    "google-generative-ai": "chat",
    "google-vertex": "chat",
    "google-gemini-cli": "chat",
    "openai-responses": "responses",
    "azure-openai-responses": "responses",
    "openai-codex-responses": "responses",
}
"""pi's names of the wires; those that are not here are Anthropic's."""

_KINDS = frozenset({"message", "compaction", "branch_summary", "custom_message", "session"})


@value
class _Entry:
    line: int | None
    name: str
    value: JsonObject


def _recognises(sample: Sample) -> bool:
    return any(
        (line.get("type") == "session" and "cwd" in line and "timestamp" in line)
        or (line.get("type") == "message" and "role" in part(line, "message") and "timestamp" in line)
        for line in sample.lines
    )


def _read(given: Input) -> Iterator[Recording]:
    tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
    entries: list[_Entry] = []
    parents: dict[str, str | None] = {}
    by_place: dict[int, str] = {}
    for place, (number, found) in enumerate(given.objects()):
        name = text(found, "id") or f"m{place}"
        by_place[place] = name
        if text(found, "type") == "session":
            continue
        if name in parents:
            given.troubles.add(number, f"the id {name!r} came before; the entry is left out")
            continue
        parents[name] = text(found, "parentId") if "id" in found else (entries[-1].name if entries else None)
        kept = found if text(found, "type") in _KINDS else JsonObject()
        entries.append(_Entry(line=number, name=name, value=kept))
    _play(_selected(entries, parents, given.troubles), by_place, tape)
    yield tape.recording()


FORMAT = Format(name=NAME, about="a pi session (JSONL)", layout="lines", recognises=_recognises, read=_read)


def _selected(entries: Sequence[_Entry], parents: dict[str, str | None], troubles: Troubles) -> list[_Entry]:
    if not entries:
        return []
    path = set(path_to(entries[-1].name, parents))
    elsewhere = sum(
        part(entry.value, "message").get("role") == "assistant" for entry in entries if entry.name not in path
    )
    if elsewhere:
        troubles.add(None, f"{elsewhere} requests on other branches of the session are left out")
    return [entry for entry in entries if entry.name in path]


def _play(entries: Sequence[_Entry], by_place: dict[int, str], tape: Tape) -> None:
    places: dict[str, int] = {}
    for entry in entries:
        places[entry.name] = len(tape)
        value = entry.value
        kind, time = text(value, "type"), seconds(value.get("timestamp"))
        if kind == "message":
            _message(part(value, "message"), entry, time, tape)
        elif kind == "compaction":
            kept = text(value, "firstKeptEntryId") or by_place.get(count(value, "firstKeptEntryIndex"), "")
            if tape.begun:
                tape.compacted(places.get(kept))
            else:
                _note(entry.name, text(value, "summary"), time, tape)
        elif kind == "branch_summary":
            _note(entry.name, text(value, "summary"), time, tape)
        elif kind == "custom_message":
            _note(entry.name, flat(value.get("content")), time, tape)


def _note(name: str, said: str | None, time: float | None, tape: Tape, provenance: Provenance = "harness") -> None:
    """What the harness told in the user's place."""
    if said:
        note = Message(id=name, role="user", content=(Text(text=said),), provenance=provenance, time=time)
        tape.tell((note,))


def _message(given: JsonObject, entry: _Entry, time: float | None, tape: Tape) -> None:
    role = text(given, "role")
    if role == "assistant":
        _answer(given, entry, time, tape)
    elif role == "user":
        said = Message(
            id=entry.name,
            role="user",
            content=tuple(_blocks(given.get("content"), entry, tape)),
            provenance="user",
            plain=isinstance(given.get("content"), str),
            time=time,
        )
        tape.tell(told_apart(said), line=entry.line)
    elif role == "toolResult":
        failed = given.get("isError")
        result = ToolResult(
            tool_use_id=text(given, "toolCallId") or "",
            content=tuple(_blocks(given.get("content"), entry, tape)),
            is_error=failed if isinstance(failed, bool) and failed else None,
        )
        told = Message(id=entry.name, role="user", content=(result,), provenance="tool", time=time)
        tape.tell((told,), line=entry.line)
    elif role == "bashExecution":
        if given.get("excludeFromContext") is not True:
            ran = f"Ran `{text(given, 'command') or ''}`\n```\n{text(given, 'output') or ''}\n```"
            _note(entry.name, ran, time, tape)
    elif role in ("branchSummary", "compactionSummary"):
        if not tape.begun:
            _note(entry.name, text(given, "summary"), time, tape)
    elif role in ("custom", "hookMessage"):
        _note(entry.name, flat(given.get("content")), time, tape)
    else:
        tape.troubles.add(entry.line, f"a message of the unknown role {role!r}")


def _answer(given: JsonObject, entry: _Entry, time: float | None, tape: Tape) -> None:
    tape.dialect = _DIALECTS.get(text(given, "api") or "", "anthropic")
    usage = _usage(part(given, "usage"))
    blocks = tuple(_blocks(given.get("content"), entry, tape))
    if not blocks and usage is None:
        return
    answer = Message(
        id=entry.name,
        role="assistant",
        content=blocks,
        provenance="assistant",
        time=time,
        model=text(given, "responseModel") or text(given, "model"),
        stop_reason=text(given, "stopReason"),
        usage=usage,
    )
    tape.answer(answer, time=seconds(given.get("timestamp")), usage=usage)


def _usage(raw: JsonObject) -> Usage | None:
    """What was counted: pi's parts exclude one another, whatever the provider."""
    return counted(
        Usage(
            input_tokens=count(raw, "input"),
            cache_read_tokens=count(raw, "cacheRead"),
            cache_write_tokens=count(raw, "cacheWrite"),
            cache_write_1h_tokens=count(raw, "cacheWrite1h"),
            output_tokens=count(raw, "output"),
            raw=raw,
        )
    )


def _blocks(content: Json, entry: _Entry, tape: Tape) -> Iterator[Block]:
    if isinstance(content, str):
        yield Text(text=content)
        return
    for item in content if isinstance(content, list) else ():
        block = _block(item, entry, tape) if isinstance(item, dict) else None
        if block is None:
            tape.troubles.add(entry.line, "a block of an unknown shape is left out")
        else:
            yield block


def _block(item: JsonObject, entry: _Entry, tape: Tape) -> Block | None:
    match item:
        case {"type": "text", "text": str(said)}:
            return Text(text=said)
        case {"type": "thinking", "redacted": True, "thinkingSignature": str(data)}:
            return RedactedThinking(data=data)
        case {"type": "thinking", "thinking": str(thinking)}:
            return Thinking(thinking=thinking, signature=text(item, "thinkingSignature"))
        case {"type": "toolCall", "id": str(name), "name": str(tool)}:
            return call(tool, name, item.get("arguments"), entry.line, tape.troubles)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return Image(source={"type": "base64", "media_type": kind, "data": data})
        case _:
            return None
