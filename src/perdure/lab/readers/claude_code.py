"""Sessions of Claude Code: a JSONL whose lines form a tree by `parentUuid` (versions 1 and 2, to 2.1.332).

It knows the lines. It must never know a file. One response is spread over several lines with one `message.id` and
repeated usage; results of parallel calls hang on different lines of it. System prompt, tools and the rendered form of
attachments are not in the file. A subagent's lines are a recording of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from perdure.kernel.messages import Block, Json, JsonObject, Message, Provenance, ToolResult, ToolUse
from perdure.kernel.value import record, value
from perdure.lab.readers.counts import usage_of
from perdure.lab.readers.decode import decoded
from perdure.lab.readers.fields import part, seconds, text
from perdure.lab.readers.format import Format, Input, Sample, Troubles
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.tree import path_to, root_of
from perdure.lab.readers.voices import told_apart
from perdure.lab.recording import Recording

NAME = "claude-code"

SYNTHETIC = "<synthetic>"
"""The model of lines that the harness made up, such as a failed request."""

_PEERS = frozenset({"agent", "channel", "cross-session", "peer", "teammate"})


@value
class _Entry:
    """A line, without what a request never carries."""

    line: int | None
    name: str
    kind: str
    """`user`, `assistant`, `compacted` or `edited`."""
    message: JsonObject = field(default_factory=JsonObject)
    time: float | None = None
    by_harness: bool = False
    summary: bool = False
    origin: str | None = None
    kept: str | None = None
    """The first message that a compaction kept, where it says so."""

    @property
    def response(self) -> str:
        """What all lines of one response have in common."""
        return text(self.message, "id") or self.name


@record()
class _Session:
    """What is known of the lines so far."""

    entries: dict[str, list[_Entry]] = field(default_factory=dict[str, list[_Entry]])
    """By thread; the main one is empty text."""
    parents: dict[str, str | None] = field(default_factory=dict[str, str | None])
    roots: dict[str, str] = field(default_factory=dict[str, str])
    newest: str | None = None
    """The last line of the main thread that said something."""
    repeated: int = 0


def _recognises(sample: Sample) -> bool:
    return any(_is_line(line) for line in sample.lines)


def _is_line(line: JsonObject) -> bool:
    kind = text(line, "type")
    if kind in ("user", "assistant", "system", "progress", "attachment"):
        return "uuid" in line and ("parentUuid" in line or "sessionId" in line)
    if kind in ("file-history-snapshot", "summary"):
        return "messageId" in line or "leafUuid" in line
    return kind == "queue-operation" and "sessionId" in line


def _read(given: Input) -> Iterator[Recording]:
    session = _Session()
    for number, line in given.objects():
        _take(line, number, session)
    if session.repeated:
        given.troubles.add(None, f"{session.repeated} lines repeat the id of an earlier one and are left out")
    for thread, entries in session.entries.items() or [("", [])]:
        tape = Tape(file=given.file, format=NAME, troubles=given.troubles, thread=thread)
        _play(_selected(entries, session, given.troubles), tape)
        yield tape.recording()


FORMAT = Format(name=NAME, about="a Claude Code session (JSONL)", layout="lines", recognises=_recognises, read=_read)


def _take(line: JsonObject, number: int | None, session: _Session) -> None:
    """Keep a line: where it hangs, and what it says."""
    data = part(line, "data")
    if data.get("type") == "agent_progress" and isinstance(data.get("message"), dict):
        _take_progress(data, line, number, session)
    name = text(line, "uuid")
    if name is None:
        return
    if name in session.parents:
        session.repeated += 1
        return
    entry = _entry(line, number, name)
    parent = text(line, "parentUuid")
    if entry is not None and entry.kind == "compacted" and parent is None:
        parent = text(line, "logicalParentUuid")
        parent = parent if parent in session.parents else session.newest
    session.parents[name] = parent
    if entry is None:
        return
    thread = _thread(line, name, session) if line.get("isSidechain") is True else ""
    if not thread:
        session.newest = name
        # The main thread comes first, wherever it begins.
        session.entries = {"": session.entries.get("", [])} | session.entries
    session.entries.setdefault(thread, []).append(entry)


def _thread(line: JsonObject, name: str, session: _Session) -> str:
    agent = text(line, "agentId") or root_of(name, session.parents, session.roots)[:8]
    return f"agent-{agent}"


def _take_progress(data: JsonObject, line: JsonObject, number: int | None, session: _Session) -> None:
    """A subagent's line inside a progress line of the main thread."""
    thread = f"agent-{text(data, 'agentId') or text(line, 'parentToolUseID') or 'unknown'}"
    inner = part(data, "message")
    before = session.entries.setdefault(thread, [])
    name = text(inner, "uuid") or f"{thread}-{len(before)}"
    entry = _entry(inner, number, name)
    if entry is None or name in session.parents:
        return
    session.parents[name] = before[-1].name if before else None
    before.append(entry)


