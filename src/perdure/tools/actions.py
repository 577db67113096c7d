"""What a call of a tool would do to the world, told before it is done, so that it can be permitted or not.

It knows kinds of effects. It must never decide about one, and never perform one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPath:
    """A file is read, or a folder is listed or searched."""

    path: Path
    """Absolute. Links in it are resolved where it is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePath:
    """A file or folder is made, changed or removed."""

    path: Path
    """Absolute. Links in it are resolved where it is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """A shell runs a command."""

    command: str
    """As the shell gets it."""
    cwd: Path
    """The folder that it starts in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Something is asked of the network."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallServer:
    """A tool of an MCP server is called, of which nobody here knows what it does."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Another agent starts. Its own calls are judged as they come."""

    what: str
    """Its task, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmless:
    """Nothing outside the conversation is touched, or the call will fail by itself."""


Action: TypeAlias = ReadPath | WritePath | RunCommand | Fetch | CallServer | Spawn | Harmless


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool together with what its calls would do."""

    tool: AgentTool
    actions: Callable[[JsonObject], tuple[Action, ...]]
    """What a call with these arguments would do: everything, or it is not asked about. Arguments that the tool refuses
    give `(Harmless(),)`. Raises nothing for what a model wrote, and touches nothing."""
