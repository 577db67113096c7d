"""The types of the public names; `__init__.py` loads each when it is first asked for."""

from perdure.kernel.context import Context, Engine, Ledger, Projection, Sending, Settings, preset
from perdure.kernel.errors import Infeasible, PerdureError, UserError
from perdure.kernel.messages import Message, Request, Response, Transcript
from perdure.kernel.models import ModelProfile, declare, lookup
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "RESPONSES",
    "Context",
    "Engine",
    "Infeasible",
    "Ledger",
    "Message",
    "ModelProfile",
    "PerdureError",
    "Projection",
    "Request",
    "Response",
    "Sending",
    "Settings",
    "Transcript",
    "UserError",
    "__version__",
    "declare",
    "lookup",
    "preset",
]

__version__: str
