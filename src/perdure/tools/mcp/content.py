"""What a server answered to a call, as blocks for the model: bounded, and each by its kind.

It knows the kinds of content of the protocol. It must never trust one: a picture is one only where its data is base64
of a size that a provider takes, and what cannot be shown is named with its size.
"""

from __future__ import annotations

import base64
import binascii
import math

from perdure.guard.plain import clip, one_line
from perdure.kernel.messages import Block, Image, Json, JsonObject, Text, encode_json, text_of

TEXT = 256 * 1024
"""Characters of all texts of an answer. What the model sees of it is reduced again, and the rest can be recalled."""
TAIL = 16 * 1024
"""Characters of them that come from the end of a text that is cut."""
PICTURES = 10
PICTURE = 5 * 1024 * 1024
"""Characters of a picture's base64 (Anthropic, vision, 2026-10: 5 MB of base64)."""
ITEMS = 200
"""Pieces of content that are looked at."""
KINDS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Pictures that every provider takes."""


def blocks_of(result: JsonObject) -> tuple[Block, ...]:
    """The answer as blocks; never empty."""
    content = result.get("content")
    items = content if isinstance(content, list) else []
    blocks: list[Block] = []
    room, pictures = TEXT, 0
    for item in items[:ITEMS]:
        block = _block(item)
        if isinstance(block, Image):
            pictures += 1
            if pictures > PICTURES:
                block = Text(text="[a picture more than are shown]")
        if isinstance(block, Text):
            block = Text(text=_cut(block.text, room))
            room -= len(block.text)
        blocks.append(block)
    if len(items) > ITEMS:
        blocks.append(Text(text=f"[{len(items) - ITEMS} more pieces left out]"))
    structured = result.get("structuredContent")
    if structured is not None and not text_of(tuple(blocks)).strip():
        blocks.append(Text(text=_cut(encode_json(_finite(structured)).decode(), room)))
    return tuple(block for block in blocks if not isinstance(block, Text) or block.text) or (Text(text="(no output)"),)


def _block(item: Json) -> Block:
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(text=_whole(text))
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return _picture(data, kind)
        case {"type": "audio", "data": str(data)}:
            return Text(text=f"[a sound of some {len(data) * 3 // 4:,} bytes, which cannot be heard here]")
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return Text(text=f"[{_named(uri)}]\n{_whole(text)}")
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), "mimeType": str(kind)}}:
            picture = _picture(blob, kind) if kind in KINDS else None
            return picture or Text(text=f"[{_named(uri)}: {one_line(kind[:80])}, some {len(blob) * 3 // 4:,} bytes]")
        case {"type": "resource", "resource": {"uri": str(uri)}}:
            return Text(text=f"[{_named(uri)}: not shown]")
        case {"type": "resource_link", "uri": str(uri)}:
            said = item.get("description") or item.get("name")
            return Text(text=f"[{_named(uri)}{f': {one_line(clip(said, 300))}' if isinstance(said, str) else ''}]")
        case _:
            return Text(text="[a piece of a kind that cannot be shown]")


def _picture(data: str, kind: str) -> Block:
    if kind not in KINDS:
        return Text(text=f"[a picture of the kind {one_line(kind[:80])!r}, which cannot be shown]")
    if len(data) > PICTURE:
        return Text(text=f"[a picture of some {len(data) * 3 // 4:,} bytes, too large to be shown]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Text(text="[a picture whose data is damaged]")
    return Image(source={"type": "base64", "media_type": kind, "data": data})


def _cut(text: str, room: int) -> str:
    room = max(0, room)
    if len(text) <= room:
        return text
    note = (
        f"\n[{len(text) - room:,} of {len(text):,} characters left out, which is beyond what is kept; ask for less]\n"
    )
    tail = min(TAIL, room // 4)
    return text[: room - tail] + note + (text[-tail:] if tail > 0 else "")


def _whole(text: str) -> str:
    """Half of a surrogate pair is no character that a request can hold."""
    return text.encode("utf-8", "replace").decode()


def _named(uri: str) -> str:
    return f"resource {one_line(clip(uri, 300))}"


def _finite(given: Json) -> Json:
    match given:
        case float() if not math.isfinite(given):
            return None
        case str():
            return _whole(given)
        case dict():
            return {_whole(key): _finite(value) for key, value in given.items()}
        case list():
            return [_finite(value) for value in given]
        case _:
            return given
