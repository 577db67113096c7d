"""Sessions: everything put together, and one conversation that survives whatever happens to it."""

from perdure.session.events import Listener, SessionEvent, SubagentHeard
from perdure.session.session import COMPACTION, Session
from perdure.session.spec import Bench, Spec
from perdure.session.stored import find_session, new_id, path_of

__all__ = [
    "COMPACTION",
    "Bench",
    "Listener",
    "Session",
    "SessionEvent",
    "Spec",
    "SubagentHeard",
    "find_session",
    "new_id",
    "path_of",
]
