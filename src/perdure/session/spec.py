"""What a session is made of: values and ports that whoever opens one hands in.

It knows shapes. It must never open anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import tzinfo
from pathlib import Path

from perdure.archive import Archive
from perdure.guard import Guard, SecretGuard
from perdure.kernel.agent import AgentTool, Bounds, Model
from perdure.kernel.agent import Guard as StopGuard
from perdure.kernel.context import Settings
from perdure.kernel.messages import Message, Tool, Transcript
from perdure.kernel.value import value
from perdure.project import Opening
from perdure.tools.seen import Seen
from perdure.tools.subagent import Ports


def wall_clock() -> float:
    """Unix seconds."""
    # The edge is where the time comes from.
    return time.time()  # noqa: TID251


def no_overlays() -> Mapping[str, str]:
    """Nothing beside the usual parts."""
    return {}


def no_tools() -> Sequence[Tool]:
    """No tool that arrived late."""
    return ()


def not_planning() -> bool:
    """No plan mode."""
    return False


@value
class Bench:
    """What a session lends to its tools."""

    session: str
    """Its id."""
    archive: Archive
    """Originals of what left the view."""
    seen: Seen
    """Which files the model knows."""
    kept: Path
    """A folder of this session, for its owner alone."""
    transcript: Callable[[], Transcript]
    """Every message so far."""
    view: Sequence[Message]
    """What the model was last shown, where a session goes on; empty for a new one."""
    clock: Callable[[], float]
    agents: Ports
    """Makes subagents."""


@value
class Spec:
    """What a session is made of."""

    model: Model
    opening: Opening
    """The working directory, read: system blocks, git snapshot, places."""
    tools: Callable[[Bench], Sequence[AgentTool]]
    """Makes the tools, permissions and hooks included; called once when a session is opened."""
    settings: Settings = field(default_factory=Settings)
    """Of the context engine."""
    bounds: Bounds = field(default_factory=Bounds)
    """Of each run."""
    roots: tuple[Path, ...] = ()
    """Folders beside the project that may be worked in."""
    guard: Guard = field(default_factory=SecretGuard)
    """Keeps secrets out of checkpoints, session memory and search."""
    summarizer: Model | None = None
    """Writes summaries and session memory; None: the model itself."""
    answer_tokens: int = 32_000
    tell_memory: bool = True
    """Whether MEMORY.md is told, and topics with what is typed."""
    session_memory: bool = True
    """Whether notes of the session are kept in the background."""
    background: bool = False
    """Whether checkpoints are prepared while the agent works."""
    stop_guards: tuple[StopGuard, ...] = ()
    overlays: Callable[[], Mapping[str, str]] = no_overlays
    """Further parts by key, such as what an MCP server says of itself."""
    late_tools: Callable[[], Sequence[Tool]] = no_tools
    """Tools that arrived late and are told as a part."""
    planning: Callable[[], bool] = not_planning
    """Whether only a plan is wanted."""
    open_todos: Callable[[], Sequence[str]] = tuple
    """The texts of todos that are not completed."""
    retold: Callable[[Sequence[Message], Sequence[Message], str, float | None], Sequence[Message]] = (
        lambda _messages, _tail, _checkpoint, _now: ()
    )
    """What tools want told again behind a checkpoint, given the whole conversation, the tail, the checkpoint's id and
    the time: the bodies of skills."""
    rewound: Callable[[Transcript], None] = lambda _transcript: None
    """Told after a rewind what is left of the conversation, for tools that keep a state, such as todos."""
    before_compaction: Callable[[str], None] | None = None
    after_compaction: Callable[[str], None] | None = None
    clock: Callable[[], float] = wall_clock
    zone: tzinfo | None = None
    """Of the dates that are told; None: UTC."""

    @property
    def folder(self) -> Path:
        """Where the sessions of this project are."""
        return self.opening.places.kept / "sessions"
