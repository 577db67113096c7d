"""What the screen asks of whoever opens it, and what it gives back when it is left.

It knows shapes. It must never know how a session is opened.
"""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from perdure.kernel.value import value
from perdure.session import Session
from perdure.tools.permissions import Mode


class Desk(Protocol):
    """An open session and what can be turned while it is open."""

    @property
    def session(self) -> Session:
        """The session."""
        ...

    @property
    def mode(self) -> Mode:
        """What is done without a question."""
        ...

    @property
    def folders(self) -> Folders:
        """Where things of the project are."""
        ...

    def turn(self, mode: Mode) -> None:
        """Change the mode."""
        ...

    def use_model(self, wanted: str) -> Awaitable[str]:
        """Let another model answer; gives its name and why it can be reached."""
        ...

    def rest(self) -> Awaitable[None]:
        """What is done while nothing happens, such as keeping the provider's cache; cancelled when it goes on."""
        ...

    def servers(self) -> tuple[str, ...]:
        """How each MCP server stands, in a line."""
        ...


@value
class Folders:
    """Where things of the project are."""

    cwd: Path
    root: Path
    kept: Path
    """What is kept about the project, for its owner alone."""
    memories: tuple[Path, ...]
    """The user's, and the project's."""
    commands: tuple[Path, ...]
    """Folders of the user's own commands, the nearest first."""


Next: TypeAlias = Path | Literal["new"] | None


@value
class Leave:
    """The screen was left."""

    to: Next = None
    """Another session to open: its log, or a new one; None: the program ends."""
