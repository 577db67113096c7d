"""Tools of MCP servers: reached in the background, described safely, called within bounds.

`perdure.tools.mcp.official` reaches them with the official SDK and needs the extra `mcp`; `loading` gets it in a
thread, since it takes over a second to import.
"""

from perdure.tools.mcp.described import Remote
from perdure.tools.mcp.link import Pace, State
from perdure.tools.mcp.loading import sdk
from perdure.tools.mcp.ports import Connect, Connection, Notice, ServerGone
from perdure.tools.mcp.search import CALL, SEARCH, offered
from perdure.tools.mcp.servers import Servers, Standing, serving
from perdure.tools.mcp.settings import HttpServer, Server, StdioServer, servers_of

__all__ = [
    "CALL",
    "SEARCH",
    "Connect",
    "Connection",
    "HttpServer",
    "Notice",
    "Pace",
    "Remote",
    "Server",
    "ServerGone",
    "Servers",
    "Standing",
    "State",
    "StdioServer",
    "offered",
    "sdk",
    "servers_of",
    "serving",
]
