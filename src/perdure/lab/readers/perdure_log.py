"""Sessions of Perdure itself: the session log, a tree of entries.

It knows entries. It must never know a file. The transcript is whole, and a policy plans its own edits; what the
session's own edits were goes with it, so that a replay can follow them.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.context import Attempt, Checkpoint, Edit, NativeCheckpoint, PrefixChange
from perdure.kernel.errors import InvalidJson, LogDamaged
from perdure.kernel.messages import JsonObject
from perdure.lab.readers.fields import count, part, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.readers.tree import path_to
from perdure.lab.recording import Recording
from perdure.log.entries import Edited, Said, Started, from_json
from perdure.log.line import FORMAT as NAME
from perdure.log.line import is_header, known_version


def _recognises(sample: Sample) -> bool:
    return bool(sample.lines) and is_header(sample.lines[0])


def _read(given: Input) -> Iterator[Recording]:
    """The branch that was written last.

    Raises:
        LogTooNew: a newer version wrote it.
    """
    tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
    entries: dict[str, tuple[int | None, JsonObject]] = {}
    parents: dict[str, str | None] = {}
    for number, value in given.objects():
        if is_header(value):
            known_version(value)
            continue
        name, parent = count(value, "id"), count(value, "parent")
        if name:
            entries[str(name)] = number, value
            parents[str(name)] = str(parent) if parent else None
    for name in path_to(next(reversed(entries), ""), parents):
        number, value = entries[name]
        try:
            _play(value, number, tape)
        except (InvalidJson, LogDamaged) as error:
            given.troubles.add(number, str(error))
    yield tape.recording()


FORMAT = Format(name=NAME, about="a Perdure session log (JSONL)", layout="lines", recognises=_recognises, read=_read)


def _play(value: JsonObject, number: int | None, tape: Tape) -> None:
    match from_json(text(value, "kind") or "", part(value, "payload")):
        case Started(system=system, tools=tools):
            tape.system, tape.tools = system, tools
        case Said(message=message):
            if message.role == "assistant":
                tape.answer(message, usage=message.usage)
            else:
                tape.tell((message,), line=number)
        case Edited(edits=edits):
            tape.ledger += edits
            for edit in edits:
                _edit(edit, tape)
        case _:
            pass


def _edit(edit: Edit, tape: Tape) -> None:
    match edit:
        case Checkpoint(covers_until=last) | NativeCheckpoint(covers_until=last):
            place = tape.place_of(last)
            if place is not None:
                tape.compacted(place + 1)
        case Attempt() | PrefixChange():
            pass
        case _:
            tape.edits += 1
