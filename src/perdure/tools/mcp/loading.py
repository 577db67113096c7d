"""Gets the SDK when a server has to be reached, and not before.

It knows the name of one module. It must never import it by a statement: the SDK takes over a second to import (1.5 s on
a slow core), which every start of a session would pay, also those without a server. A thread imports it by name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from perdure.tools.mcp.ports import Connect


def sdk(logs: Path) -> Callable[[], Connect]:
    """What `Servers` calls in a thread: gives the way to reach servers with the official SDK.

    Calling it raises ImportError where the extra `mcp` is not installed.
    """
    return lambda: importlib.import_module("perdure.tools.mcp.official").connector(logs)
