"""What a session tells beside the events of its loop.

It knows values. It must never know who listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from perdure.kernel.agent import Event
from perdure.kernel.value import value


@value
class SubagentHeard:
    """Something happened in a subagent."""

    name: ClassVar[str] = "subagent"
    number: int
    event: Event


SessionEvent: TypeAlias = Event | SubagentHeard

Listener: TypeAlias = Callable[[SessionEvent], None]
"""Hears every event, in order, at once. May not raise and may not block."""
