"""What a call asks for beyond an answer, and who is to do it.

It knows the fields by which clients ask for context editing and compaction (Anthropic, 2026-09; OpenAI, 2026-11), their
defaults, and which combinations are refused. It must never do anything about them.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.gateway.call import ITEMS, Call
from perdure.gateway.own_tools import RECALL_TOOL
from perdure.gateway.seal import is_ours
from perdure.kernel.context import EditingRule, editing_rules
from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import Json, JsonObject, Tool, kind_of
from perdure.kernel.models import ModelProfile, NativeFeature
from perdure.kernel.value import value
from perdure.tools.memory import FOR_ANTHROPIC, FOR_ANY_MODEL

LEAST_TRIGGER = 50_000
"""Tokens; a lower trigger of `compact_20260112` is a 400 (Anthropic, threshold compaction, 2026-09)."""

USUAL_TRIGGER = 150_000
"""Tokens (the same)."""

LEAST_THRESHOLD = 1_000
"""Tokens of OpenAI's `compact_threshold`."""

LONGEST_INSTRUCTIONS = 16_384
"""Characters (Anthropic, on-demand compaction, 2026-09)."""

_FEATURES: dict[str, NativeFeature] = {
    "clear_tool_uses_20250919": "clear_tool_uses",
    "clear_thinking_20251015": "clear_thinking",
    "compact_20260112": "threshold_compaction",
}


@value
class Threshold:
    """Compaction once a request has so many tokens."""

    trigger: int
    pause: bool = False
    """Whether the answer ends behind the block."""
    instructions: str = ""
    """In the place of our own words to the summarizer."""


@value
class Wish:
    """What the gateway has to do for a call."""

    rules: tuple[EditingRule, ...] = ()
    edits: bool = False
    """Whether the client asked for edits, and so hears which were applied."""
    threshold: Threshold | None = None
    summarize: str | None = None
    """Instructions of a compaction that was asked for; empty for our own; None where none was."""
    blocks: bool = False
    """Whether a compaction block of ours stands among the messages."""
    auto: bool = False
    tools: tuple[Tool, ...] = ()
    """Of our own, to be offered."""

    @property
    def nothing(self) -> bool:
        """Whether the call can go on as it came."""
        return not (
            self.edits or self.threshold or self.summarize is not None or self.blocks or self.auto or self.tools
        )


def wish_of(call: Call) -> Wish:
    """What a call wishes of the gateway.

    Raises:
        CallRefused: fields that the provider refuses, too.
        InvalidSetting: an edit that does not exist, or a parameter out of range.
    """
    server_held = call.body.get("thread") is not None or call.body.get("previous_response_id") is not None
    auto = call.auto and not server_held and call.action != "compact"
    if call.dialect == "chat":
        return Wish(auto=auto, tools=_tools(call, auto))
    if call.dialect == "responses":
        return _openai(call, auto)
    if server_held and call.auto:
        # The SDKs replay the whole history then and go on without a thread (SDK 2.14).
        raise CallRefused("thread: the history has to come with each request here", code="thread_unsupported_request")
    return _anthropic(call, auto)


def _anthropic(call: Call, auto: bool) -> Wish:
    managed = call.body.get("context_management")
    given = managed.get("edits") if isinstance(managed, dict) else None
    edits = _objects(given) if given is not None else []
    profile = call.profile
    ours = [edit for edit in edits if auto or not _native(call, profile, edit)]
    light = [edit for edit in ours if edit.get("type") != "compact_20260112"]
    folds = [edit for edit in ours if edit.get("type") == "compact_20260112"]
    demanded = call.body.get("compaction")
    demanded = None if call.action == "count" or _left(call, profile, "on_demand_compaction") else demanded
    return Wish(
        rules=editing_rules(light, keeps_thinking=profile.thinking.kept == "all"),
        edits=bool(light),
        threshold=_threshold(folds[0]) if folds and call.action == "create" else None,
        summarize=_instructions(call, demanded) if demanded is not None else None,
        blocks=call.may_hold_blocks and any(_ours(block) for block in blocks_of(call.body)),
        auto=auto,
        tools=_tools(call, auto),
    )


def _native(call: Call, profile: ModelProfile, edit: JsonObject) -> bool:
    feature = _FEATURES.get(str(edit.get("type")))
    return feature is not None and _left(call, profile, feature)


def _left(call: Call, profile: ModelProfile, feature: NativeFeature) -> bool:
    """Whether a feature is left to the upstream.

    Raises:
        CallRefused: it should be, and the upstream does not have it.
    """
    can = not call.translated and profile.offers(feature)
    if call.route.native == "only" and not can:
        raise CallRefused(f"this route leaves context management to its upstream, which does not offer {feature!r}")
    return call.route.native != "never" and can


