"""Compaction blocks of both kinds: how they are made, and when one is refused.

It knows seals and places. It must never sample: the summary is handed in. On-demand blocks carry a `signature`,
threshold blocks `encrypted_content` (Anthropic, compaction guides, 2026-09 and 2026-10).
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.testing.doubles.anthropic.asked import TASK_BUDGETS, THRESHOLD, Asked, Refused, coded
from perdure.testing.doubles.anthropic.thinking import Prefix
from perdure.testing.doubles.shape import Body, body_of, content_blocks, digest, number

MAX_INSTRUCTIONS = 16_384
"""Characters."""


def check_request(asked: Asked) -> Iterator[str | Refused]:
    """On-demand compaction stands alone. That these are refused is documented, the wordings are unverified."""
    if not asked.compacting:
        return
    body, compaction = asked.body, body_of(asked.body.get("compaction"))
    if compaction.get("type") != "summarize":
        yield "compaction.type: Input should be 'summarize'"
    for name in compaction.keys() - {"type", "instructions"}:
        yield f"compaction.{name}: Extra inputs are not permitted"
    if len(str(compaction.get("instructions") or "")) > MAX_INSTRUCTIONS:
        yield f"compaction.instructions: String should have at most {MAX_INSTRUCTIONS} characters"
    if not asked.model.compacts_on_demand:
        yield "compaction: this model does not support compaction"
    config = body_of(body.get("output_config"))
    unfit = {
        "context_management": body.get("context_management") is not None,
        "stop_sequences": bool(body.get("stop_sequences")),
        "output_config.format": config.get("format") is not None,
        "tool_choice": body_of(body.get("tool_choice")).get("type") in {"any", "tool"},
        "output_config.task_budget.remaining": TASK_BUDGETS in asked.betas
        and body_of(config.get("task_budget")).get("remaining") is not None,
    }
    for name, present in unfit.items():
        if present:
            yield f"compaction: `{name}` cannot be combined with `compaction`"


def check_something(asked: Asked) -> Iterator[Refused]:
    """There is something to summarise."""
    said = any(
        role in {"user", "assistant"} and block.get("type") != "compaction" for _, _, role, block in asked.blocks()
    )
    if asked.compacting and not said:
        yield coded(
            "compaction_nothing_to_summarize", "compaction: `messages` holds no user or assistant content to summarize"
        )


def check_signed(asked: Asked) -> Iterator[str | Refused]:
    """A signed block is the only one, comes first, and is as it was returned."""
    blocks = [(i, j, r, b) for i, j, r, b in asked.blocks() if b.get("type") == "compaction"]
    if any(b.get("content") == "" for *_, b in blocks):
        yield "compaction: `content` cannot be an empty string"
    signed = [entry for entry in blocks if entry[3].get("signature") is not None]
    if not signed:
        return
    if sum(1 for *_, b in blocks if b.get("content") is not None) > 1:
        yield coded(
            "compaction_block_ambiguous", "messages: more than one `compaction` block with content was provided"
        )
    i, j, role, block = signed[0]
    if (i, j) != (0, 0) or role == "system":
        yield coded(
            "compaction_block_misplaced",
            f"messages.{i}.content.{j}: the `compaction` block must be the first block of the conversation",
        )
    opened = asked.seal.open(block.get("signature"))
    if opened is None or opened.get("kind") != "compaction" or opened.get("workspace") != asked.workspace:
        yield coded(
            "compaction_signature_invalid", f"messages.{i}.content.{j}: Invalid `signature` in `compaction` block"
        )
    elif opened.get("content") != digest(block.get("content")):
        yield coded(
            "compaction_content_mismatch",
            f"messages.{i}.content.{j}: the `compaction` block's `content` differs from the text that was signed",
        )
    elif opened.get("tool_changes") != digest(block.get("tool_changes")):
        yield coded(
            "compaction_tool_changes_mismatch",
            f"messages.{i}.content.{j}: the `compaction` block's `tool_changes` differs from what was returned",
        )
    if asked.threshold_edit is not None:
        yield "context_management: `compact_20260112` cannot be used with a signed `compaction` block"


def check_threshold(asked: Asked) -> Iterator[str]:
    """A threshold block comes back under the beta and the edit that made it, and opens.

    Unverified: that the edit must be declared is a third party's report, that `encrypted_content` is checked a guess.
    """
    for i, j, role, block in asked.blocks():
        if block.get("type") != "compaction" or block.get("signature") is not None:
            continue
        path = f"messages.{i}.content.{j}"
        if THRESHOLD not in asked.betas:
            yield f"{path}: `compaction` is not one of the expected content block types"
        elif asked.threshold_edit is None:
            yield f"{path}: `compaction` blocks require the `compact_20260112` edit in `context_management`"
        if role != "assistant":
            yield f"{path}: `compaction` blocks are only allowed in assistant messages"
        sealed = block.get("encrypted_content")
        if sealed is not None and asked.seal.open(sealed) is None:
            yield f"{path}: Invalid `encrypted_content` in `compaction` block"


def instructions_of(asked: Asked) -> str | None:
    """What the summariser is told instead of the default prompt."""
    source = body_of(asked.body.get("compaction")) if asked.compacting else (asked.threshold_edit or {})
    text = source.get("instructions")
    return text if isinstance(text, str) and text.strip() else None


def trigger_of(asked: Asked) -> int | None:
    """Input tokens at which threshold compaction begins; None if it is not asked for."""
    edit = asked.threshold_edit
    if edit is None:
        return None
    return number(body_of(edit.get("trigger")).get("value")) or 150_000


def signed_block(asked: Asked, prefix: Prefix, summary: str) -> Body:
    """An on-demand block. `tool_changes` comes only to those who can change tools in mid-conversation."""
    return {
        "type": "compaction",
        "content": summary,
        "signature": asked.seal.close(_state(asked, prefix, summary)),
    }


def threshold_block(asked: Asked, prefix: Prefix, summary: str | None) -> Body:
    """A threshold block; without a summary it says that compaction failed."""
    sealed = None if summary is None else asked.seal.close(_state(asked, prefix, summary))
    return {"type": "compaction", "content": summary, "encrypted_content": sealed}


def last_threshold_block(messages: list[Body]) -> tuple[int, int] | None:
    """Where the last threshold block with a summary stands: everything before it is ignored."""
    found: tuple[int, int] | None = None
    for i, message in enumerate(messages):
        for j, block in enumerate(content_blocks(message.get("content"))):
            if block.get("type") == "compaction" and block.get("content") and block.get("signature") is None:
                found = (i, j)
    return found


def _state(asked: Asked, prefix: Prefix, summary: str) -> Body:
    return {
        "kind": "compaction",
        "content": digest(summary),
        "tool_changes": digest(None),
        "workspace": asked.workspace,
        "chain": prefix.chain,
        "role": prefix.role,
        "binds": asked.model.binds_thinking,
    }
