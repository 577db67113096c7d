"""What Anthropic does itself when asked: context editing, compaction, memory tool, tool search, counting.

It knows the fields and which model offers them. It must never decide when to use one: in a session either we clear or
the provider does, never both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from perdure.kernel.agent import Ask, Failure
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Compaction, Extra, Json, JsonObject, Message, Response, Tool, Usage
from perdure.kernel.models import ModelProfile, NativeFeature
from perdure.kernel.value import value
from perdure.kernel.wire import ANTHROPIC
from perdure.providers.http_model import HttpModel

LEAST_TRIGGER = 50_000
"""Tokens; a lower trigger of threshold compaction is a 400 (Anthropic, compaction page, 2026-09)."""

LONGEST_INSTRUCTIONS = 16_384
"""Characters of the instructions of a compaction on demand (Anthropic, 2026-09)."""

MEMORY_TOOL = Tool(name="memory", extra=Extra(dialect="anthropic", fields=(("type", "memory_20250818"),)))
"""The typed memory tool; the client runs its commands. No beta is needed."""


@value
class Native:
    """What the provider is asked to do by itself with every request."""

    edits: tuple[JsonObject, ...] = ()
    """Context editing, in Anthropic's words; `clear_thinking_20251015` is put first, as it must be."""
    compact_at: int | None = None
    """Threshold compaction: input tokens at which the provider summarises. The engine must not fold then."""
    instructions: str | None = None
    """Replaces the provider's own prompt for that summary."""
    diagnostics: bool = False
    """Ask why the cache was missed."""

    def check(self, profile: ModelProfile) -> None:
        """Whether the model offers all this.

        Raises:
            InvalidSetting: it does not, or a figure is out of its range.
        """
        needed: dict[str, NativeFeature] = {
            "clear_tool_uses_20250919": "clear_tool_uses",
            "clear_thinking_20251015": "clear_thinking",
        }
        for edit in self.edits:
            feature = needed.get(str(edit.get("type")))
            if feature is not None and not profile.offers(feature):
                raise InvalidSetting(f"{profile.id!r} does not offer {edit.get('type')!r}; leave that edit out")
        if self.compact_at is not None and not profile.offers("threshold_compaction"):
            raise InvalidSetting(f"{profile.id!r} does not compact at a threshold; leave `compact_at` out")
        if self.compact_at is not None and self.compact_at < LEAST_TRIGGER:
            raise InvalidSetting(f"compact_at is {self.compact_at}; the provider takes {LEAST_TRIGGER} or more")

    def params(self, previous: str | None) -> JsonObject:
        """The fields of a request."""
        edits: list[Json] = [edit for edit in self.edits if edit.get("type") == "clear_thinking_20251015"]
        edits += [edit for edit in self.edits if edit not in edits]
        if self.compact_at is not None:
            edit: JsonObject = {
                "type": "compact_20260112",
                "trigger": {"type": "input_tokens", "value": self.compact_at},
            }
            edits.append(edit | ({"instructions": self.instructions} if self.instructions else {}))
        params: JsonObject = {"context_management": {"edits": edits}} if edits else {}
        if self.diagnostics:
            params["diagnostics"] = {"previous_message_id": previous}
        return params


def deferred(tool: Tool) -> Tool:
    """The same tool, kept out of the prompt until a search finds it."""
    extra = tool.extra or Extra(dialect="anthropic")
    return replace(tool, extra=replace(extra, fields=(*extra.fields, ("defer_loading", True))))


def tool_search(kind: Literal["regex", "bm25"] = "bm25") -> Tool:
    """The provider's own search over deferred tools."""
    name = f"tool_search_tool_{kind}"
    return Tool(name=name, extra=Extra(dialect="anthropic", fields=(("type", f"{name}_20251119"),)))


async def count_tokens(model: HttpModel, ask: Ask) -> int | Failure:
    """The provider's own count of a request; free, and it refuses what a call would refuse."""
    request = model.request(ask)
    left_out = {"max_tokens", "stream", "diagnostics", "metadata"}
    params = {name: value for name, value in request.params.items() if name not in left_out}
    request = replace(request, params=params)
    answer = await model.post(
        "/v1/messages/count_tokens", ANTHROPIC.encode_request(request), model.api.headers(request)
    )
    if isinstance(answer, Failure):
        return answer
    counted = answer.get("input_tokens")
    return counted if isinstance(counted, int) else Failure(kind="server", message="the count has no `input_tokens`")


@value
class Compacted:
    """What a compaction on demand gave."""

    message: Message
    """Stands first in every later request, in the place of the messages that it summarises; unchanged."""
    usage: Usage | None
    response: Response


async def compact(model: HttpModel, ask: Ask, instructions: str = "") -> Compacted | Failure:
    """Have the provider summarise the messages of this question; nothing else is sampled.

    The messages must still fit the window and must not end in an unanswered call. What follows the last of them may
    stay behind the block, unchanged.

    Raises:
        InvalidSetting: the model does not offer it, or the instructions are too long.
    """
    if not model.profile.offers("on_demand_compaction"):
        raise InvalidSetting(f"{model.profile.id!r} does not compact on demand; use the engine's own checkpoint")
    if len(instructions) > LONGEST_INSTRUCTIONS:
        raise InvalidSetting(f"the instructions have {len(instructions)} characters; at most {LONGEST_INSTRUCTIONS}")
    wish: JsonObject = {"type": "summarize"}
    if instructions.strip():
        wish["instructions"] = instructions
    request = model.request(ask)
    # Refused together with a compaction (Anthropic, compaction page, 2026-09).
    left_out = {"stream", "context_management", "stop_sequences", "diagnostics"}
    params = {name: value for name, value in request.params.items() if name not in left_out}
    request = replace(request, params={**params, "compaction": wish})
    answer = await model.post("/v1/messages", ANTHROPIC.encode_request(request), model.api.headers(request))
    if isinstance(answer, Failure):
        return answer
    response = ANTHROPIC.decode_response(answer)
    if not any(isinstance(block, Compaction) for block in response.message.content):
        reason = response.message.stop_reason
        return Failure(kind="invalid", message=f"no summary came; the call ended with {reason!r}", code=reason or "")
    return Compacted(message=response.message, usage=response.message.usage, response=response)
