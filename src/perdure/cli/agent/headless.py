"""`perdure -p`: one task without a screen, as text, one JSON object, or an object for each event.

It knows what is printed where: the answer and events to standard output, everything else to standard error. It must
never ask anything: nobody is there.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.cli.agent.hints import hint_of
from perdure.cli.agent.opening import Opens, opened
from perdure.cli.agent.place import Place
from perdure.cli.agent.wire import end_to_json, event_to_json
from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import AgentEnd, CompactionEnd, ToolStart, Trouble
from perdure.kernel.messages import Json, encode_json
from perdure.kernel.value import value
from perdure.session import Session, SessionEvent
from perdure.tools.encoding import shown

Output: TypeAlias = Literal["text", "json", "jsonl"]

DONE: Mapping[str, str] = {"micro": "cleared", "trim": "trimmed", "memory": "folded", "full": "folded"}
"""What was done to the context, in a person's words."""

WIDTH = 100
"""Characters of a line on standard error."""


@value
class Task:
    """What is to be done without a screen."""

    text: str | None
    """None: go on where the session was cut off."""
    output: Output = "text"
    resume: Path | None = None
    model: str | None = None
    quiet: bool = False
    """Whether text output leaves standard error empty."""


async def work(place: Place, task: Task) -> int:
    """Do a task, and give the exit code: 0 where the agent is done, 130 where it was interrupted, 1 otherwise."""
    async with opened(place, Opens(resume=task.resume, model=task.model)) as desk:
        cautions = desk.cautions
        _warn(cautions)
        stop = _interrupted_by_signals(desk.session)
        try:
            end = await desk.session.run(task.text, _listener(task))
        finally:
            stop()
        # Hooks fail while the agent works.
        _warn(caution for caution in desk.cautions if caution not in cautions)
        _tell(end, desk.session, task)
    return {"done": 0, "interrupted": 130}.get(end.state, 1)


def _warn(cautions: Iterable[str]) -> None:
    for caution in dict.fromkeys(cautions):
        print(f"perdure: {caution}", file=sys.stderr)


def _listener(task: Task) -> Callable[[SessionEvent], None]:
    if task.output == "jsonl":
        return _print_event
    return _hear_nothing if task.output == "json" or task.quiet else _narrate


def _print_event(event: SessionEvent) -> None:
    value = event_to_json(event)
    if value is not None and event.name != "agent_end":
        _print(value)


def _hear_nothing(_event: SessionEvent) -> None:
    """Only the end is told."""


def _narrate(event: SessionEvent) -> None:
    """What a person wants to see go by."""
    match event:
        case ToolStart(call=call):
            given = next((value for value in call.input.values() if isinstance(value, str)), "")
            _aside(f"{call.name} {given}")
        case CompactionEnd(changed=True):
            done, why = DONE.get(event.kind or "", "changed"), event.reason.replace("_", " ")
            _aside(f"context {done}: {event.tokens_before:,} to {event.tokens_after:,} tokens, because of: {why}")
        case Trouble(failure=failure, retry_in=retry_in):
            again = f", again in {retry_in:.0f} s" if retry_in is not None else ""
            _aside(f"{failure.kind}: {failure.message}{again}")
        case _:
            pass


def _tell(end: AgentEnd, session: Session, task: Task) -> None:
    if task.output != "text":
        value = end_to_json(end, session.id)
        _print({"event": "agent_end", **value} if task.output == "jsonl" else value)
        return
    # What a model says may steer a terminal, or be no text at all.
    print(shown(end.answer))
    if end.state != "done":
        why = one_line(shown(str(end.error or (end.failure.message if end.failure is not None else ""))))
        print(f"perdure: ended as {end.state}{f': {why}' if why else ''}", file=sys.stderr)
        if hint := hint_of(end):
            print(f"perdure: {hint}", file=sys.stderr)
        # A log with damaged lines is never written again; a fork takes over what can be read.
        again = "resume" if session.log.writable else "fork"
        print(f"perdure: go on with: perdure {again} {session.id}", file=sys.stderr)


def _print(value: Json) -> None:
    sys.stdout.buffer.write(encode_json(value) + b"\n")
    sys.stdout.buffer.flush()


def _aside(text: str) -> None:
    print(f"  {clip(one_line(shown(text)), WIDTH)}", file=sys.stderr)


def _interrupted_by_signals(session: Session) -> Callable[[], None]:
    """The first signal ends the run in order; a second one ends the program at once."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        session.interrupt()

    # Not every system lets its loop hear signals; there the default ends the process.
    with suppress(NotImplementedError):
        for number in signals:
            loop.add_signal_handler(number, stop)

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    return restore
