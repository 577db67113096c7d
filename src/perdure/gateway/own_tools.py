"""Tools that the gateway carries out itself: recall and memory.

It knows who is asking and of which conversation. It must never raise for what a model wrote: whatever is wrong comes
back as a result that says so. Where the store does not answer, memory fails and says so; nothing is made up.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio.to_thread

from perdure.archive import Recalled
from perdure.gateway.state import Found, StateStore
from perdure.guard import Guard
from perdure.kernel.errors import InvalidJson, StoreUnreachable
from perdure.kernel.messages import Json, JsonObject, Tool, ToolResult, ToolUse
from perdure.kernel.messages.persist import block_from_json, message_from_json
from perdure.kernel.value import value
from perdure.memory import Commands, MemoryStore, Principal
from perdure.tools.memory import MemoryTool
from perdure.tools.recall import RECALL, matches, page, wanted_of

LISTED = 50
"""Handles of one list."""

RECALL_TOOL = Tool(name=RECALL.name, description=RECALL.description, schema=RECALL.schema)


@value
class OwnTools:
    """What the gateway carries out in one call."""

    owner: Principal
    names: frozenset[str]
    state: StateStore
    memory: MemoryStore | None
    guard: Guard

    async def call(self, use: ToolUse, family: str) -> ToolResult:
        """The result of a call; `family` names the conversation's originals."""
        try:
            if use.name == RECALL.name:
                text = await recall(self.state, self.owner, family, use)
            else:
                return await self._remember(use)
        except (InvalidJson, StoreUnreachable) as error:
            return ToolResult(tool_use_id=use.id, content=f"Error: {error}", is_error=True)
        return ToolResult(tool_use_id=use.id, content=text)

    async def _remember(self, use: ToolUse) -> ToolResult:
        if self.memory is None:
            return ToolResult(tool_use_id=use.id, content="Error: there is no memory here", is_error=True)
        tool = MemoryTool(commands=Commands(store=self.memory, principal=self.owner, guard=self.guard))
        return await anyio.to_thread.run_sync(tool.call, use)


async def recall(state: StateStore, owner: Principal, family: str, use: ToolUse) -> str:
    """The answer to a call of the recall tool.

    Raises:
        InvalidJson: a parameter is wrong.
        StoreUnreachable: the store failed.
    """
    wanted = wanted_of(use)
    if not wanted.handle:
        words = wanted.words.split()
        return _listed(await state.originals(owner, family, words, LISTED), words)
    kept = await state.original(owner, family, wanted.handle)
    if kept is None:
        return f"There is nothing under {wanted.handle!r}. Call without parameters for the handles that there are."
    found = _recalled(wanted.handle, kept)
    return matches(found, wanted.pattern) if wanted.pattern else page(found, wanted.lines, wanted.from_character)


def _listed(found: list[Found], words: list[str]) -> str:
    if not found:
        return "Nothing that left holds these words." if words else "Nothing has left this conversation."
    return "\n".join(f"{one.handle}  {one.what}  ({one.tokens} tokens)" for one in found)


def _recalled(handle: str, kept: Mapping[str, Json]) -> Recalled:
    content, messages, tokens = kept.get("content"), kept.get("messages"), kept.get("tokens")
    return Recalled(
        handle=handle,
        message_id=str(kept.get("message_id", "")),
        what=str(kept.get("what", "")),
        tokens=tokens if isinstance(tokens, int) else 0,
        time=0.0,
        content=tuple(block_from_json(block) for block in _objects(content)),
        messages=tuple(message_from_json(message) for message in _objects(messages)),
    )


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
