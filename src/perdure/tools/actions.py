"""What a call of a tool would do to the world, told before it is done, so that it can be permitted or not.

It knows kinds of effects. It must never decide about one, and never perform one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject
from perdure.kernel.value import value


@value
class ReadPath:
    """A file is read, or a folder is listed or searched."""

    path: Path
    """Absolute. Links in it are resolved where it is judged."""


@value
class WritePath:
    """A file or folder is made, changed or removed."""

    path: Path
    """Absolute. Links in it are resolved where it is judged."""


@value
class RunCommand:
    """A shell runs a command."""

    command: str
    """As the shell gets it."""
    cwd: Path
    """The folder that it starts in."""


@value
class Fetch:
    """Something is asked of the network."""

    url: str


@value
class CallServer:
    """A tool of an MCP server is called, of which nobody here knows what it does."""

    server: str
    tool: str


@value
class Spawn:
    """Another agent starts. Its own calls are judged as they come."""

    what: str
    """Its task, for people."""


@value
class Harmless:
    """Nothing outside the conversation is touched, or the call will fail by itself."""


Action: TypeAlias = ReadPath | WritePath | RunCommand | Fetch | CallServer | Spawn | Harmless


@value
class Offered:
    """A tool together with what its calls would do."""

    tool: AgentTool
    actions: Callable[[JsonObject], tuple[Action, ...]]
    """What a call with these arguments would do: everything, or it is not asked about. Arguments that the tool refuses
    give `(Harmless(),)`. Raises nothing for what a model wrote, and touches nothing."""
