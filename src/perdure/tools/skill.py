"""The skill tool: loads the instructions of a skill when they are needed, and finds which ones a conversation used.

It knows how a body is told. It must never know where skills lie: `project/skills` finds them. What was used is read
out of the conversation itself and kept nowhere else, so that a resume or a fork is right about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import read_file
from perdure.kernel.agent import AgentTool
from perdure.kernel.agent.mend import arguments_of
from perdure.kernel.messages import JsonObject, Message, Tool, ToolUse, kind_of, text_of
from perdure.kernel.prompt import head_of, note, remind
from perdure.kernel.value import value
from perdure.project import Places, Skill, find_skills
from perdure.tools.actions import Harmless, Offered
from perdure.tools.failed import ToolFailed

NAME = "skill"

BODY = 32 * 1024
"""Bytes of a body that are told at once: some 8,000 tokens. The rest is a file like any other."""
FILES = 40
"""Files of a skill that are listed."""
LOOKED_AT = 1_000
"""Entries of its folder that are looked at for them."""
AGAIN = 5
"""Skills that are told again behind a checkpoint, the newest first."""
AGAIN_EACH = 20_000
"""Bytes of each then: some 5,000 tokens, five of which make 25,000."""

DESCRIPTION = """\
Loads a skill: instructions for a kind of task, with the files that belong to them. Load one before you begin a task \
that its description fits. The list of skills is told in a reminder."""

SKILL = Tool(
    name=NAME,
    description=DESCRIPTION,
    schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "as it stands in the list"},
            "arguments": {"type": "string", "description": "what the user gave with it; takes the place of $ARGUMENTS"},
        },
        "required": ["name"],
    },
)


@value
class Used:
    """A skill that a conversation used."""

    name: str
    text: str
    """What the model was told."""
    message_id: str
    """The message that tells it."""


def offered(places: Places, used: Callable[[str], None]) -> Offered:
    """The tool. `used` is told each name that was loaded, to count it; it may not raise."""

    def run(given: JsonObject) -> str:
        skill = _found(places, given)
        text = told(skill, places, _argument(given, "arguments"))
        used(skill.name)
        return text

    tool = AgentTool(definition=SKILL, run=run, beside=True)
    return Offered(tool=tool, actions=lambda _given: (Harmless(),))


def told(skill: Skill, places: Places, arguments: str = "") -> str:
    """A skill as the model reads it: where it comes from, its body, its files.

    Raises:
        ToolFailed: its file cannot be read.
    """
    reading = read_file(skill.path, limit=BODY, within=places.root if skill.source == "project" else None)
    if reading is None or reading.path is None:
        why = reading.caution.what if reading is not None and reading.caution is not None else "is gone"
        raise ToolFailed(f"The file of the skill {skill.name!r} {why}. Go on without it, and tell the user.")
    body = _body(reading.text)
    if "$ARGUMENTS" in body:
        body = body.replace("$ARGUMENTS", arguments)
    elif arguments:
        body = f"{body}\n\nGiven with it: {arguments}"
    if reading.cut:
        body = (
            f"{body.rpartition(chr(10))[0]}\n[The file goes on: {reading.size:,} bytes. Read the rest of {skill.path}]"
        )
    whose = "this repository" if skill.source == "project" else "the user"
    parts = [f"Skill {skill.name!r} of {whose}, from {one_line(str(skill.path))}:", body]
    files, more = _files(skill.path)
    if files:
        parts.append("Its files, to read or run when they are needed:\n" + "\n".join(f"- {file}" for file in files))
    if more:
        parts.append(f"(and more; look into {one_line(str(skill.path.parent))})")
    return "\n\n".join(parts)


def used_in(messages: Iterable[Message]) -> tuple[Used, ...]:
    """The skills that a conversation used, each once and as it was last told, the newest first."""
    calls: dict[str, str] = {}
    found: dict[str, Used] = {}
    for message in messages:
        for call in message.tool_uses:
            if call.name == NAME and (name := _name_of(call)):
                calls[call.id] = name
        for result in message.tool_results:
            name = calls.pop(result.tool_use_id, "")
            if name and not result.is_error:
                found.pop(name, None)
                found[name] = Used(name=name, text=text_of(result.content), message_id=message.id)
    return tuple(reversed(found.values()))


def retold(
    messages: Iterable[Message], tail: Sequence[Message], *, checkpoint: str, time: float | None
) -> tuple[Message, ...]:
    """What is told again directly behind a checkpoint: the skills that were used and that the tail does not show, a
    message for each, the newest first, so that as many are kept as there is room for."""
    shown = {message.id for message in tail}
    gone = [used for used in used_in(messages) if used.message_id not in shown][:AGAIN]
    texts = ((used.name, note(f"skill {used.name}", _again(used))) for used in gone)
    told_again = (remind((each.text,), id=f"{checkpoint}-skill-{name}", time=time) for name, each in texts)
    return tuple(message for message in told_again if message is not None)


def _again(used: Used) -> str:
    text = used.text.encode()
    if len(text) > AGAIN_EACH:
        kept = text[:AGAIN_EACH].decode("utf-8", "ignore").rpartition("\n")[0]
        return f"You loaded this skill earlier. It is cut here; load it again for the rest.\n\n{kept}"
    return f"You loaded this skill earlier; it still holds for the task that you loaded it for.\n\n{used.text}"


def _found(places: Places, given: JsonObject) -> Skill:
    name = _argument(given, "name").strip().removeprefix("/")
    skills = {skill.name: skill for skill in find_skills(places).skills}
    if name in skills:
        return skills[name]
    known = ", ".join(sorted(skills)[:50]) or "none"
    raise ToolFailed(f"There is no skill {clip(name, 80)!r}. There are: {known}.")


def _argument(given: JsonObject, name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise ToolFailed(f"`{name}` is {kind_of(value)}. It must be a string.")
    return value


def _name_of(call: ToolUse) -> str:
    name = (arguments_of(call) or {}).get("name")
    return name.strip().removeprefix("/") if isinstance(name, str) else ""


def _body(text: str) -> str:
    """The text behind the head."""
    lines = text.split("\n")
    if not head_of(text):
        return text.strip()
    end = next(place for place, line in enumerate(lines[1:], 1) if line.strip() == "---")
    return "\n".join(lines[end + 1 :]).strip()


def _files(path: Path) -> tuple[list[str], bool]:
    """The other files of a skill's folder, links left aside, and whether there are more."""
    found: list[str] = []
    looked_at = 0
    for folder, folders, names in os.walk(path.parent):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        looked_at += len(folders) + len(names)
        files = (Path(folder, name) for name in sorted(names) if not name.startswith("."))
        found.extend(one_line(str(file)) for file in files if file != path and not file.is_symlink())
        if len(found) > FILES or looked_at > LOOKED_AT:
            return found[:FILES], True
    return found, False
