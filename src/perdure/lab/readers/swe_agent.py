"""Trajectories of SWE-agent: one document with the steps and the history (versions 0.6 to 1.1).

It knows the document. It must never know a file. The history holds every message in full; steps may hold the shortened
ones that were sent. There are no times and no counts. Without function calls an observation is a message of the user's
role; a demonstration is the harness's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perdure.kernel.messages import Json, JsonObject, Message, Provenance
from perdure.lab.readers.decode import decoded, role_of
from perdure.lab.readers.fields import items, part, parts, text
from perdure.lab.readers.format import Format, Input, Sample
from perdure.lab.readers.tape import Tape
from perdure.lab.recording import Recording

NAME = "swe-agent"

_MAIN = frozenset({"main", "primary"})


def _recognises(sample: Sample) -> bool:
    whole = sample.document
    if not isinstance(whole, dict):
        return False
    steps = parts(whole, "trajectory")
    return bool(steps) and "action" in steps[0] and "observation" in steps[0]


def _read(given: Input) -> Iterator[Recording]:
    for number, whole in given.objects():
        tape = Tape(file=given.file, format=NAME, troubles=given.troubles)
        tape.dialect = "chat"
        config = part(whole, "replay_config")
        model = text(part(part(part(config, "agent"), "model"), "name") or part(config, "model"), "name")
        history = parts(whole, "history") or _from_steps(whole)
        _play(history, number, model, tape)
        yield tape.recording()


FORMAT = Format(name=NAME, about="a SWE-agent trajectory (JSON)", layout="document", recognises=_recognises, read=_read)


def _from_steps(whole: JsonObject) -> list[JsonObject]:
    """A history made of the steps, for a document that has none."""
    steps = parts(whole, "trajectory")
    history: list[JsonObject] = []
    for item in parts(steps[0], "messages") or parts(steps[0], "query") if steps else ():
        if role_of(item) == "assistant" and item.get("is_demo") is not True:
            break
        history.append(item)
    for step in steps:
        history.append({"role": "assistant", "content": text(step, "response") or text(step, "thought") or ""})
        history.append({"role": "user", "content": text(step, "observation") or ""})
    return history


def _play(history: list[JsonObject], line: int | None, model: str | None, tape: Tape) -> None:
    answered = False
    others = 0
    for place, item in enumerate(history):
        agent = text(item, "agent")
        if agent is not None and agent not in _MAIN:
            others += role_of(item) == "assistant"
            continue
        demo = item.get("is_demo") is True
        for message in decoded("chat", (_chat(item),), line, tape.troubles):
            named = replace(message, id=f"m{place}", model=model if message.role == "assistant" else None)
            if named.role == "assistant" and not demo:
                tape.answer(named)
                answered = True
            else:
                tape.tell((replace(named, provenance=_provenance(named, demo, answered)),), line=line)
    if others:
        tape.troubles.add(line, f"{others} requests of other agents are left out")


def _chat(item: JsonObject) -> JsonObject:
    """The message that was sent, without what the harness noted beside it."""
    role = role_of(item)
    sent: JsonObject = {"role": role, "content": item.get("content")}
    if role == "assistant" and item.get("tool_calls"):
        sent["tool_calls"] = item["tool_calls"]
    if role == "tool":
        names: list[Json] = items(item, "tool_call_ids")
        sent["tool_call_id"] = names[0] if names else item.get("tool_call_id")
    return sent


def _provenance(message: Message, demo: bool, answered: bool) -> Provenance:
    if message.provenance != "user":
        return message.provenance
    if demo:
        return "harness"
    return "tool" if answered else "user"
