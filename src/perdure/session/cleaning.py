"""Events as people may see them: what a port raised can hold a key, so it passes the guard first.

It knows which events carry words that nobody checked. It must never touch what a model said.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.guard import Guard
from perdure.kernel.agent import AgentEnd, Event, Failure, Trouble


def cleaned(event: Event, guard: Guard) -> Event:
    """The event, with secrets taken out of the words of a failure."""
    match event:
        case Trouble(failure=failure):
            return replace(event, failure=clean_failure(failure, guard))
        case AgentEnd(failure=Failure() as failure):
            return replace(event, failure=clean_failure(failure, guard))
        case _:
            return event


def clean_end(end: AgentEnd, guard: Guard) -> AgentEnd:
    """The end of a run, likewise."""
    return end if end.failure is None else replace(end, failure=clean_failure(end.failure, guard))


def clean_failure(failure: Failure, guard: Guard) -> Failure:
    """A failure, likewise."""
    return replace(failure, message=guard.redact(failure.message))