def _entry(line: JsonObject, number: int | None, name: str) -> _Entry | None:
    kind, time = text(line, "type"), seconds(line.get("timestamp"))
    if kind == "system":
        subtype = text(line, "subtype")
        if subtype == "compact_boundary":
            segment = part(part(line, "compactMetadata"), "preservedSegment")
            return _Entry(line=number, name=name, kind="compacted", time=time, kept=text(segment, "headUuid"))
        edited = subtype == "microcompact_boundary"
        return _Entry(line=number, name=name, kind="edited", time=time) if edited else None
    message = part(line, "message")
    if kind == "attachment":
        attached = part(line, "attachment")
        if attached.get("type") != "queued_command":
            return None
        kind, message = "user", {"role": "user", "content": attached.get("prompt")}
    if kind not in ("user", "assistant") or not message:
        return None
    if kind == "assistant" and (message.get("model") == SYNTHETIC or line.get("isApiErrorMessage") is True):
        return None
    summary = line.get("isCompactSummary") is True
    if line.get("isVisibleInTranscriptOnly") is True and not summary:
        return None
    return _Entry(
        line=number,
        name=name,
        kind=kind,
        message=message,
        time=time,
        by_harness=line.get("isMeta") is True,
        summary=summary,
        origin=text(part(line, "origin"), "kind"),
    )


def _selected(entries: Sequence[_Entry], session: _Session, troubles: Troubles) -> list[_Entry]:
    """The lines on the path to the last one, with what belongs to them: other lines of a response, results of calls."""
    if not entries:
        return []
    path = set(path_to(entries[-1].name, session.parents))
    responses = {entry.response for entry in entries if entry.kind == "assistant" and entry.name in path}
    selected: list[_Entry] = []
    elsewhere: set[str] = set()
    calls: set[str] = set()
    answered: set[str] = set()
    for entry in entries:
        if entry.kind == "assistant":
            if entry.response not in responses:
                elsewhere.add(entry.response)
                continue
            calls.update(_named(entry.message, "tool_use", "id"))
        elif entry.kind == "user":
            results = set(_named(entry.message, "tool_result", "tool_use_id"))
            if entry.name not in path and not (results and results <= calls and not results & answered):
                continue
            answered |= results
        elif entry.name not in path:
            continue
        selected.append(entry)
    if elsewhere:
        troubles.add(None, f"{len(elsewhere)} requests on other branches of the session are left out")
    return selected


def _named(message: JsonObject, kind: str, key: str) -> Iterator[str]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind and (name := text(block, key)):
            yield name


def _play(entries: Sequence[_Entry], tape: Tape) -> None:
    """Tell the lines in their order, each response where its first line stands."""
    lines: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.kind == "assistant":
            lines.setdefault(entry.response, []).append(entry)
    places: dict[str, int] = {}
    for entry in entries:
        places[entry.name] = len(tape)
        if entry.kind == "compacted":
            tape.compacted(places.get(entry.kept) if entry.kept is not None else None)
        elif entry.kind == "edited":
            tape.edits += 1
        elif entry.kind == "user":
            tape.tell(_said(entry, tape), line=entry.line)
        elif entry.response in lines:
            _answer(lines.pop(entry.response), tape)


def _said(entry: _Entry, tape: Tape) -> Iterator[Message]:
    if entry.summary and tape.begun:
        return
    content: Json = entry.message.get("content")
    for message in decoded("anthropic", ({"role": "user", "content": content},), entry.line, tape.troubles):
        for piece in told_apart(replace(message, id=entry.name, time=entry.time)):
            yield replace(piece, provenance=_provenance(piece, entry, tape))


def _provenance(message: Message, entry: _Entry, tape: Tape) -> Provenance:
    if message.provenance != "user":
        return message.provenance
    if entry.by_harness or entry.summary:
        return "harness"
    if entry.origin is not None and entry.origin != "human":
        return "peer" if entry.origin in _PEERS else "harness"
    return "peer" if tape.thread else "user"


def _answer(lines: Sequence[_Entry], tape: Tape) -> None:
    """The lines of one response as one message. The counts stand in each line; the last has them all."""
    blocks: list[Block] = []
    seen: set[str] = set()
    for entry in lines:
        item: JsonObject = {"role": "assistant", "content": entry.message.get("content")}
        for message in decoded("anthropic", (item,), entry.line, tape.troubles):
            for block in message.content:
                if isinstance(block, ToolResult):
                    continue
                if isinstance(block, ToolUse):
                    if block.id in seen:
                        continue
                    seen.add(block.id)
                blocks.append(block)
    last = lines[-1].message
    usage = usage_of(part(last, "usage"))
    if not blocks and usage is None:
        return
    answer = Message(
        id=lines[0].response,
        role="assistant",
        content=tuple(blocks),
        provenance="assistant",
        time=lines[-1].time,
        model=text(last, "model"),
        stop_reason=text(last, "stop_reason"),
        usage=usage,
    )
    tape.answer(answer, usage=usage)
