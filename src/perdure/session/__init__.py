"""Sessions: everything put together, and one conversation that survives whatever happens to it."""

from perdure.session.composition import Composed, Share, composition_of
from perdure.session.events import Listener, SessionEvent, SubagentHeard
from perdure.session.export import Exported, Form, export
from perdure.session.importing import import_transcript
from perdure.session.listing import Listed, list_sessions
from perdure.session.session import COMPACTION, Session
from perdure.session.spec import Bench, Spec
from perdure.session.status import Loss, Reasons, Status, losses_of, status_of, why_of
from perdure.session.stored import find_session, new_id, path_of

__all__ = [
    "COMPACTION",
    "Bench",
    "Composed",
    "Exported",
    "Form",
    "Listed",
    "Listener",
    "Loss",
    "Reasons",
    "Session",
    "SessionEvent",
    "Share",
    "Spec",
    "Status",
    "SubagentHeard",
    "composition_of",
    "export",
    "find_session",
    "import_transcript",
    "list_sessions",
    "losses_of",
    "new_id",
    "path_of",
    "status_of",
    "why_of",
]
