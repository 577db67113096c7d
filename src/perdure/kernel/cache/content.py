"""What a prompt cache sees of a block: a digest of its content, its weight, and whether it may carry a mark.

It knows which parts of a value reach the model. It must never know a dialect's bytes: marks are no content, bare text
and a single text block are the same content, and the order of a wire object's keys is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Extra,
    Image,
    Json,
    JsonObject,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    Weight,
    encode_json,
    weigh_block,
    weigh_tool,
)
from perdure.kernel.value import value

DIGEST = 16
"""Bytes of a digest: enough that no two prefixes of any session ever meet by chance."""


@value
class Seen:
    """One block as the cache sees it: one position of its lookback."""

    digest: bytes
    weight: Weight
    markable: bool
    """Whether it may carry a mark: never thinking, nor on empty text (Anthropic, prompt caching guide, 2026-08)."""
    loads: tuple[str, ...] = ()
    """Deferred tools that it names, whose definitions appear where it stands."""


def seen_in(message: Message) -> tuple[Seen, ...]:
    """The blocks of a message as the cache sees them, computed once and kept with it."""
    return message.keep(seen_in, _seen_in)


def seen_tool(tool: Tool) -> Seen:
    """A tool's definition as the cache sees it."""
    definition: list[Json] = [tool.name, tool.description, tool.schema, _carried(tool.extra)]
    return Seen(digest=_digest("tool", definition), weight=weigh_tool(tool), markable=True)


def seen_system(block: Text | Unknown) -> Seen:
    """A system block as the cache sees it."""
    return _seen("system", block)


def digest_of(*parts: Json) -> bytes:
    """A digest of settings that are part of the prompt."""
    return _digest("settings", list(parts))


def _seen_in(message: Message) -> tuple[Seen, ...]:
    return tuple(_seen(message.role, block) for block in message.content)


def _seen(role: str, block: Block) -> Seen:
    digest, loads = _digest(role, _content(block)), tuple(_loads(block))
    return Seen(digest=digest, weight=weigh_block(block), markable=_markable(block), loads=loads)


def _loads(block: Block) -> Iterator[str]:
    """Names in references: blocks of their own, inside a result, or in the answer of a provider's tool search."""
    match block:
        case ToolReference(tool_name=name):
            yield name
        case ToolResult(content=tuple(parts)):
            for part in parts:
                yield from _loads(part)
        case ServerToolResult(content={"tool_references": list(references)}):
            for reference in references:
                match reference:
                    case {"tool_name": str(name)}:
                        yield name
                    case _:
                        pass
        case _:
            pass


def _markable(block: Block) -> bool:
    match block:
        case Text(text=text):
            return bool(text.strip())
        case Thinking() | RedactedThinking() | ToolReference() | Unknown():
            return False
        case _:
            return True


def _digest(kind: str, content: list[Json]) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST, person=kind.encode()[:16])
    digest.update(encode_json(content))
    return digest.digest()


def _content(block: Block) -> list[Json]:
    match block:
        case Text(text=text):
            told: list[Json] = ["text", text]
        case Thinking(thinking=thinking, signature=signature):
            told = ["thinking", thinking, signature]
        case RedactedThinking(data=data):
            told = ["redacted", data]
        case ToolUse(id=identity, name=name, input=given, raw_input=raw):
            told = ["call", identity, name, given if raw is None else raw]
        case ToolResult(tool_use_id=identity, content=content, is_error=failed):
            told = ["result", identity, bool(failed), *_parts(content)]
        case Image(source=source):
            told = ["image", source]
        case Document(source=source):
            told = ["document", source]
        case Compaction(content=content, encrypted_content=hidden, signature=signature, tool_changes=changes):
            told = ["compaction", content, hidden, signature, changes]
        case ServerToolUse(kind=kind, id=identity, name=name, input=given):
            told = [kind, identity, name, given]
        case ServerToolResult(kind=kind, tool_use_id=identity, content=found):
            told = [kind, identity, found]
        case ToolReference(tool_name=name):
            told = ["reference", name]
        case Unknown(raw=raw):
            return ["unknown", {key: value for key, value in raw.items() if key != "cache_control"}]
    return [*told, _carried(block.extra)]


def _parts(content: str | tuple[Block, ...] | None) -> list[Json]:
    if content is None:
        return []
    if isinstance(content, str):
        return [_content(Text(text=content))]
    return [_content(block) for block in content]


def _carried(extra: Extra | None) -> JsonObject:
    return {key: value for key, value in extra.fields if key != "cache_control"} if extra else {}
