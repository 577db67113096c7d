"""What is kept across sessions, and the living document of one: stores behind one protocol, and the way in and out.

`perdure.memory.postgres` keeps it on a server and needs the extra `postgres`; `perdure.memory.session` has the living
document; `perdure.memory.auto` the index that every session starts with.
"""

from perdure.memory.commands import CommandFailed, Commands
from perdure.memory.files import FileStore
from perdure.memory.path import MemoryPath, parse_path
from perdure.memory.principal import Principal
from perdure.memory.provenance import Sources, quoted, sources_of
from perdure.memory.store import Caps, Entry, Kept, MemoryStore

__all__ = [
    "Caps",
    "CommandFailed",
    "Commands",
    "Entry",
    "FileStore",
    "Kept",
    "MemoryPath",
    "MemoryStore",
    "Principal",
    "Sources",
    "parse_path",
    "quoted",
    "sources_of",
]
