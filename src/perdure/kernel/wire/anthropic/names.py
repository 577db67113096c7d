"""The names of Anthropic's Messages API that several files of this codec share.

It knows spellings. It must never know what is done with them.
"""

from __future__ import annotations

from typing import Literal

DIALECT: Literal["anthropic"] = "anthropic"

CACHE_CONTROL = "cache_control"

SERVER_TOOL_USES = ("server_tool_use", "mcp_tool_use")
"""The kinds of calls that the provider makes itself."""

SERVER_RESULT_ENDING = "_tool_result"
"""Every kind of answer to such a call ends like this, `web_search_tool_result` and those to come."""
