"""Perdure inside an editor: a server of the Agent Client Protocol, spoken over standard input and output.

`perdure.acp.server` answers an editor and `perdure.acp.pipe` carries the lines. How a session is opened is handed in
(`House`).
"""

from perdure.acp.port import Command, Desk, House, Say, Told, Wants
from perdure.acp.server import serve

__all__ = ["Command", "Desk", "House", "Say", "Told", "Wants", "serve"]
