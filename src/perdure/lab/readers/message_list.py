"""A bare list of messages: of Anthropic's API, of Chat Completions, or items of the Responses API.

It knows such lists, in a JSON list, in an object under `messages`, or one message per line. It must never know a file.
There are no counts and no times; each answer was one request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.kernel.messages import Json, JsonObject
from perdure.lab.readers.decode import decoded, dialect_of
from perdure.lab.readers.fields import items, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.voices import told_apart
from perdure.lab.recording import Recording

NAME = "messages"

_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function"})


def _recognises(sample: Sample) -> bool:
    whole = sample.document
    if isinstance(whole, list):
        return any(_is_message(one) for one in whole[:8])
    if any(_is_message(line) for line in sample.lines):
        return True
    return isinstance(whole, dict) and any(_is_message(one) for one in items(whole, "messages")[:8])


def _is_message(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and text(value, "role") in _ROLES
        and ("content" in value or "tool_calls" in value)
        and "uuid" not in value
    )


def _read(given: Input) -> Iterator[Recording]:
    found: list[tuple[int | None, JsonObject]] = []
    for line in given.lines:
        value = line.value
        listed = items(value, "messages") if isinstance(value, dict) and not _is_message(value) else value
        for place, one in enumerate(listed if isinstance(listed, list) else [listed]):
            if isinstance(one, dict):
                found.append((line.number, one))
            else:
                given.troubles.add(line.number, f"message {place} is not an object")
    tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
    _play(found, tape)
    yield tape.recording()


FORMAT = Format(
    name=NAME,
    about="a list of messages (JSON, or one per line)",
    layout="either",
    recognises=_recognises,
    read=_read,
)


def _play(found: Sequence[tuple[int | None, JsonObject]], tape: Tape) -> None:
    objects = [one for _, one in found]
    tape.dialect = dialect_of(objects)
    messages = decoded(tape.dialect, objects, None, tape.troubles)
    for message in messages:
        if message.role == "assistant":
            tape.answer(message)
        else:
            tape.tell(told_apart(message))
