"""The opening: everything that a request starts with, as one working directory gives it.

It knows which text becomes a block and which a part, and that blocks are frozen: they are made once, when the opening
is made, and making another one (`reload`) is the only way to change them. Parts are read again whenever they are asked
for. It must never know a view: what of it has been told is not its business.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from perdure.guard.reading import Caution
from perdure.kernel.messages import Tool
from perdure.kernel.prompt import Reminder, System, overlay_block, overlay_parts, part, system_of
from perdure.kernel.value import value
from perdure.project.instructions import read_instructions
from perdure.project.overrides import Overrides, read_overrides
from perdure.project.places import Places, home_of, places_of
from perdure.project.skills import find_skills, list_skills
from perdure.project.snapshot import Snapshot, take_snapshot
from perdure.project.uses import read_uses
from perdure.project.wording import (
    MEMORY_RULES,
    date_body,
    deferred_body,
    project_body,
    role_block,
    skills_body,
    universal_base,
)
from perdure.project.wording.role import Role


@value
class Opening:
    """What a session starts with. Made by `Opening.read`."""

    places: Places
    base: str
    """Block 1; the same for leader and subagents."""
    override: str
    """SYSTEM.md: stands in the place of both blocks; empty where there is none."""
    snapshot: Snapshot
    """How the repository stood; taken once."""
    uses: Mapping[str, float]
    """How much each skill is used, as of the start: a list that moves in a session is told again."""
    environment: Mapping[str, str]
    trusted: bool
    """Whether the repository may replace the system prompt."""

    @classmethod
    def read(cls, cwd: Path, environment: Mapping[str, str], now: float, *, trusted: bool = False) -> Opening:
        """Read what a working directory says, while git answers."""
        places = places_of(cwd, home_of(environment))
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="git") as aside:
            snapshot = aside.submit(take_snapshot, places, environment)
            overrides = read_overrides(places, trusted=trusted)
            uses = read_uses(places.home, now)
            base = universal_base(str(places.cwd), f"{platform.system()} ({platform.machine()})")
            return cls(
                places=places,
                base=base,
                override=overrides.system,
                snapshot=snapshot.result(),
                uses=uses,
                environment=environment,
                trusted=trusted,
            )

    def reload(self, now: float) -> Opening:
        """Another opening with its blocks read anew. The git snapshot stays: there is one for each session."""
        fresh = Opening.read(self.places.cwd, self.environment, now, trusted=self.trusted)
        return replace(fresh, snapshot=self.snapshot)

    def system(self, role: Role, tools: Sequence[Tool], overlays: Mapping[str, str] | None = None) -> System:
        """The system blocks. `tools` are the local ones. Overlays that are given stand in a block that is not marked;
        otherwise they are parts."""
        dynamic = overlay_block(overlays or {})
        if self.override:
            return system_of(role=self.override, snapshot=self.snapshot.text, dynamic=dynamic)
        block = role_block(role, tools)
        return system_of(base=self.base, role=block, snapshot=self.snapshot.text, dynamic=dynamic)


@value
class Standing:
    """How everything stands that is told as parts, at one time."""

    parts: tuple[Reminder, ...]
    """In the order in which they are told."""
    cautions: tuple[Caution, ...]


def read_parts(
    opening: Opening,
    now: float,
    *,
    memory: str,
    overlays: Mapping[str, str] | None = None,
    tools: Sequence[Tool] = (),
    zone: tzinfo | None = None,
) -> Standing:
    """The parts: date, skills, project context, APPEND_SYSTEM.md, memory; then overlays and deferred tools.

    `memory` is the body of the memory's part. Where SYSTEM.md stands in the place of the role block, the memory's rules
    are told with it.
    """
    places = opening.places
    skills = find_skills(places)
    instructions = read_instructions(places)
    overrides: Overrides = read_overrides(places, trusted=opening.trusted)
    rules = f"{MEMORY_RULES}\n\n" if opening.override and memory else ""
    parts = (
        part("date", date_body(now, zone)),
        part("skills", skills_body(list_skills(skills.skills, opening.uses))),
        part("project", project_body(instructions.text)),
        part("append", overrides.append),
        part("memory", rules + memory),
        *overlay_parts(overlays or {}),
        part("tools", deferred_body(tools)),
    )
    cautions = (*skills.cautions, *instructions.cautions, *overrides.cautions, *opening.snapshot.cautions)
    return Standing(parts=parts, cautions=cautions)
