"""Items of OpenAI's that have lost the reasoning which they were made with.

It knows that a server remembers, by their ids, which items it made behind which reasoning, and refuses them without it:
"Item 'msg_...' of type 'message' was provided without its required 'reasoning' item" (OpenAI, 2026). Without an id an
item stands for itself. It must never know why reasoning went.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perdure.kernel.messages import Block, Extra, JsonObject, Text, ToolUse
from perdure.kernel.wire.responses.parts import DIALECT, ITEM


def unpaired(content: Iterable[Block]) -> tuple[Block, ...]:
    """The same blocks without the ids of the items that they came as. Those of another dialect stay as they are."""
    return tuple(map(_unpaired, content))


def _unpaired(block: Block) -> Block:
    match block:
        case ToolUse(extra=Extra(dialect="responses") as extra) if "id" in extra.keys or extra.get("id") is not None:
            return replace(block, extra=_without(extra, "id"))
        case Text(extra=Extra(dialect="responses") as extra):
            item = extra.get(ITEM)
            if not isinstance(item, dict) or "id" not in item:
                return block
            left: JsonObject = {name: value for name, value in item.items() if name != "id"}
            fields = tuple((name, left if name == ITEM else value) for name, value in extra.fields)
            return replace(block, extra=Extra(dialect=DIALECT, fields=fields, keys=extra.keys))
        case _:
            return block


def _without(extra: Extra, name: str) -> Extra:
    return Extra(
        dialect=extra.dialect,
        fields=tuple((key, value) for key, value in extra.fields if key != name),
        keys=tuple(key for key in extra.keys if key != name),
    )
