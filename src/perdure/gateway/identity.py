"""Which conversation a request belongs to: told by what it says, since no client says it.

It knows what clients change from one request to the next without meaning anything by it. It must never know what is
kept of a conversation. Raw bytes are no identity: most clients write `messages` before `system`, move cache marks, turn
a block of text into bare text, and put a line for billing in front of the system prompt (measured on eight clients,
2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import Json, JsonObject, Mark, Ttl, encode_json, kind_of
from perdure.kernel.wire import Dialect

BILLING = "x-anthropic-billing-header:"
"""Begins the first system block of Claude Code 2.1; what follows differs between sessions and after compaction."""

SESSION_HEADERS = (
    "x-claude-code-agent-id",
    "x-claude-code-parent-agent-id",
    "x-claude-code-session-id",
    "perdure-conversation",
)
"""Tell apart what interleaves; the last is for clients that want to say it themselves."""

MARK = "cache_control"


def normal(items: Sequence[Json], dialect: Dialect) -> tuple[list[JsonObject], tuple[Mark, ...]]:
    """Items without cache marks, with bare text for a single block of it, and those marks by item.

    Raises:
        CallRefused: an item is no object.
    """
    plain: list[JsonObject] = []
    marks: list[Mark] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise CallRefused(f"messages.{index}: an object is needed, not {kind_of(item)}")
        content = item.get("content")
        if dialect != "anthropic" or not isinstance(content, list):
            plain.append(item)
            continue
        for block in content:
            if isinstance(block, dict) and MARK in block:
                content = _lifted(content, index, marks)
                break
        plain.append(_as_text(item, content))
    return plain, tuple(marks)


def _lifted(content: list[Json], index: int, marks: list[Mark]) -> list[Json]:
    """Blocks without their marks, which are kept."""
    for place, block in enumerate(content):
        if isinstance(block, dict) and MARK in block:
            marks.append(Mark(part="messages", index=index, block=place, ttl=_ttl(block[MARK])))
    return [_unmarked(block) for block in content]


def _as_text(item: JsonObject, content: list[Json]) -> JsonObject:
    """An item with this content; bare text for a single block of nothing else."""
    if len(content) == 1:
        match content[0]:
            case {"type": "text", "text": str(text), **more} if not more and text:
                return {**item, "content": text}
            case _:
                pass
    return item if content is item["content"] else {**item, "content": content}


def _ttl(mark: Json) -> Ttl | None:
    match mark:
        case {"ttl": "1h"}:
            return "1h"
        case {"ttl": "5m"}:
            return "5m"
        case _:
            return None


def seed_of(dialect: Dialect, model: str, headers: Mapping[str, str]) -> bytes:
    """What a conversation begins with before its first message."""
    told = [headers.get(name, "") for name in SESSION_HEADERS]
    return blake2b("\0".join([dialect, model, *told]).encode("utf-8", "replace"), digest_size=20).digest()


def extend(last: bytes, items: Iterable[JsonObject]) -> list[bytes]:
    """The hash at the end of each item: a chain, so that an equal hash means an equal history."""
    hashes: list[bytes] = []
    for item in items:
        last = blake2b(last + encode_json(item), digest_size=20).digest()
        hashes.append(last)
    return hashes


def prefix_of(body: Mapping[str, Json]) -> list[Json]:
    """Tools and system as far as they make a difference: without marks, deferred tools and the line for billing."""
    tools = body.get("tools")
    stable: list[Json] = [
        _unmarked(tool)
        for tool in (tools if isinstance(tools, list) else [])
        if not (isinstance(tool, dict) and tool.get("defer_loading") is True)
    ]
    system = body.get("system", body.get("instructions"))
    blocks: list[Json] = system if isinstance(system, list) else [system]
    told = [_unmarked(block) for block in blocks if not _is_billing(block)]
    return [stable, told]


def prefix_hash(prefix: list[Json]) -> str:
    """The name of a prefix."""
    return blake2b(encode_json(prefix), digest_size=12).hexdigest()


def _unmarked(value: Json) -> Json:
    return {name: item for name, item in value.items() if name != MARK} if isinstance(value, dict) else value


def _is_billing(block: Json) -> bool:
    return isinstance(block, dict) and str(block.get("text", "")).startswith(BILLING)
