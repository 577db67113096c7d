"""SYSTEM.md and APPEND_SYSTEM.md: a user's own system prompt, and what a user adds to ours.

It knows where they may stand. SYSTEM.md replaces every rule that we give, so the repository's own is read only once the
user has said that the repository is to be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure.guard.plain import one_line
from perdure.guard.reading import Caution, Reading, read_file
from perdure.kernel.value import value
from perdure.project.places import Places

MOST = 32 * 1024
"""Bytes of one file: as much as of a file of the project context."""


@value
class Overrides:
    """What stands in the place of our words, and what is told beside them."""

    system: str = ""
    """Replaces both system blocks; empty where nothing does."""
    append: str = ""
    """Told as a part."""
    cautions: tuple[Caution, ...] = ()


def read_overrides(places: Places, *, trusted: bool) -> Overrides:
    """Read the files of the repository, where it is trusted, and those of the user.

    The repository's SYSTEM.md stands for the user's; of APPEND_SYSTEM.md both are told, the user's first.
    """
    systems = list(_readings(places, "SYSTEM.md", trusted=trusted))
    appends = list(_readings(places, "APPEND_SYSTEM.md", trusted=trusted))
    cautions = [reading.caution for reading in (*systems, *appends) if reading.caution is not None]
    spoken = [reading.text.strip() for reading in systems if reading.text.strip()]
    added = [reading.text.strip() for reading in appends if reading.text.strip()]
    return Overrides(system=spoken[-1] if spoken else "", append="\n\n".join(added), cautions=tuple(cautions))


def _readings(places: Places, name: str, *, trusted: bool) -> Iterator[Reading]:
    own = places.own / name
    if (reading := read_file(places.home / name, limit=MOST)) is not None:
        yield reading
    if (reading := read_file(own, limit=MOST, within=places.root)) is not None:
        yield reading if trusted else _distrusted(own)


def _distrusted(path: Path) -> Reading:
    what = "not used: it would change the system prompt, and this repository is not trusted"
    return Reading(caution=Caution(place=one_line(str(path)), what=what))
