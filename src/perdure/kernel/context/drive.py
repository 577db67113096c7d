"""The two thin drivers: they perform what an entry yields, through a host's ports.

They know which port answers which request. They must never decide anything: there is one engine, and no synchronous and
asynchronous twins of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Protocol, TypeVar

from perdure.kernel.context.ports import (
    Answer,
    Append,
    Archive,
    Done,
    Failed,
    Need,
    Original,
    ReadSessionMemory,
    Refused,
    Reply,
    Restore,
    Restored,
    Rewritten,
    SessionMemory,
    Summarize,
)

T = TypeVar("T")


class Ports(Protocol):
    """What a host performs, synchronously."""

    def perform(self, need: Need) -> Answer:
        """Do one thing and say how it went. May block within the host's own bound; a failure is an answer."""
        ...


class AsyncPorts(Protocol):
    """What a host performs, asynchronously."""

    def perform(self, need: Need) -> Awaitable[Answer]:
        """Do one thing and say how it went. A failure is an answer; cancellation leaves the engine as it was."""
        ...


def drive(entry: Generator[Need, Answer, T], ports: Ports) -> T:
    """Run an entry to its result."""
    try:
        need = next(entry)
        while True:
            need = entry.send(ports.perform(need))
    except StopIteration as stop:
        return stop.value


async def drive_async(entry: Generator[Need, Answer, T], ports: AsyncPorts) -> T:
    """Run an entry to its result, awaiting each request."""
    try:
        need = next(entry)
        while True:
            need = entry.send(await ports.perform(need))
    except StopIteration as stop:
        return stop.value


class InMemory:
    """Ports that need nothing: an archive in memory, no model, no session memory.

    With it alone the engine works offline; a host overrides what it can do better.
    """

    def __init__(self) -> None:
        self.archive: dict[str, Original] = {}
        """Every original that left a view, by its handle."""
        self.events: list[Rewritten] = []

    def perform(self, need: Need) -> Answer:
        """Keep originals and events; answer everything else with what there is without a model."""
        match need:
            case Archive(originals=originals):
                for original in originals:
                    # The first copy is the original: a later edit on the same target evicts an edited one.
                    self.archive.setdefault(original.handle, original)
                return Done()
            case Append():
                return Done()
            case Summarize():
                return self.summarize(need)
            case ReadSessionMemory():
                return self.session_memory()
            case Restore():
                return self.restore(need)
            case Rewritten():
                self.events.append(need)
                return Done()

    def summarize(self, ask: Summarize) -> Reply | Failed | Refused:
        """No model; which is no failure of one."""
        return Refused(reason="no model is set up for summaries")

    def session_memory(self) -> SessionMemory | Failed:
        """No session memory."""
        return Failed(reason="there is no session memory")

    def restore(self, ask: Restore) -> Restored:
        """Nothing to tell again."""
        return Restored()
