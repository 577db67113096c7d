"""The host of an agent that nobody keeps: messages and originals stay in memory.

It knows what a host has to do. It must never know a file: a session brings a host of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.context import Answer, InMemory, Need
from perdure.kernel.messages import Message


class MemoryHost:
    """Keeps a conversation in memory, and what left the view with it."""

    def __init__(self) -> None:
        self.kept = InMemory()

    async def perform(self, need: Need) -> Answer:
        """What needs no model."""
        return self.kept.perform(need)

    async def record(self, messages: Sequence[Message]) -> None:
        """The agent holds its transcript."""
