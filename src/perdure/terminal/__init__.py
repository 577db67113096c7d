"""The screen: a session in a terminal, with what is in the context, what left it, why, and what it cost."""

from perdure.terminal.dialog import Dialog
from perdure.terminal.port import Desk, Folders, Leave
from perdure.terminal.screen import Screen

__all__ = ["Desk", "Dialog", "Folders", "Leave", "Screen"]
