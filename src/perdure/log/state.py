"""What a branch of a log adds up to: transcript, edits, and what holds at its end.

It knows which entries make which value. It must never decide: a resumed session is what the log says, no more.
"""

from __future__ import annotations

from dataclasses import field

from perdure.kernel.context import Edit, Ledger
from perdure.kernel.messages import JsonObject, Message, Transcript
from perdure.kernel.value import record
from perdure.log.entries import (
    CacheRead,
    Compacted,
    Counted,
    Edited,
    Labelled,
    ModelChanged,
    Remembered,
    Said,
    SettingsChanged,
    Started,
)
from perdure.log.session_log import SessionLog


@record(kw_only=True)
class SessionState:
    """A session as its log tells it."""

    started: Started | None = None
    transcript: Transcript = field(default_factory=Transcript)
    ledger: Ledger = field(default_factory=Ledger)
    compactions: list[Compacted] = field(default_factory=list[Compacted])
    model: ModelChanged | None = None
    """The newest change; None where the session goes on with the model that it started with."""
    settings: JsonObject = field(default_factory=JsonObject)
    """Those that it started with, and what was changed since."""
    name: str = ""
    """The newest label of the session."""
    labels: dict[int, str] = field(default_factory=dict[int, str])
    """Labels of entries."""
    counted: list[Counted] = field(default_factory=list[Counted])
    cache: list[CacheRead] = field(default_factory=list[CacheRead])
    memory: Remembered | None = None
    """The newest generation of the session memory."""


def state_of(log: SessionLog, leaf: int | None = None) -> SessionState:
    """What the branch to `leaf`, or to the present leaf, adds up to.

    Raises:
        LogDamaged: an entry cannot be read.
        InvalidMessage: messages or edits that no session of ours writes, such as two with one id.
    """
    state = SessionState()
    messages: list[Message] = []
    edits: list[Edit] = []
    for _, payload in log.payloads(leaf):
        match payload:
            case Said(message=message):
                messages.append(message)
            case Edited(edits=fresh):
                edits.extend(fresh)
            case Started():
                state.started = payload
                state.settings = {**state.settings, **payload.settings}
            case SettingsChanged(settings=settings):
                state.settings = {**state.settings, **settings}
            case ModelChanged():
                state.model = payload
            case Compacted():
                state.compactions.append(payload)
            case Labelled(text=text, entry=None):
                state.name = text
            case Labelled(text=text, entry=int(entry)):
                state.labels[entry] = text
            case Counted():
                state.counted.append(payload)
            case CacheRead():
                state.cache.append(payload)
            case Remembered(generation=generation):
                if state.memory is None or generation >= state.memory.generation:
                    state.memory = payload
            case _:
                pass
    state.transcript, state.ledger = Transcript(messages), Ledger(edits)
    return state
