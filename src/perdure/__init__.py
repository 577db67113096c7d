"""Perdure keeps a coding agent going for as long as the work lasts.

This file knows the public names, nothing else. Importing it has no side effect, and loads nothing: a command that needs
none of the names starts at once. Their types are in `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module

# The names are there when they are asked for, which a checker cannot see; `__init__.pyi` shows them to it.
# pyright: reportUnsupportedDunderAll=false

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

__version__ = "0.1.0"

_WHERE = {
    "ANTHROPIC": "perdure.kernel.wire",
    "CHAT": "perdure.kernel.wire",
    "Context": "perdure.kernel.context",
    "Engine": "perdure.kernel.context",
    "Infeasible": "perdure.kernel.errors",
    "Ledger": "perdure.kernel.context",
    "Message": "perdure.kernel.messages",
    "ModelProfile": "perdure.kernel.models",
    "PerdureError": "perdure.kernel.errors",
    "Projection": "perdure.kernel.context",
    "RESPONSES": "perdure.kernel.wire",
    "Request": "perdure.kernel.messages",
    "Response": "perdure.kernel.messages",
    "Sending": "perdure.kernel.context",
    "Settings": "perdure.kernel.context",
    "Transcript": "perdure.kernel.messages",
    "UserError": "perdure.kernel.errors",
    "declare": "perdure.kernel.models",
    "lookup": "perdure.kernel.models",
    "preset": "perdure.kernel.context",
}


def __getattr__(name: str) -> object:
    """A public name, loaded when it is first asked for (PEP 562)."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'perdure' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
