"""The session log: an append-only tree of entries in one JSONL file, durable line by line."""

from perdure.log.entries import (
    KINDS,
    CacheRead,
    Compacted,
    Counted,
    Edited,
    Labelled,
    ModelChanged,
    Other,
    Payload,
    Remembered,
    Said,
    SettingsChanged,
    Started,
)
from perdure.log.line import VERSION, Entry, Header, Origin
from perdure.log.scan import Damage, Row
from perdure.log.session_log import SessionLog, create_log, fork_log, open_log, read_log
from perdure.log.state import SessionState, state_of

__all__ = [
    "KINDS",
    "VERSION",
    "CacheRead",
    "Compacted",
    "Counted",
    "Damage",
    "Edited",
    "Entry",
    "Header",
    "Labelled",
    "ModelChanged",
    "Origin",
    "Other",
    "Payload",
    "Remembered",
    "Row",
    "Said",
    "SessionLog",
    "SessionState",
    "SettingsChanged",
    "Started",
    "create_log",
    "fork_log",
    "open_log",
    "read_log",
    "state_of",
]
