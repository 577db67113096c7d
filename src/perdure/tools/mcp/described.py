"""A server's tools as definitions that may stand in a request: named safely, bounded and cleaned.

It knows that a server may say anything: names that collide or steer a terminal, a description of a megabyte, a schema
without an end. It must never know a connection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256

from perdure.guard.plain import clip, one_line
from perdure.kernel.messages import Json, JsonObject, Tool, encode_json
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

LONGEST_NAME = 64
"""Characters of a tool's name that every provider takes (OpenAI, function calling, 2026; Anthropic takes more)."""
MOST_TOOLS = 200
"""Tools of a server that are looked at."""
DESCRIPTION = 1_500
"""Characters of a description."""
WORDS = 400
"""Characters of a text inside a schema."""
SCHEMA = 9_000
"""Bytes of a schema: with its description it stays below what is reduced as it enters the view (4,000 tokens)."""
DEPTH = 16
INSTRUCTIONS = 2_000
"""Characters of what a server says about itself."""

_OTHER = pattern(r"[^A-Za-z0-9_-]")
_CONTROL = pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What cannot be seen or turns the direction of writing: hidden orders to a model travel in these."""
_TAGS = pattern("[\U000e0000-\U000e007f]")
"""Unicode's invisible copy of ASCII."""


@value
class Remote:
    """A tool of a server."""

    server: str
    tool: str
    """The server's own name for it."""
    definition: Tool
    """Under a name that no other tool has."""


def remotes_of(server: str, listed: Sequence[JsonObject]) -> tuple[Remote, ...]:
    """The tools of a list that can be called, by name. What has no name, or one that came already, is left out."""
    found: dict[str, Remote] = {}
    for each in listed[:MOST_TOOLS]:
        tool = each.get("name")
        if isinstance(tool, str) and tool and len(tool) <= 512:
            name = name_of(server, tool)
            found.setdefault(name, Remote(server=server, tool=tool, definition=_definition(name, server, each)))
    return tuple(found[name] for name in sorted(found))


def name_of(server: str, tool: str) -> str:
    """`mcp__server__tool`. Whatever had to be changed to make it a name leaves a hash of the original behind, so that
    no two tools share one, in whatever order they come."""
    plain = _OTHER.sub("_", tool)
    whole = f"mcp__{server}__{plain}"
    if plain == tool and len(whole) <= LONGEST_NAME:
        return whole
    digest = sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{whole[: LONGEST_NAME - 9]}_{digest}"


def cleaned(text: str) -> str:
    """The same text without what cannot be seen."""
    return _TAGS.sub("", _CONTROL.sub("", text.replace("\r\n", "\n")))


def instructions_of(text: str) -> str:
    """What a server says about itself, as it may be told."""
    return clip(cleaned(text).strip(), INSTRUCTIONS)


def _definition(name: str, server: str, given: JsonObject) -> Tool:
    said = given.get("description")
    description = clip(cleaned(said).strip(), DESCRIPTION) if isinstance(said, str) else ""
    schema, whole = _schema(given.get("inputSchema"))
    notes = [f"[of the MCP server {server}]", description or one_line(clip(str(given.get("title") or ""), 200))]
    if not whole:
        notes.append("[Its schema was too large to show: give the arguments that its description names.]")
    return Tool(name=name, description=" ".join(note for note in notes if note), schema=schema)


def _schema(given: Json) -> tuple[JsonObject, bool]:
    """A schema that is an object's, and whether it is what the server gave."""
    if not isinstance(given, dict):
        return {"type": "object", "properties": {}}, given is None
    for words in (WORDS, 80, 0):
        made = _within(given, DEPTH, words)
        if isinstance(made, dict) and len(encode_json(made)) <= SCHEMA:
            return {**made, "type": "object"}, True
    return {"type": "object"}, False


def _within(given: Json, depth: int, words: int) -> Json:
    """The same value, not deeper than this, its texts cleaned and cut."""
    match given:
        case str():
            return cleaned(given)[: max(words, 80)]
        case float() if not math.isfinite(given):
            return None
        case dict() if depth:
            kept = ((key, value) for key, value in given.items() if words or key not in ("description", "title"))
            return {cleaned(key)[:200]: _within(value, depth - 1, words) for key, value in kept}
        case list() if depth:
            return [_within(value, depth - 1, words) for value in given]
        case dict() | list():
            return {}
        case _:
            return given
