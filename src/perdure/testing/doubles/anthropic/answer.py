"""From a script's turn to a response: blocks with ids and signatures, cut where the limits are, with usage.

It knows the form of a response. It must never decide whether a request is legal.
"""

from __future__ import annotations

import re

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import THRESHOLD, Asked
from perdure.testing.doubles.anthropic.cache import Billed
from perdure.testing.doubles.anthropic.prompt import count_block
from perdure.testing.doubles.anthropic.thinking import Prefix, mark_of_thinking, sign
from perdure.testing.doubles.counting import first_tokens
from perdure.testing.doubles.script import Call, Raw, Say, Think, Turn
from perdure.testing.doubles.shape import Body, body_of, digest, items, number


@value
class Room:
    """How much may come out."""

    max_tokens: int
    window: int
    """Tokens of the window that the prompt leaves."""

    @property
    def tokens(self) -> int:
        """What both limits leave."""
        return min(self.max_tokens, self.window)

    @property
    def reason(self) -> str:
        """Why output ends that does not fit."""
        return "max_tokens" if self.max_tokens <= self.window else "model_context_window_exceeded"


@value
class Sampled:
    """What one sampling gave."""

    content: list[Body]
    stop_reason: str
    stop_sequence: str | None
    output_tokens: int


@value
class Seed:
    """What the ids and signatures of a response are made from, so that equal tests see equal bytes."""

    prefix: Prefix
    thinking: tuple[str, ...]
    """Digests of the thinking that the request holds."""
    serial: int


def sample(asked: Asked, turn: Turn, room: Room, seed: Seed) -> Sampled:
    """Make the content of a response."""
    blocks = _blocks(asked, turn, seed)
    stop = turn.stop_reason or ("tool_use" if any(b.get("type") == "tool_use" for b in blocks) else "end_turn")
    blocks, sequence = _until_stop_sequence(blocks, items(asked.body.get("stop_sequences")))
    if sequence is not None:
        stop = "stop_sequence"
    tokens = sum(count_block(block) for block in blocks)
    if tokens > room.tokens:
        blocks, tokens, stop = _cut(blocks, room.tokens), room.tokens, room.reason
    return Sampled(content=blocks, stop_reason=stop, stop_sequence=sequence, output_tokens=max(1, tokens))


@value
class Summed:
    """What a compaction sampling gave."""

    summary: str | None
    stop_reason: str
    """`compaction`, or why there is no summary."""
    output_tokens: int


def summed(turn: Turn, room: Room) -> Summed:
    """Read a summary out of a turn. A call, a refusal, too long a text or none at all give no summary."""
    text = "".join(part.text for part in turn.parts if isinstance(part, Say)).strip()
    thought = "".join(part.text for part in turn.parts if isinstance(part, Think))
    tokens = count_block({"type": "text", "text": text}) + count_block({"type": "text", "text": thought})
    if tokens > room.tokens:
        return Summed(summary=None, stop_reason=room.reason, output_tokens=room.tokens)
    if turn.stop_reason and turn.stop_reason != "end_turn":
        return Summed(summary=None, stop_reason=turn.stop_reason, output_tokens=tokens)
    if any(isinstance(part, Call) for part in turn.parts):
        return Summed(summary=None, stop_reason="tool_use", output_tokens=tokens)
    inner = re.search(r"<summary>(.*?)</summary>", text, re.DOTALL)
    summary = (inner.group(1) if inner else text).strip()
    return Summed(summary=summary or None, stop_reason="compaction" if summary else "end_turn", output_tokens=tokens)


def iteration(kind: str, billed: Billed, output_tokens: int, model: object = None) -> Body:
    """One entry of `usage.iterations`."""
    entry: Body = {"type": kind, **billed.usage(), "output_tokens": output_tokens}
    return {**entry, "model": model} if kind == "message" else entry


def usage(asked: Asked, iterations: list[Body], *, compacted: bool) -> Body:
    """The usage object: its top level leaves compaction out (Anthropic, threshold compaction, 2026-10)."""
    counted = [entry for entry in iterations if entry["type"] == "message"]
    if not counted:
        top: Body = {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 0,
        }
    else:
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        top = {name: sum(int(entry[name]) for entry in counted) for name in names}
        top["cache_creation"] = {
            name: sum(int(entry["cache_creation"][name]) for entry in counted)
            for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
        }
    if compacted or THRESHOLD in asked.betas:
        top["iterations"] = iterations
    top["service_tier"] = "standard"
    return top


def room_of(asked: Asked, prompt_tokens: int) -> Room:
    """What the request leaves for output."""
    limit = number(asked.body.get("max_tokens")) or 0
    return Room(max_tokens=limit, window=max(0, asked.model.window - prompt_tokens))


def _blocks(asked: Asked, turn: Turn, seed: Seed) -> list[Body]:
    blocks: list[Body] = []
    before = seed.thinking
    for place, part in enumerate(turn.parts):
        match part:
            case Say():
                blocks.append({"type": "text", "text": part.text})
            case Think():
                if asked.thinks:
                    block = _thought(asked, seed, before, part)
                    before = (*before, mark_of_thinking(block))
                    blocks.append(block)
            case Call():
                made = f"toolu_{digest('call', seed.prefix.chain, seed.serial, place)[:24]}"
                blocks.append(
                    {"type": "tool_use", "id": part.id or made, "name": part.name, "input": dict(part.arguments)}
                )
            case Raw():
                blocks.append(part.block)
    return blocks


def _thought(asked: Asked, seed: Seed, before: tuple[str, ...], part: Think) -> Body:
    if part.redacted:
        return {"type": "redacted_thinking", "data": sign(asked, seed.prefix, before, part.text)}
    shown = "" if body_of(asked.body.get("thinking")).get("display") == "omitted" else part.text
    return {"type": "thinking", "thinking": shown, "signature": sign(asked, seed.prefix, before, shown)}


def _until_stop_sequence(blocks: list[Body], sequences: list[object]) -> tuple[list[Body], str | None]:
    for i, block in enumerate(blocks):
        text = str(block.get("text", ""))
        found = [(text.index(s), s) for s in sequences if isinstance(s, str) and s and s in text]
        if block.get("type") == "text" and found:
            at, sequence = min(found)
            kept = [{**block, "text": text[:at]}] if at else []
            return [*blocks[:i], *kept], sequence
    return blocks, None


def _cut(blocks: list[Body], tokens: int) -> list[Body]:
    """The start of the content that fits. A cut call keeps its place with an empty input: it must not be run."""
    kept: list[Body] = []
    for block in blocks:
        size = count_block(block)
        if size <= tokens:
            kept.append(block)
            tokens -= size
            continue
        if block.get("type") == "text" and (start := first_tokens(str(block.get("text")), tokens)):
            kept.append({**block, "text": start})
        elif block.get("type") == "tool_use" and tokens > 0:
            kept.append({**block, "input": {}})
        break
    return kept
