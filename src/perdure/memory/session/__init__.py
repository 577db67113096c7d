"""The living document of one session: what it looks like, when it is written anew, and how it is kept."""

from perdure.memory.session.document import SECTIONS, TEMPLATE, SessionDocument
from perdure.memory.session.file import SessionMemoryFile
from perdure.memory.session.keeper import Outcome, Schedule, SessionMemoryKeeper, Update

__all__ = [
    "SECTIONS",
    "TEMPLATE",
    "Outcome",
    "Schedule",
    "SessionDocument",
    "SessionMemoryFile",
    "SessionMemoryKeeper",
    "Update",
]
