"""Trajectories of OpenHands: a list of events, alone or as the `history` of an evaluation's output (to version 0.62).

It knows events. It must never know a file. An action that came from a model carries the whole response, and so does the
observation that answers it. What the harness looked up by itself (`recall`) went into the prompt as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import Json, JsonObject, Message, Provenance, Text, ToolResult, Usage
from perdure.kernel.value import record
from perdure.kernel.wire import CHAT
from perdure.lab.readers.counts import counted, inclusive, usage_of
from perdure.lab.readers.decode import decoded
from perdure.lab.readers.fields import count, items, part, parts, seconds, text
from perdure.lab.readers.format import Format, Input, Line, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.recording import Recording

NAME = "openhands"


@record()
class _Run:
    tape: Tape
    line: int | None
    usages: dict[str, Usage]
    """By response."""
    model: str | None
    responses: set[str] = field(default_factory=set[str])
    """Those that were told."""
    events: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The id of each event, with the place of its message."""


def _recognises(sample: Sample) -> bool:
    whole = sample.document
    if isinstance(whole, list):
        return _are_events(whole)
    candidates = [*sample.lines, *((whole,) if isinstance(whole, dict) else ())]
    return any(_are_events(items(one, "history")) or _are_events(items(one, "trajectory")) for one in candidates)


def _are_events(given: Sequence[Json]) -> bool:
    return any(
        isinstance(one, dict)
        and isinstance(one.get("source"), str)
        and (isinstance(one.get("action"), str) or isinstance(one.get("observation"), str))
        for one in given[:20]
    )


def _read(given: Input) -> Iterator[Recording]:
    for place, line in enumerate(given.lines):
        yield _recording(line, place, given)


FORMAT = Format(
    name=NAME,
    about="an OpenHands trajectory (JSON, or JSONL of evaluation outputs)",
    layout="either",
    recognises=_recognises,
    read=_read,
)


def _recording(line: Line, place: int, given: Input) -> Recording:
    whole = line.value if isinstance(line.value, dict) else JsonObject()
    events = line.value if isinstance(line.value, list) else items(whole, "history") or items(whole, "trajectory")
    # An evaluation's output is a line for each task; a file of one is that task.
    thread = "" if place == 0 else text(whole, "instance_id") or str(place + 1)
    tape = Tape(file=f"{given.file}#{thread}" if thread else given.file, format=NAME, troubles=given.troubles)
    tape.dialect = "chat"
    usages: dict[str, Usage] = {}
    for one in parts(part(whole, "metrics"), "token_usages"):
        usage = counted(inclusive(one))
        if usage is not None:
            usages[text(one, "response_id") or ""] = usage
    model = text(part(part(whole, "metadata"), "llm_config"), "model")
    run = _Run(tape=tape, line=line.number, usages=usages, model=model)
    for number, event in enumerate(events):
        if isinstance(event, dict):
            _event(event, number, run)
        else:
            given.troubles.add(line.number, f"event {number} is not an object")
    return tape.recording()


def _event(event: JsonObject, place: int, run: _Run) -> None:
    action, observation = text(event, "action"), text(event, "observation")
    args, time = part(event, "args"), seconds(event.get("timestamp"))
    before = len(run.tape)
    if action == "system":
        _overhead(args, run)
    elif action in ("condensation", "condense"):
        _condensed(args, run)
    elif part(part(event, "tool_call_metadata"), "model_response"):
        metadata = part(event, "tool_call_metadata")
        if action is not None:
            _answer(part(metadata, "model_response"), time, run)
        else:
            _result(event, metadata, place, time, run)
    elif action == "message":
        _said(event, text(args, "content") or text(event, "message") or "", place, time, run)
    elif observation == "recall":
        _tell(_recalled(part(event, "extras")), place, time, run, "harness")
    elif observation == "error":
        _tell(text(event, "content") or "", place, time, run, "harness")
    if len(run.tape) > before:
        run.events.append((count(event, "id"), before))


def _overhead(args: JsonObject, run: _Run) -> None:
    content = text(args, "content")
    if content:
        run.tape.system = (Text(text=content),)
    tools: Json = [*parts(args, "tools")]
    try:
        run.tape.tools = CHAT.decode_request({"messages": [], "tools": tools}).tools
    except (InvalidJson, InvalidMessage) as error:
        run.tape.troubles.add(run.line, f"the tools cannot be decoded: {error}")


def _condensed(args: JsonObject, run: _Run) -> None:
    """The harness forgot a range of events: it sends nothing before the first that came behind it."""
    listed = [one for one in items(args, "forgotten_event_ids") if isinstance(one, int)]
    last = max([count(args, "forgotten_events_end_id"), *listed])
    kept = next((place for event, place in run.events if event > last), len(run.tape))
    run.tape.compacted(kept)


def _answer(response: JsonObject, time: float | None, run: _Run) -> None:
    """The response of an action, once: parallel calls are actions with one response."""
    name = text(response, "id") or f"response-{len(run.tape)}"
    if name in run.responses:
        return
    run.responses.add(name)
    choices = parts(response, "choices")
    item = {**part(choices[0], "message"), "role": "assistant"} if choices else JsonObject()
    usage = run.usages.get(name) or usage_of(part(response, "usage"))
    for message in decoded("chat", (item,), run.line, run.tape.troubles) if item else ():
        model = text(response, "model") or run.model
        answer = replace(message, id=name, time=time, model=model, usage=usage)
        run.tape.answer(answer, time=seconds(response.get("created")) or time, usage=usage)


def _result(event: JsonObject, metadata: JsonObject, place: int, time: float | None, run: _Run) -> None:
    result = ToolResult(
        tool_use_id=text(metadata, "tool_call_id") or "",
        content=text(event, "content") or text(event, "message") or "",
        is_error=True if text(event, "observation") == "error" or event.get("success") is False else None,
    )
    run.tape.tell(
        (Message(id=f"e{place}", role="user", content=(result,), provenance="tool", time=time),), line=run.line
    )


def _said(event: JsonObject, said: str, place: int, time: float | None, run: _Run) -> None:
    if text(event, "source") != "agent":
        _tell(said, place, time, run, "user" if text(event, "source") == "user" else "harness")
        return
    answer = Message(
        id=f"e{place}",
        role="assistant",
        content=(Text(text=said),),
        provenance="assistant",
        time=time,
        model=run.model,
    )
    run.tape.answer(answer)


def _recalled(extras: JsonObject) -> str:
    """What was looked up, as text: the prompt's own wording is not in the file."""
    told = [text(extras, key) for key in ("repo_instructions", "additional_agent_instructions")]
    told.extend(text(one, "content") for one in parts(extras, "microagent_knowledge"))
    return "\n\n".join(one for one in told if one)


def _tell(said: str, place: int, time: float | None, run: _Run, provenance: Provenance) -> None:
    message = Message(id=f"e{place}", role="user", content=(Text(text=said),), provenance=provenance, time=time)
    run.tape.tell((message,), line=run.line)
