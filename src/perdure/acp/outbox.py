"""Updates on their way to the editor: in their order, one after another, pieces of one text together.

It knows when two updates say the same as one. It must never drop one while the editor is there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from acp.helpers import text_block
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

Update: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)

TOGETHER = 8_000
"""Characters of a text that are sent as one."""


class Outbox:
    """The updates of one session."""

    def __init__(self, send: Callable[[Update], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[Update] = deque()
        self._some, self._none = asyncio.Event(), asyncio.Event()
        self._none.set()
        self._gone = False

    def put(self, update: Update) -> None:
        """Send this once what was put before is sent."""
        if self._gone:
            return
        joined = _together(self._waiting[-1], update) if self._waiting else None
        if joined is not None:
            self._waiting[-1] = joined
        else:
            self._waiting.append(update)
        self._none.clear()
        self._some.set()

    async def flush(self) -> None:
        """Wait until everything is sent, or nobody is there to send it to."""
        await self._none.wait()

    async def run(self) -> None:
        """Send, until cancelled; then nobody waits any more."""
        try:
            while True:
                await self._some.wait()
                while self._waiting:
                    await self._one(self._waiting.popleft())
                self._some.clear()
                self._none.set()
        finally:
            self._gone = True
            self._none.set()

    async def _one(self, update: Update) -> None:
        if self._gone:
            return
        try:
            await self._send(update)
        except OSError:
            # A broken pipe, or a connection that was closed: what happens from here on stands in the session alone.
            self._gone = True


def _together(last: Update, update: Update) -> Update | None:
    """Two updates as one; None where they stay two."""
    match last, update:
        case (
            AgentMessageChunk(content=TextContentBlock(text=before)),
            AgentMessageChunk(content=TextContentBlock(text=after)),
        ) if len(before) < TOGETHER:
            return AgentMessageChunk(session_update="agent_message_chunk", content=text_block(before + after))
        case (
            AgentThoughtChunk(content=TextContentBlock(text=before)),
            AgentThoughtChunk(content=TextContentBlock(text=after)),
        ) if len(before) < TOGETHER:
            return AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(before + after))
        case (UsageUpdate(), UsageUpdate()):
            return update
        case _:
            return None
