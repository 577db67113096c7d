"""Sessions: everything put together, and one conversation that survives whatever happens to it."""

from perdure.session.session import COMPACTION, Session
from perdure.session.spec import Bench, Spec
from perdure.session.stored import find_session, new_id, path_of

__all__ = ["COMPACTION", "Bench", "Session", "Spec", "find_session", "new_id", "path_of"]
