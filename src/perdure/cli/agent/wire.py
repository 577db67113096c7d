"""Events as JSON, one object each: what `perdure -p --output jsonl` prints.

It knows the fields of every event. It must never know who reads them. Fields are added, never renamed.
"""

from __future__ import annotations

from perdure.kernel.agent import (
    AgentEnd,
    AgentStart,
    CacheBreak,
    CompactionEnd,
    CompactionStart,
    Event,
    Failure,
    MessageDelta,
    MessageEnd,
    Reminder,
    ToolEnd,
    ToolStart,
    Trouble,
    TurnStart,
    UsageSeen,
)
from perdure.kernel.messages import JsonObject, ToolResult, text_of
from perdure.kernel.messages.persist import message_to_json
from perdure.kernel.wire import BlockGrew
from perdure.session import SessionEvent, SubagentHeard


def event_to_json(event: SessionEvent) -> JsonObject | None:
    """The object of an event; None for pieces that say nothing by themselves."""
    if isinstance(event, SubagentHeard):
        inner = event_to_json(event.event)
        return None if inner is None else {"event": event.name, "number": event.number, "inner": inner}
    fields = _fields(event)
    return None if fields is None else {"event": event.name, **fields}


def end_to_json(end: AgentEnd, session: str) -> JsonObject:
    """What a run came to."""
    return {
        "session": session,
        "state": end.state,
        "answer": end.answer,
        "turns": end.turns,
        "tokens": end.tokens,
        "usd": end.usd,
        "failure": _failure(end.failure),
        "error": str(end.error) if end.error is not None else None,
    }


def _fields(event: Event) -> JsonObject | None:
    match event:
        case AgentStart(model=model):
            return {"model": model}
        case TurnStart(number=number, tokens=tokens):
            return {"number": number, "tokens": tokens}
        case MessageDelta(delta=BlockGrew(kind=kind, piece=piece)):
            return {"kind": kind, "text": piece}
        case MessageDelta():
            return None
        case MessageEnd(message=message):
            return {"message": message_to_json(message)}
        case ToolStart(call=call):
            return {"id": call.id, "tool": call.name, "arguments": call.input}
        case ToolEnd(call=call, result=result):
            return {"id": call.id, "tool": call.name, "is_error": result.is_error, "result": _result(result)}
        case Reminder(text=text):
            return {"text": text}
        case Trouble(failure=failure, retry_in=retry_in, void=void):
            return {"failure": _failure(failure), "retry_in": retry_in, "void": void}
        case AgentEnd():
            return end_to_json(event, "")
        case _:
            return _of_context(event)


def _of_context(event: CompactionStart | CompactionEnd | UsageSeen | CacheBreak) -> JsonObject:
    match event:
        case CompactionStart(reason=reason):
            return {"reason": reason}
        case CompactionEnd():
            return {
                "reason": event.reason,
                "kind": event.kind,
                "tokens_before": event.tokens_before,
                "tokens_after": event.tokens_after,
                "compacted": event.compacted,
                "kept": event.kept,
                "split_turn": event.split_turn,
            }
        case UsageSeen(usage=usage):
            return {
                "purpose": event.purpose,
                "input": usage.input_tokens,
                "cache_read": usage.cache_read_tokens,
                "cache_write": usage.cache_write_tokens,
                "output": usage.output_tokens,
                "predicted_read": event.predicted_read,
                "usd": event.usd,
            }
        case CacheBreak(reading=reading):
            return {
                "cause": reading.cause,
                "predicted": reading.predicted,
                "seen": reading.seen,
                "lost": reading.lost,
                "where": event.where,
                "byte": event.byte,
            }


def _result(result: ToolResult) -> str:
    return result.content if isinstance(result.content, str) else text_of(result.content or ())


def _failure(failure: Failure | None) -> JsonObject | None:
    if failure is None:
        return None
    return {"kind": failure.kind, "message": failure.message, "status": failure.status, "code": failure.code}
