"""Compaction as clients know it: blocks that stand for what came before them.

It knows where blocks may stand, how they are signed, and the codes of what is wrong with them (Anthropic, threshold and
on-demand compaction, 2026-09; OpenAI, compaction guide, 2026-11). It must never know who writes a summary.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.gateway.call import Call
from perdure.gateway.seal import Seal, is_ours
from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import Json, JsonObject, Message, typed_texts
from perdure.kernel.wire import Dialect

OPENING, CLOSING = "<context-summary>", "</context-summary>"


def unfolded(call: Call, seal: Seal, items: Sequence[Json]) -> list[Json]:
    """The items that a model reads: the last block of ours as a message, and what follows it.

    Raises:
        CallRefused: a block is not where it has to be, or not as it was given.
    """
    if not call.may_hold_blocks:
        return list(items)
    if call.dialect == "responses":
        return _from_item(call, seal, items)
    places = [
        (i, j, block) for i, item in enumerate(items) for j, block in enumerate(_content(item)) if _is_block(block)
    ]
    if not places:
        return list(items)
    _check(call, seal, items, places)
    told = [(i, j, block) for i, j, block in places if block.get("content") is not None]
    if not told:
        return [_without(item) for item in items if _content(_without(item)) or isinstance(_text(item), str)]
    i, j, block = told[-1]
    rest = [inner for inner in _content(items[i])[j + 1 :] if not _is_block(inner)]
    holder = items[i]
    kept: list[Json] = [*rest]
    behind: list[Json] = []
    if kept and isinstance(holder, dict):
        behind.append({**holder, "content": kept})
    return [summary_item(str(block["content"]), "anthropic"), *behind, *items[i + 1 :]]


def _check(call: Call, seal: Seal, items: Sequence[Json], places: Sequence[tuple[int, int, JsonObject]]) -> None:
    signed = [place for place in places if place[2].get("signature") is not None]
    if signed and sum(1 for *_, block in places if block.get("content") is not None) > 1:
        raise CallRefused(
            "messages: more than one `compaction` block with content was provided", code="compaction_block_ambiguous"
        )
    owner = call.caller.principal
    for i, j, block in places:
        where, text = f"messages.{i}.content.{j}", block.get("content")
        if text is None:
            continue
        if not isinstance(text, str) or not text:
            raise CallRefused(f"{where}: `content` cannot be an empty string")
        if block.get("signature") is not None and (i, j) != (0, 0):
            raise CallRefused(
                f"{where}: the `compaction` block must be the first block of the conversation",
                code="compaction_block_misplaced",
            )
        purpose = "on_demand" if block.get("signature") is not None else "threshold"
        word = block.get("signature") if purpose == "on_demand" else block.get("encrypted_content")
        if not isinstance(word, str) or not is_ours(word):
            raise CallRefused(
                f"{where}: Invalid `signature` in `compaction` block", code="compaction_signature_invalid"
            )
        if not seal.holds(owner, purpose, text, word):
            raise CallRefused(
                f"{where}: the `compaction` block differs from the one that was signed for this caller",
                code="compaction_content_mismatch",
            )


def check_complete(items: Sequence[Json]) -> None:
    """There is something to summarise, and no call is open.

    Raises:
        CallRefused: there is not, or one is.
    """
    said = [item for item in items if isinstance(item, dict) and item.get("role") in ("user", "assistant")]
    if not said:
        raise CallRefused(
            "compaction: `messages` holds no user or assistant content to summarize",
            code="compaction_nothing_to_summarize",
        )
    last = said[-1]
    if last.get("role") == "assistant" and any(block.get("type") == "tool_use" for block in _content(last)):
        raise CallRefused(
            "compaction: the last assistant turn ends in a tool call without a result",
            code="compaction_incomplete_turn",
        )


def summary_item(text: str, dialect: Dialect) -> JsonObject:
    """A summary as the model reads it."""
    told = f"{OPENING}\n{text}\n{CLOSING}"
    if dialect == "responses":
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": told}]}
    return {"role": "user", "content": told}


def with_last_words(summary: str, messages: Sequence[Message]) -> str:
    """A summary with what the user said last, whole: it has to survive, whatever a model made of it."""
    typed = ["\n".join(text.text for text in typed_texts(message)) for message in messages]
    said = next((text for text in reversed(typed) if text), "")
    return f"{summary}\n\nThe user's last message, whole:\n{said}" if said and said not in summary else summary


def threshold_block(seal: Seal, call: Call, text: str) -> JsonObject:
    """A block of threshold compaction; without a text it says that compaction failed."""
    word = seal.sign(call.caller.principal, "threshold", text) if text else None
    return {"type": "compaction", "content": text or None, "encrypted_content": word}


def signed_block(seal: Seal, call: Call, text: str) -> JsonObject:
    """A block of on-demand compaction."""
    return {
        "type": "compaction",
        "content": text,
        "signature": seal.sign(call.caller.principal, "on_demand", text),
    }


def opaque_item(seal: Seal, call: Call, text: str) -> JsonObject:
    """OpenAI's item."""
    return {
        "type": "compaction",
        "id": f"cmp_{call.id}",
        "encrypted_content": seal.carry(call.caller.principal, text),
    }


def block_events(block: JsonObject) -> tuple[JsonObject, ...]:
    """The events of a block at position 0: a signed one comes whole, another in one delta."""
    start: JsonObject = {"type": "content_block_start", "index": 0, "content_block": block}
    stop: JsonObject = {"type": "content_block_stop", "index": 0}
    if "signature" in block:
        return start, stop
    late = {name: block[name] for name in ("content", "encrypted_content")}
    start = {**start, "content_block": {"type": "compaction", "content": None, "encrypted_content": None}}
    delta: JsonObject = {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", **late}}
    return start, delta, stop


def _from_item(call: Call, seal: Seal, items: Sequence[Json]) -> list[Json]:
    """OpenAI: everything before the newest item may be left out, and the user's messages may stand before it."""
    places = [place for place, item in enumerate(items) if isinstance(item, dict) and _is_block(item)]
    kept = [item for item in items if not (isinstance(item, dict) and item.get("type") == "compaction_trigger")]
    if not places:
        return kept
    item = items[places[-1]]
    word = item.get("encrypted_content") if isinstance(item, dict) else None
    text = seal.carried(call.caller.principal, word) if isinstance(word, str) and is_ours(word) else None
    if text is None:
        raise CallRefused(
            f"input.{places[-1]}: the encrypted content could not be verified", code="invalid_encrypted_content"
        )
    before = [item for item in items[: places[-1]] if isinstance(item, dict) and not _is_block(item)]
    # A window that the endpoint made begins with all that the user said, which stays; a history that goes on begins
    # with more than that, and the summary stands for it.
    made = all(item.get("role") in ("user", "system", "developer") for item in before)
    head = [item for item in before if made or item.get("role") in ("system", "developer")]
    return [*head, summary_item(text, "responses"), *kept[places[-1] + 1 :]]


def _is_block(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "compaction"


def _content(item: Json) -> list[JsonObject]:
    content = item.get("content") if isinstance(item, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(item: Json) -> Json:
    return item.get("content") if isinstance(item, dict) else None


def _without(item: Json) -> Json:
    if not isinstance(item, dict) or not isinstance(item.get("content"), list):
        return item
    return {**item, "content": [block for block in _content(item) if not _is_block(block)]}
