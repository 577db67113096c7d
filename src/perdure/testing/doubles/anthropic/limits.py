"""Rules on `max_tokens`, on sampling parameters and on warming the cache.

It knows numbers and the fields beside them. It must never count tokens: what does not fit is found with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.testing.doubles.anthropic.asked import Asked
from perdure.testing.doubles.shape import bodies, body_of, number


def check_max_tokens(asked: Asked) -> Iterator[str]:
    """The output limit is the model's at most, and above the thinking budget."""
    limit = number(asked.body.get("max_tokens"))
    if limit is None or asked.counting:
        return
    if limit > asked.model.max_output:
        yield (
            f"max_tokens: {limit} > {asked.model.max_output}, which is the maximum allowed number of output tokens for "
            f"{asked.body.get('model')}"
        )
    budget = number(body_of(asked.body.get("thinking")).get("budget_tokens"))
    if budget is not None and budget < 1_024:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    if budget is not None and 0 < limit <= budget:
        yield (
            "`max_tokens` must be greater than `thinking.budget_tokens`. "
            "Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
        )


def check_warming(asked: Asked) -> Iterator[str]:
    """`max_tokens: 0` samples nothing, so nothing that needs sampling goes with it. The wordings are unverified."""
    body = asked.body
    if number(body.get("max_tokens")) != 0:
        return
    if body.get("stream") is True:
        yield "max_tokens: 0 is not supported with `stream`"
    if body_of(body.get("thinking")).get("type") == "enabled":
        yield "max_tokens: 0 is not supported with `thinking.type: enabled`"
    if body_of(body.get("output_config")).get("format") is not None:
        yield "max_tokens: 0 is not supported with `output_config.format`"
    if (kind := body_of(body.get("tool_choice")).get("type")) in {"any", "tool"}:
        yield f"max_tokens: 0 is not supported with `tool_choice.type: {kind}`"
    if asked.compacting:
        yield "max_tokens: 0 is not supported with `compaction`"


def check_sampling(asked: Asked) -> Iterator[str]:
    """Newer models take no sampling parameters."""
    if not asked.model.accepts_sampling:
        for name in ("temperature", "top_p", "top_k"):
            if asked.body.get(name) is not None:
                yield f"`{name}` is deprecated for this model."


def check_media(asked: Asked) -> Iterator[str]:
    """At most 600 images and documents, 100 where the window is 200k. Pages count really; the wording is unverified."""
    blocks = [block for *_, block in asked.blocks()]
    nested = [part for block in blocks for part in bodies(block.get("content"))]
    count = sum(1 for block in [*blocks, *nested] if block.get("type") in {"image", "document"})
    if count > (limit := 100 if asked.model.window <= 200_000 else 600):
        yield f"messages: too many images and documents: {count} > {limit}"


def check_effort(asked: Asked) -> Iterator[str]:
    """The effort is one of the known ones."""
    effort = body_of(asked.body.get("output_config")).get("effort")
    if effort not in {None, "low", "medium", "high", "xhigh", "max"}:
        yield "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
