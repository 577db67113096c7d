"""Cache diagnostics: why a request could not go on from an earlier one.

It knows hashes of earlier requests by message id. It must never look into the cache: the real one compares requests.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import Asked
from perdure.testing.doubles.anthropic.prompt import count_block
from perdure.testing.doubles.anthropic.thinking import unmarked
from perdure.testing.doubles.shape import Body, body_of, content_blocks, digest


@value
class Fingerprint:
    """What is kept of a request: no text of it."""

    model: str
    tools: str
    system: str
    messages: tuple[tuple[str, int], ...]
    """Digest and tokens per message."""
    others: str
    """Settings that affect the prompt."""


def fingerprint(asked: Asked) -> Fingerprint:
    """Take the fingerprint of a request."""
    body = asked.body
    others = [body.get(name) for name in ("thinking", "tool_choice", "speed", "context_management", "output_config")]
    return Fingerprint(
        model=asked.model.name,
        tools=digest([unmarked(tool) for tool in asked.tools]),
        system=digest([unmarked(block) for block in asked.system]),
        messages=tuple(_message(message) for message in asked.messages),
        others=digest(others, sorted(asked.betas)),
    )


def diagnose(asked: Asked, known: Mapping[str, Fingerprint]) -> Body | None:
    """The `diagnostics` of a response; None where the request compares with nothing."""
    previous = body_of(asked.body.get("diagnostics")).get("previous_message_id")
    if previous is None:
        return None
    before = known.get(str(previous))
    if before is None:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    reason = _reason(before, fingerprint(asked))
    return None if reason is None else {"cache_miss_reason": reason}


def _reason(before: Fingerprint, now: Fingerprint) -> Body | None:
    common = 0
    for old, new in zip(before.messages, now.messages, strict=False):
        if old[0] != new[0]:
            break
        common += 1
    whole = sum(tokens for _, tokens in before.messages)
    if before.model != now.model:
        return {"type": "model_changed", "cache_missed_input_tokens": whole}
    if before.system != now.system:
        return {"type": "system_changed", "cache_missed_input_tokens": whole}
    if before.tools != now.tools:
        return {"type": "tools_changed", "cache_missed_input_tokens": whole}
    if common < len(before.messages):
        return {
            "type": "messages_changed",
            "cache_missed_input_tokens": sum(tokens for _, tokens in before.messages[common:]),
        }
    return {"type": "unavailable"} if before.others != now.others else None


def _message(message: Body) -> tuple[str, int]:
    blocks = content_blocks(message.get("content"))
    return digest(message.get("role"), [unmarked(block) for block in blocks]), sum(count_block(b) for b in blocks)