def _threshold(edit: JsonObject) -> Threshold:
    trigger, pause, words = edit.get("trigger"), edit.get("pause_after_compaction"), edit.get("instructions")
    unknown = edit.keys() - {"type", "trigger", "pause_after_compaction", "instructions"}
    if unknown:
        raise CallRefused(f"context_management.edits: compact_20260112 has no field {min(unknown)!r}")
    match trigger:
        case None:
            value = USUAL_TRIGGER
        case {"type": "input_tokens", "value": int(value)} if not isinstance(value, bool):
            pass
        case _:
            raise CallRefused("context_management.edits: trigger has to be an object of the type input_tokens")
    if value < LEAST_TRIGGER:
        raise CallRefused(f"context_management.edits: trigger.value has to be at least {LEAST_TRIGGER}")
    if not isinstance(words, str | None):
        raise CallRefused(f"context_management.edits: instructions has to be a string, not {kind_of(words)}")
    return Threshold(trigger=value, pause=pause is True, instructions=words or "")


def _instructions(call: Call, demanded: Json) -> str:
    """The instructions of a compaction on demand, which stands alone."""
    if not isinstance(demanded, dict) or demanded.get("type") != "summarize":
        raise CallRefused("compaction.type: Input should be 'summarize'")
    if unknown := demanded.keys() - {"type", "instructions"}:
        raise CallRefused(f"compaction.{min(unknown)}: Extra inputs are not permitted")
    words = demanded.get("instructions") or ""
    if not isinstance(words, str) or len(words) > LONGEST_INSTRUCTIONS:
        raise CallRefused(f"compaction.instructions: String should have at most {LONGEST_INSTRUCTIONS} characters")
    config, choice = call.body.get("output_config"), call.body.get("tool_choice")
    forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    formed = isinstance(config, dict) and config.get("format") is not None
    unfit = {
        "context_management": call.body.get("context_management") is not None,
        "stop_sequences": bool(call.body.get("stop_sequences")),
        "output_config.format": formed,
        "tool_choice": forced,
    }
    for name, present in unfit.items():
        if present:
            raise CallRefused(f"compaction: `{name}` cannot be combined with `compaction`")
    return words.strip()


def _openai(call: Call, auto: bool) -> Wish:
    items = call.body.get("input")
    last = items[-1] if isinstance(items, list) and items else None
    asked = isinstance(last, dict) and last.get("type") == "compaction_trigger"
    left = _left(call, call.profile, "response_compaction") if asked or call.body.get("context_management") else False
    threshold = None if left else _compact_threshold(call.body.get("context_management"))
    return Wish(
        threshold=threshold,
        summarize="" if asked and not left else None,
        blocks=any(_ours(item) for item in _objects(items if isinstance(items, list) else [])),
        auto=auto,
        tools=_tools(call, auto),
    )


def _compact_threshold(managed: Json) -> Threshold | None:
    if managed is None:
        return None
    for entry in _objects(managed):
        value = entry.get("compact_threshold")
        if entry.get("type") != "compaction":
            raise CallRefused("context_management: the only type is 'compaction'")
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < LEAST_THRESHOLD:
            raise CallRefused(f"context_management: compact_threshold has to be an integer from {LEAST_THRESHOLD} on")
        return Threshold(trigger=value)
    return None


def blocks_of(body: JsonObject) -> list[JsonObject]:
    """All blocks of all messages of a body of Anthropic's."""
    items = body.get(ITEMS["anthropic"])
    blocks: list[JsonObject] = []
    for item in items if isinstance(items, list) else []:
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, list):
            blocks.extend(block for block in content if isinstance(block, dict))
    return blocks


def _ours(block: JsonObject) -> bool:
    return block.get("type") == "compaction" and (
        is_ours(block.get("signature")) or is_ours(block.get("encrypted_content"))
    )


def _tools(call: Call, auto: bool) -> tuple[Tool, ...]:
    """Our own tools. One that the client declares by the same name is the client's; and of several answers to one
    request, each would go another way."""
    if call.action == "compact" or call.translated or call.body.get("n") not in (None, 1):
        return ()
    anthropic = call.route.dialect == "anthropic" and call.profile.offers("memory_tool")
    wanted = (
        *((RECALL_TOOL,) if auto and call.route.recall else ()),
        *((FOR_ANTHROPIC if anthropic else FOR_ANY_MODEL,) if call.route.memory else ()),
    )
    return tuple(tool for tool in wanted if tool.name not in _declared(call.body))


def _declared(body: JsonObject) -> set[str]:
    tools = body.get("tools")
    names: set[str] = set()
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            inner = tool.get("function")
            names.add(str(tool.get("name") or (inner.get("name") if isinstance(inner, dict) else "")))
    return names


def _objects(value: Json | Sequence[Json]) -> list[JsonObject]:
    if not isinstance(value, list):
        raise CallRefused(f"context_management.edits: a list is needed, not {kind_of(value)}")
    return [item for item in value if isinstance(item, dict)]
