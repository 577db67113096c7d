"""Trajectories of mini-swe-agent: one document with the list of messages as they were sent (versions 1 and 2).

It knows the document. It must never know a file. In version 1 the outputs of commands are messages of the user's role;
in version 2 they may be results of calls. The whole response stands in `extra` of each answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perdure.kernel.messages import Json, JsonObject, Message, text_of
from perdure.lab.readers.counts import usage_of
from perdure.lab.readers.decode import decoded, role_of
from perdure.lab.readers.fields import items, part, seconds, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.recording import Recording

NAME = "mini-swe-agent"

_OUTPUTS = ("<returncode>", "<output>", "<exception>", "Observation:", "The last command <command>", '{"returncode"')


def _recognises(sample: Sample) -> bool:
    whole = sample.document
    if not isinstance(whole, dict):
        return False
    named = text(whole, "trajectory_format") or ""
    return named.startswith("mini-swe-agent") or (
        "mini_version" in part(whole, "info") or ("model_stats" in part(whole, "info") and "messages" in whole)
    )


def _read(given: Input) -> Iterator[Recording]:
    for number, whole in given.objects():
        tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
        tape.dialect = "chat"
        model = text(part(part(part(whole, "info"), "config"), "model"), "model_name")
        _play(items(whole, "messages"), number, model, tape)
        yield tape.recording()


FORMAT = Format(
    name=NAME,
    about="a mini-swe-agent trajectory (JSON)",
    layout="document",
    recognises=_recognises,
    read=_read,
)


def _play(given: Sequence[Json], line: int | None, model: str | None, tape: Tape) -> None:
    answered = False
    for place, item in enumerate(given):
        if not isinstance(item, dict):
            tape.troubles.add(line, f"message {place} is not an object")
            continue
        extra = part(item, "extra")
        time = seconds(extra.get("timestamp"))
        for number, message in enumerate(_messages(item, line, tape)):
            named = replace(message, id=f"m{place}" if number == 0 else f"m{place}.{number + 1}", time=time)
            if message.role == "assistant":
                _answer(named, extra, model, tape)
                answered = True
            else:
                tape.tell((_spoken(named, extra, answered),), line=line)


def _messages(item: JsonObject, line: int | None, tape: Tape) -> list[Message]:
    """A message as the codecs know it: of Chat Completions, or of the Responses API."""
    if item.get("object") == "response":
        output = [one for one in items(item, "output") if isinstance(one, dict)]
        return decoded("responses", output, line, tape.troubles)
    bare = {key: value for key, value in item.items() if key != "extra"}
    if "role" not in bare and "type" in bare:
        return decoded("responses", (bare,), line, tape.troubles)
    if role_of(bare) == "exit":
        return []
    return decoded("chat", (bare,), line, tape.troubles)


def _spoken(message: Message, extra: JsonObject, answered: bool) -> Message:
    """Only the task comes from the user; behind the first answer, everything in the user's role is the harness's."""
    if message.provenance != "user" or not answered:
        return message
    output = "raw_output" in extra or text_of(message.content).lstrip().startswith(_OUTPUTS)
    return replace(message, provenance="tool" if output else "harness")


def _answer(message: Message, extra: JsonObject, model: str | None, tape: Tape) -> None:
    response = part(extra, "response")
    created = seconds(response.get("created"))
    usage = usage_of(part(response, "usage"))
    time = message.time if message.time is not None else created
    answer = replace(message, time=time, model=text(response, "model") or model, usage=usage)
    tape.answer(answer, time=created, usage=usage)
