"""What an entry says: one frozen value for each kind, and its payload as JSON.

It knows kinds and their fields. It must never know a file, nor what a session makes of an entry. A kind that no class
here fits is an `Other`: carried whole, so that a log with entries of an extension opens everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal, TypeAlias

from perdure.kernel.cache.monitor import Reading
from perdure.kernel.context import Edit
from perdure.kernel.context.persist import edit_from_json, edit_to_json
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, Message, Text, Tool, Unknown, Usage
from perdure.kernel.messages.fields import Fields
from perdure.kernel.messages.persist import (
    block_from_json,
    block_to_json,
    message_from_json,
    message_to_json,
    tool_from_json,
    tool_to_json,
    usage_from_json,
    usage_to_json,
)
from perdure.kernel.value import value


@value
class Started:
    """A session began. What it began with is used again on resume, so that "once" means once per session."""

    system: tuple[Text | Unknown, ...] = ()
    tools: tuple[Tool, ...] = ()
    git: str | None = None
    """The snapshot of the repository."""
    model: str | None = None
    settings: JsonObject = field(default_factory=JsonObject)
    """What else the host wants to find again: working directory, thinking, limits."""


@value
class Said:
    """A message of the transcript."""

    message: Message


@value
class Edited:
    """Edits that were planned together: all of them are in force, or none."""

    edits: tuple[Edit, ...]


@value
class Compacted:
    """A checkpoint became the baseline. The checkpoint itself is an edit of an entry before."""

    edit_id: str
    reason: str
    """What made it: `asked`, `threshold` ..."""
    tokens_before: int
    tokens_after: int
    usage: Usage | None = None
    """What writing the narrative cost, where a model did."""


@value
class ModelChanged:
    """From here on another model, or another effort, answers."""

    model: str
    provider: str | None = None
    effort: str | None = None


@value
class SettingsChanged:
    """From here on these settings hold, besides those from before."""

    settings: JsonObject


@value
class Labelled:
    """A name for the session, or for one entry of it."""

    text: str
    """Empty to take the name away."""
    entry: int | None = None
    """None: the session."""


@value
class Counted:
    """What a call of a model cost that answered no request of the conversation: a summary, a memory, a judgement."""

    what: str
    usage: Usage
    model: str | None = None


@value
class CacheRead:
    """What the cache monitor made of one answer."""

    message_id: str
    """The answer."""
    reading: Reading


@value
class Remembered:
    """A generation of the session memory."""

    generation: int
    text: str
    covers_until: str
    """Id of the last message that it tells of."""
    template: str = ""
    """The form that nobody has filled in."""


@value
class Other:
    """An entry of a kind that is not known here."""

    kind: str
    payload: JsonObject


Payload: TypeAlias = (
    Started
    | Said
    | Edited
    | Compacted
    | ModelChanged
    | SettingsChanged
    | Labelled
    | Counted
    | CacheRead
    | Remembered
    | Other
)

Kind: TypeAlias = Literal[
    "started",
    "message",
    "edits",
    "compaction",
    "model",
    "settings",
    "label",
    "usage",
    "cache",
    "session_memory",
]


def kind_of_payload(payload: Payload) -> str:
    """The name of its kind, as a line has it."""
    return payload.kind if isinstance(payload, Other) else KINDS[type(payload)]


def to_json(payload: Payload) -> JsonObject:
    """The payload as a JSON object, which `from_json` turns back into an equal one."""
    match payload:
        case Said(message=message):
            return message_to_json(message)
        case Edited(edits=edits):
            return {"edits": [edit_to_json(edit) for edit in edits]}
        case Started():
            return _started_to_json(payload)
        case Compacted():
            return _without_none(
                edit_id=payload.edit_id,
                reason=payload.reason,
                tokens_before=payload.tokens_before,
                tokens_after=payload.tokens_after,
                usage=payload.usage and usage_to_json(payload.usage),
            )
        case ModelChanged():
            return _without_none(model=payload.model, provider=payload.provider, effort=payload.effort)
        case SettingsChanged(settings=settings):
            return {"settings": settings}
        case Labelled():
            return _without_none(text=payload.text, entry=payload.entry)
        case Counted():
            return _without_none(what=payload.what, usage=usage_to_json(payload.usage), model=payload.model)
        case CacheRead(reading=reading):
            return _without_none(
                message_id=payload.message_id,
                outcome=reading.outcome,
                cause=reading.cause,
                predicted=reading.predicted,
                seen=reading.seen,
                lost=reading.lost,
            )
        case Remembered():
            return {
                "generation": payload.generation,
                "text": payload.text,
                "covers_until": payload.covers_until,
                "template": payload.template,
            }
        case Other(payload=given):
            return given


def from_json(kind: str, given: JsonObject) -> Payload:
    """The value of a payload.

    Raises:
        InvalidJson: a field of another kind than `to_json` writes; the message names it.
    """
    make = _MAKERS.get(kind)
    return Other(kind=kind, payload=given) if make is None else make(Fields(given, f"the {kind} entry"))


def _without_none(**given: str | int | JsonObject | None) -> JsonObject:
    return {name: value for name, value in given.items() if value is not None}


def _started_to_json(started: Started) -> JsonObject:
    return {
        **_without_none(git=started.git, model=started.model),
        "system": [block_to_json(block) for block in started.system],
        "tools": [tool_to_json(tool) for tool in started.tools],
        "settings": started.settings,
    }


def _started(fields: Fields) -> Started:
    system = fields.each("system", block_from_json)
    told = tuple(block for block in system if isinstance(block, Text | Unknown))
    if len(told) != len(system):
        raise InvalidJson("'system' of the started entry must hold text and unknown blocks alone")
    return Started(
        system=told,
        tools=fields.each("tools", tool_from_json),
        git=fields.optional_text("git"),
        model=fields.optional_text("model"),
        settings=fields.optional_object("settings") or {},
    )


def _compacted(fields: Fields) -> Compacted:
    usage = fields.optional_object("usage")
    return Compacted(
        edit_id=fields.text("edit_id"),
        reason=fields.text("reason"),
        tokens_before=fields.number("tokens_before"),
        tokens_after=fields.number("tokens_after"),
        usage=None if usage is None else usage_from_json(usage),
    )


def _cache_read(fields: Fields) -> CacheRead:
    cause = fields.optional_text("cause")
    return CacheRead(
        message_id=fields.text("message_id"),
        reading=Reading(
            outcome=fields.one_of("outcome", "first", "hit", "break"),
            cause=None
            if cause is None
            else fields.one_of(
                "cause",
                "expired",
                "model_changed",
                "tools_changed",
                "system_changed",
                "edited",
                "messages_changed",
                "unexplained",
            ),
            predicted=fields.number("predicted"),
            seen=fields.number("seen"),
            lost=fields.number("lost"),
        ),
    )


def _edited(fields: Fields) -> Edited:
    return Edited(edits=fields.each("edits", edit_from_json))


def _model(fields: Fields) -> ModelChanged:
    return ModelChanged(
        model=fields.text("model"), provider=fields.optional_text("provider"), effort=fields.optional_text("effort")
    )


def _labelled(fields: Fields) -> Labelled:
    entry = fields.value("entry")
    return Labelled(text=fields.text("text"), entry=None if entry is None else fields.number("entry"))


def _counted(fields: Fields) -> Counted:
    return Counted(
        what=fields.text("what"), usage=usage_from_json(fields.value("usage")), model=fields.optional_text("model")
    )


def _remembered(fields: Fields) -> Remembered:
    return Remembered(
        generation=fields.number("generation"),
        text=fields.text("text"),
        covers_until=fields.text("covers_until"),
        template=fields.text_or("template", ""),
    )


KINDS: dict[type[Payload], Kind] = {
    Started: "started",
    Said: "message",
    Edited: "edits",
    Compacted: "compaction",
    ModelChanged: "model",
    SettingsChanged: "settings",
    Labelled: "label",
    Counted: "usage",
    CacheRead: "cache",
    Remembered: "session_memory",
}
"""The name of each kind, as a line has it."""

_MAKERS: dict[str, Callable[[Fields], Payload]] = {
    "started": _started,
    "message": lambda fields: Said(message=message_from_json(fields.whole)),
    "edits": _edited,
    "compaction": _compacted,
    "model": _model,
    "settings": lambda fields: SettingsChanged(settings=fields.object("settings")),
    "label": _labelled,
    "usage": _counted,
    "cache": _cache_read,
    "session_memory": _remembered,
}
