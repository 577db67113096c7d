"""The screen: a session in a terminal, with what is in the context, what left it, why, and what it cost.

`perdure.terminal.screen` draws it and `perdure.terminal.dialog` asks; both load a library that a command without a
screen does not need.
"""

from perdure.terminal.port import Desk, Folders, Leave

__all__ = ["Desk", "Folders", "Leave"]
