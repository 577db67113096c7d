"""An answer that its own provider would not take back, made one that it does.

It knows which parts of an answer are refused in the next request. It must never touch an answer that is whole: such a
one goes back equal, and as the same value. Streams that lost an event, servers that number their calls anew in each
answer, and models that write no JSON give the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import (
    Block,
    Compaction,
    JsonObject,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    decode_json,
)
from perdure.kernel.wire import Dialect


def mended(message: Message, dialect: Dialect, used: set[str]) -> Message | None:
    """The answer as it may go back; None where nothing of it can. Ids of its calls are added to those `used`."""
    blocks = [_callable(block, used) if isinstance(block, ToolUse) else block for block in message.content]
    match dialect:
        case "anthropic":
            kept = acceptable(blocks)
        case "responses":
            # "Item of type 'reasoning' was provided without its required following item" (OpenAI, 2026).
            kept = _without_last_thinking(blocks)
        case _:
            kept = tuple(blocks)
    if not kept:
        return None
    same = len(kept) == len(message.content) and all(map(_same, kept, message.content))
    return message if same else replace(message, content=kept)


def acceptable(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """What Anthropic takes back (thinking guide and errors page, 2026-08): no blank text, no thinking without a
    signature, none behind a call, and none at the end."""
    kept: list[Block] = []
    called = False
    for block in blocks:
        called = called or isinstance(block, ToolUse)
        match block:
            case Text(text=text) if not text or text.isspace():
                continue
            case Thinking(signature=signature) if not signature or called:
                continue
            case RedactedThinking() if called:
                continue
            case _:
                kept.append(block)
    return _without_last_thinking(kept)


def _without_last_thinking(blocks: Sequence[Block]) -> tuple[Block, ...]:
    end = len(blocks)
    while end and isinstance(blocks[end - 1], Thinking | RedactedThinking):
        end -= 1
    return tuple(blocks[:end])


def arguments_of(call: ToolUse) -> JsonObject | None:
    """The arguments; None where the model wrote no JSON object."""
    if call.raw_input is None:
        return call.input
    if not call.raw_input.strip():
        return {}
    try:
        value = decode_json(call.raw_input)
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None


def is_free(call: ToolUse) -> bool:
    """Whether the call is of a tool that takes any text (OpenAI, custom tools): it has no arguments to be mended."""
    return call.extra is not None and call.extra.get("type") in ("custom_tool_call", "custom")


def continues(message: Message) -> bool:
    """Whether the provider can go on from the end of this answer: after a server tool, or right after a compaction."""
    last = message.content[-1] if message.content else None
    return isinstance(last, ServerToolUse | ServerToolResult | Compaction)


def _callable(call: ToolUse, used: set[str]) -> ToolUse:
    """The call under an id that no other has, with arguments that are an object where the dialect needs them."""
    identity, number = call.id or "call", 1
    while identity in used:
        number += 1
        identity = f"{call.id or 'call'}_{number}"
    used.add(identity)
    if identity != call.id:
        call = replace(call, id=identity)
    unfit = arguments_of(call) is None and not is_free(call)
    return replace(call, input={}, raw_input=None) if unfit else call


def _same(one: Block, other: Block) -> bool:
    return one is other
