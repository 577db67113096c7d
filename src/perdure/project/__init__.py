"""What a working directory says: its place, instructions, skills and git, and the words that a prompt is made of."""

from perdure.project.instructions import Instructions, read_instructions
from perdure.project.opening import Opening, Standing, read_parts
from perdure.project.overrides import Overrides, read_overrides
from perdure.project.places import Places, home_of, places_of
from perdure.project.skills import Skill, Skills, find_skills, list_skills
from perdure.project.snapshot import Snapshot, take_snapshot
from perdure.project.uses import Use, read_uses, record_use

__all__ = [
    "Instructions",
    "Opening",
    "Overrides",
    "Places",
    "Standing",
    "Skill",
    "Skills",
    "Snapshot",
    "Use",
    "find_skills",
    "home_of",
    "list_skills",
    "places_of",
    "read_instructions",
    "read_overrides",
    "read_parts",
    "read_uses",
    "record_use",
    "take_snapshot",
]
