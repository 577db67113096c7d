"""What a call would do, in the terms in which it is judged: facts that were looked up, and no decision.

It knows values. It must never know a rule, and never touch a disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from perdure.kernel.value import value

Way: TypeAlias = Literal["read", "write", "named"]
"""`named`: a command that is judged by itself has the path among its words."""


@value
class Touch:
    """A file or folder is touched."""

    path: Path
    """Where it really is: every link resolved."""
    way: Way
    inside: bool
    """It lies in a folder that may be worked in."""
    ward: str = ""
    """Why it is always asked about; empty for most."""
    changes: bool = False
    """Of a named path: the command may change it."""
    deep: bool = False
    """Everything below it is read as well."""


@value
class Run:
    """A program or a builtin of the shell runs."""

    words: tuple[str, ...]
    """Assignments that are not inert, the name, and the arguments. Of what is only known at run time, the source."""
    quiet: bool = False
    """Known to change nothing, with these options."""
    hazard: str = ""
    """Something in its words that makes it do more than its name says."""


@value
class Unclear:
    """Something that cannot be told before it runs. No rule allows it."""

    why: str


@value
class Ruinous:
    """Something that nobody wants, whoever permits it."""

    why: str


@value
class Reach:
    """A host on the network is asked for something."""

    host: str


@value
class Serve:
    """A tool of an MCP server runs."""

    server: str
    tool: str


Effect: TypeAlias = Touch | Run | Unclear | Ruinous | Reach | Serve


@value
class Wish:
    """One action, looked into."""

    name: str
    """The exact form that is shown to a person, and that an approval is kept under."""
    effects: tuple[Effect, ...]
    """Everything that it would do; empty where it does nothing to the world."""
