"""How a tool says that a call cannot be carried out.

It knows one exception. It must never know a tool.
"""

from __future__ import annotations


class ToolFailed(Exception):
    """A call that went wrong as calls may. The text is for the model: what is wrong, and what to do next."""

    speaks = True
    """The kernel hands the text on as it is."""
