"""Rollouts of Codex: a JSONL of items of the Responses API, in envelopes, with events between them (to 0.171).

It knows envelopes and events. It must never know a file. A `token_count` event follows each response, behind the
outputs of its calls; one that adds nothing to the total repeats the last. Reasoning and remote compactions are
encrypted. `replacement_history` is what the harness sent after a compaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from perdure.kernel.messages import Block, JsonObject, Message, Text
from perdure.kernel.value import record
from perdure.lab.readers.counts import counted, inclusive
from perdure.lab.readers.decode import decoded
from perdure.lab.readers.fields import count, part, parts, seconds, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.voices import told_apart
from perdure.lab.recording import Recording

NAME = "codex"

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})

_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
"""Items that stand without an envelope in the oldest rollouts."""

_LEFT_OUT = frozenset({"compaction", "compaction_trigger", "context_compaction", "ghost_snapshot", "other"})
"""Items that say nothing of the session: the harness's summaries and its own notes."""


@record()
class _State:
    """Where in a response the rollout is."""

    tape: Tape
    model: str | None = None
    blocks: list[Block] = field(default_factory=list[Block])
    began: float | None = None
    """When the first item of the open response came."""
    asked: float | None = None
    """When the newest message came that the open response answers."""
    total: int = 0
    """Tokens of all requests that were counted."""
    uncounted: bool = False
    """Whether the last response still waits for its count."""
    number: int = 0


def _recognises(sample: Sample) -> bool:
    for line in sample.lines:
        if text(line, "type") in _ENVELOPES and isinstance(line.get("payload"), dict):
            return True
        if "record_type" in line or ("instructions" in line and "id" in line and "timestamp" in line):
            return "messages" not in line and "input" not in line
    return False


def _read(given: Input) -> Iterator[Recording]:
    state = _State(tape=Tape(file=given.file, format=NAME, troubles=given.troubles))
    state.tape.dialect = "responses"
    for number, line in given.objects():
        kind, payload = text(line, "type"), part(line, "payload")
        time = seconds(line.get("timestamp"))
        if kind == "response_item":
            _item(payload, time, number, state)
        elif kind == "event_msg":
            _event(payload, state)
        elif kind == "compacted":
            _compacted(payload, time, number, state)
        elif kind == "turn_context":
            state.model = text(payload, "model") or state.model
        elif kind == "session_meta":
            _meta(payload, state)
        elif kind in _ITEMS:
            _item(line, time, number, state)
        elif "instructions" in line:
            _meta(line, state)
    _close(state)
    yield state.tape.recording()


FORMAT = Format(name=NAME, about="a Codex rollout (JSONL)", layout="lines", recognises=_recognises, read=_read)


def _meta(payload: JsonObject, state: _State) -> None:
    """The base instructions, once: a resumed or forked rollout repeats its head."""
    instructions = text(part(payload, "base_instructions"), "text") or text(payload, "instructions")
    if instructions and not state.tape.system:
        state.tape.system = (Text(text=instructions),)


def _item(item: JsonObject, time: float | None, line: int | None, state: _State) -> None:
    """An item of a response, or what came between responses."""
    if text(item, "type") in _LEFT_OUT:
        return
    for message in decoded("responses", (item,), line, state.tape.troubles):
        if message.role == "assistant":
            if not state.blocks:
                state.began = time
                state.asked = state.tape.last.time if state.tape.last is not None else None
                state.uncounted = True
            state.blocks.extend(message.content)
        else:
            _close(state)
            state.number += 1
            named = replace(message, id=text(item, "id") or f"m{state.number}", time=time)
            state.tape.tell(told_apart(named), line=line)


def _close(state: _State) -> None:
    """The open response is at its end."""
    if not state.blocks:
        return
    state.number += 1
    answer = Message(
        id=f"m{state.number}",
        role="assistant",
        content=tuple(state.blocks),
        provenance="assistant",
        time=state.began,
        model=state.model,
    )
    state.tape.answer(answer, time=state.asked if state.asked is not None else state.began)
    state.blocks = []


def _event(payload: JsonObject, state: _State) -> None:
    kind = text(payload, "type")
    if kind == "token_count":
        _count(part(payload, "info"), state)
    elif kind in ("turn_aborted", "task_complete", "turn_complete"):
        _close(state)


def _count(info: JsonObject, state: _State) -> None:
    _close(state)
    last = part(info, "last_token_usage")
    usage = counted(inclusive(last)) if last else None
    if usage is None:
        return
    total = count(part(info, "total_token_usage"), "total_tokens")
    if total and total == state.total:
        return
    state.total = total
    if state.uncounted:
        state.tape.count_last(usage)
    else:
        # Billed, though nothing of the answer was kept.
        state.tape.ask(usage=usage, model=state.model)
    state.uncounted = False


def _compacted(payload: JsonObject, time: float | None, line: int | None, state: _State) -> None:
    """What was said so far is no longer sent. Where it is not in the file, what stands for it is all there is."""
    _close(state)
    state.uncounted = False
    if state.tape.begun:
        state.tape.compacted()
        return
    history = [item for item in parts(payload, "replacement_history") if text(item, "type") not in _LEFT_OUT]
    summary = text(payload, "message")
    for message in decoded("responses", history, line, state.tape.troubles):
        state.number += 1
        state.tape.tell(told_apart(replace(message, id=f"m{state.number}", time=time)), line=line)
    if summary:
        state.number += 1
        told = Message(
            id=f"m{state.number}", role="user", content=(Text(text=summary),), provenance="harness", time=time
        )
        state.tape.tell((told,), line=line)
