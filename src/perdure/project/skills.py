"""Skills: folders with a SKILL.md, of the repository and of the user, and the list that tells of them.

It knows their heads and the room of the list. It must never know what a skill does. How often a skill was used decides
only whether it fits; the order never follows from use, since a list that shuffles is told again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import Caution, read_file
from perdure.kernel.prompt import head_of
from perdure.kernel.value import value
from perdure.project.places import Places

Source: TypeAlias = Literal["project", "user"]

ROOM = 4_000
"""Characters of the list: 1,000 tokens, in every request."""
LINE = 220
"""Characters of a line: who and what for; the file says the rest."""
WHEN = 160
"""Characters of the description and of when to use it, together."""
HEAD = 16 * 1024
"""Bytes read of a file, to find its head."""
FOLDERS = 500
"""Skills looked at in one place."""


@value
class Skill:
    """A skill as the list tells of it."""

    name: str
    source: Source
    what: str
    """What it does and when to use it."""
    path: Path
    """Its SKILL.md."""


@value
class Skills:
    """All skills there are."""

    skills: tuple[Skill, ...] = ()
    """By source and name: the repository's first."""
    cautions: tuple[Caution, ...] = ()


def find_skills(places: Places) -> Skills:
    """Find the skills of repository and user. Of two with one name the repository's counts."""
    found: dict[str, Skill] = {}
    cautions: list[Caution] = []
    sources: tuple[tuple[Source, Path, Path | None], ...] = (
        ("project", places.own / "skills", places.root),
        ("user", places.home / "skills", None),
    )
    for source, folder, within in sources:
        for each in _look(source, folder, within):
            if isinstance(each, Caution):
                cautions.append(each)
            elif each.name in found:
                cautions.append(_hidden(each, found[each.name]))
            else:
                found[each.name] = each
    skills = sorted(found.values(), key=lambda skill: (skill.source, skill.name))
    return Skills(skills=tuple(skills), cautions=tuple(cautions))


def list_skills(skills: Sequence[Skill], uses: Mapping[str, float]) -> str:
    """The list, within its room: those that are used most fit first, and they stand in the order given.

    `uses` weighs each name; one that it lacks weighs nothing.
    """
    lines = {skill.name: clip(f"- {skill.name} ({skill.source}): {skill.what}", LINE) for skill in skills}
    room, kept = ROOM, set[str]()
    for name in sorted(lines, key=lambda name: (-uses.get(name, 0.0), name)):
        if len(lines[name]) < room:
            room -= len(lines[name]) + 1
            kept.add(name)
    told = [line for name, line in lines.items() if name in kept]
    if len(told) < len(lines):
        told.append(f"({len(lines) - len(told)} more are not listed; each is a folder under skills/ with a SKILL.md.)")
    return "\n".join(told)


def _look(source: Source, folder: Path, within: Path | None) -> Iterator[Skill | Caution]:
    """The skills of one folder, by name."""
    try:
        if within is not None and not folder.resolve().is_relative_to(within):
            yield Caution(place=one_line(str(folder)), what="is a link that leads out of its folder; it was not read")
            return
        names = sorted(entry.name for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, RuntimeError):
        yield Caution(place=one_line(str(folder)), what="cannot be read; no skill of it is listed")
        return
    for name in names[:FOLDERS]:
        yield from _skill(source, folder / name / "SKILL.md", within)
    if len(names) > FOLDERS:
        yield Caution(place=one_line(str(folder)), what=f"has {len(names):,} entries; the first {FOLDERS} were read")


def _skill(source: Source, path: Path, within: Path | None) -> Iterator[Skill | Caution]:
    reading = read_file(path, limit=HEAD, within=within)
    if reading is None:
        return
    if reading.caution is not None and not reading.cut:
        yield reading.caution
        return
    head = head_of(reading.text)
    name = head.get("name") or path.parent.name
    if not name.isprintable() or len(name) > 64 or not name.strip():
        yield Caution(place=one_line(str(path)), what="has a name that is no name: one line of 64 characters at most")
        return
    what = " ".join(text for key in ("description", "when_to_use") if (text := head.get(key, "")))
    yield Skill(name=name, source=source, what=clip(one_line(what) or "no description", WHEN), path=path)


def _hidden(skill: Skill, by: Skill) -> Caution:
    return Caution(
        place=one_line(str(skill.path)), what=f"hidden by the {by.source}'s skill of the same name {by.name!r}"
    )
