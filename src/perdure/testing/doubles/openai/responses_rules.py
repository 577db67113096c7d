"""The rules of the Responses API and of its compact endpoint, as one table.

It knows items and how they pair. It must never know what they cost. Texts are those of recorded error bodies; where
only the fact is known, a comment says "unverified".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.testing.doubles.openai.asked import (
    Asked,
    OpenAIRefused,
    Rule,
    below,
    invalid_value,
    kind_of,
    missing,
    unknown,
)
from perdure.testing.doubles.shape import Body, bodies, body_of, names, number

_FIELDS = names(
    "access_programs background background_options context_management conversation image include input "
    "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning "
    "safety_identifier service_tier store stream stream_options temperature text tool_choice tools "
    "top_logprobs top_p truncation user"
)
_COMPACT_FIELDS = names(
    "image input instructions model previous_response_id prompt_cache_key prompt_cache_options "
    "prompt_cache_retention service_tier"
)
# Fields per type: those that must be there, those that may.
_ITEMS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "message": (frozenset({"role", "content"}), frozenset({"type", "id", "status", "phase"})),
    "function_call": (
        frozenset({"call_id", "name", "arguments"}),
        frozenset({"type", "id", "status", "caller", "namespace"}),
    ),
    "function_call_output": (frozenset({"call_id", "output"}), frozenset({"type", "id", "status", "caller"})),
    "custom_tool_call": (
        frozenset({"call_id", "name", "input"}),
        frozenset({"type", "id", "status", "caller", "namespace"}),
    ),
    "custom_tool_call_output": (frozenset({"call_id", "output"}), frozenset({"type", "id", "status", "caller"})),
    "reasoning": (frozenset({"summary"}), frozenset({"type", "id", "status", "encrypted_content", "content"})),
    "compaction": (frozenset({"encrypted_content"}), frozenset({"type", "id", "created_by"})),
    "compaction_trigger": (frozenset[str](), frozenset({"type"})),
    "item_reference": (frozenset({"id"}), frozenset({"type"})),
}
_OTHER_ITEMS = names(
    "additional_tools apply_patch_call apply_patch_call_output code_interpreter_call computer_call "
    "computer_call_output file_search_call image_generation_call local_shell_call local_shell_call_output "
    "mcp_approval_request mcp_approval_response mcp_call mcp_list_tools shell_call shell_call_output "
    "tool_search_call tool_search_output web_search_call"
)
"""Known types whose fields are not looked at here."""

_ROLES = ["assistant", "system", "developer", "user"]
_CALLS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_FOLLOWS_REASONING = frozenset({"function_call", "custom_tool_call", "reasoning", "compaction"})


def _check_fields(asked: Asked) -> Iterator[OpenAIRefused]:
    for name in asked.body:
        if name not in _FIELDS:
            yield unknown(name)


def _check_compact_fields(asked: Asked) -> Iterator[OpenAIRefused]:
    for name in asked.body:
        if name not in _COMPACT_FIELDS:
            yield unknown(name)
    if not asked.items:
        yield missing("input")  # unverified: the endpoint needs something to compact


def _check_items(asked: Asked) -> Iterator[OpenAIRefused]:
    for i, item in enumerate(asked.items):
        kind = kind_of(item)
        if kind not in _ITEMS:
            if kind not in _OTHER_ITEMS:
                yield invalid_value(f"input[{i}]", kind, sorted(_ITEMS.keys() | _OTHER_ITEMS))
            continue
        required, optional = _ITEMS[kind]
        for name in sorted(required):
            if item.get(name) is None:
                yield missing(f"input[{i}].{name}")
        for name in item:
            if name not in required | optional:
                yield unknown(f"input[{i}].{name}")
        if kind == "message":
            yield from _check_message(i, item)


def _check_message(i: int, item: Body) -> Iterator[OpenAIRefused]:
    role = item.get("role")
    if role not in _ROLES:
        yield invalid_value(f"input[{i}]", role, _ROLES)
    supported = ["output_text", "refusal"] if role == "assistant" else ["input_text", "input_image", "input_file"]
    for j, part in enumerate(bodies(item.get("content"))):
        if part.get("type") not in supported:
            yield invalid_value(f"input[{i}].content[{j}]", part.get("type"), supported)


def _check_unique(asked: Asked) -> Iterator[OpenAIRefused]:
    seen: set[str] = set()
    for item in asked.items:
        if isinstance(name := item.get("id"), str) and kind_of(item) != "item_reference":
            if name in seen:
                yield OpenAIRefused(
                    f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.",
                    param="input",
                )
            seen.add(name)


def _check_pairs(asked: Asked) -> Iterator[OpenAIRefused]:
    made: dict[str, set[str]] = {call: set() for call in _CALLS.values()}
    for item in asked.items:
        kind, call = kind_of(item), str(item.get("call_id"))
        if kind in made:
            made[kind].add(call)
        if kind in _CALLS and call not in made[_CALLS[kind]]:
            what = kind.replace("_", " ")
            yield OpenAIRefused(f"No tool call found for {what} with call_id {call}.", param="input")
    answered = {str(item.get("call_id")) for item in asked.items if kind_of(item) in _CALLS}
    for item in asked.items:
        if kind_of(item) in made and (call := str(item.get("call_id"))) not in answered:
            yield OpenAIRefused(f"No tool output found for {kind_of(item).replace('_', ' ')} {call}.", param="input")


def _check_reasoning(asked: Asked) -> Iterator[OpenAIRefused]:
    items = asked.items
    present = {item.get("id") for item in items if kind_of(item) == "reasoning"}
    for i, item in enumerate(items):
        kind = kind_of(item)
        if kind == "reasoning":
            after = items[i + 1] if i + 1 < len(items) else {}
            said = kind_of(after) == "message" and after.get("role") == "assistant"
            if not said and kind_of(after) not in _FOLLOWS_REASONING | _OTHER_ITEMS:
                yield OpenAIRefused(
                    f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
                    param="input",
                )
        needed = asked.reasoned.get(str(item.get("id")))
        if needed is not None and needed not in present:
            yield OpenAIRefused(
                f"Item '{item.get('id')}' of type '{kind}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                param="input",
            )


def _check_encrypted(asked: Asked) -> Iterator[OpenAIRefused]:
    for item in asked.items:
        sealed = item.get("encrypted_content")
        if kind_of(item) not in {"reasoning", "compaction"}:
            continue
        if sealed is None:
            if kind_of(item) == "reasoning" and item.get("id") not in asked.stored:
                yield OpenAIRefused(
                    f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false. "
                    "Try again with `store` set to true, or remove this item from your input.",
                    param="input",
                    status=404,
                )
            continue
        opened = asked.seal.open(sealed)
        name = f"for item {item['id']} " if item.get("id") else ""
        reason = ""
        if opened is None or opened.get("kind") != kind_of(item):
            reason = "Encrypted content could not be decrypted or parsed."
        elif opened.get("organization") != asked.organization:
            reason = "Encrypted content organization_id did not match the target organization."
        if reason:
            yield OpenAIRefused(
                f"The encrypted content {name}could not be verified. Reason: {reason}", code="invalid_encrypted_content"
            )


def _check_compaction(asked: Asked) -> Iterator[OpenAIRefused]:
    for i, item in enumerate(asked.items[:-1]):
        if kind_of(item) == "compaction_trigger":
            # The fact is in the SDK's types; the text is unverified.
            yield OpenAIRefused(
                "Invalid 'input': an item of type 'compaction_trigger' must be the final input item.",
                param=f"input[{i}]",
                code="invalid_value",
            )
    for i, entry in enumerate(bodies(asked.body.get("context_management"))):
        if entry.get("type") != "compaction":
            yield invalid_value(f"context_management[{i}].type", entry.get("type"), ["compaction"])
        for name in entry.keys() - {"type", "compact_threshold"}:
            yield unknown(f"context_management[{i}].{name}")
        threshold = number(entry.get("compact_threshold"))
        if threshold is not None and threshold < 1_000:  # the minimum is unverified
            yield below(f"context_management[{i}].compact_threshold", 1_000, threshold)


def _check_limits(asked: Asked) -> Iterator[OpenAIRefused]:
    limit = number(asked.body.get("max_output_tokens"))
    if limit is not None and limit < 16:
        yield below("max_output_tokens", 16, limit)
    if limit is not None and limit > asked.model.max_output:
        yield OpenAIRefused(
            f"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= {asked.model.max_output}, "
            f"but got {limit} instead.",
            param="max_output_tokens",
            code="integer_above_max_value",
        )
    for name in ("temperature", "top_p"):
        if asked.model.reasons and asked.body.get(name) is not None:
            yield OpenAIRefused(f"Unsupported parameter: '{name}' is not supported with this model.", param=name)
    if asked.body.get("truncation") not in {None, "auto", "disabled"}:
        yield invalid_value("truncation", asked.body.get("truncation"), ["auto", "disabled"])


def check_cache_settings(asked: Asked) -> Iterator[OpenAIRefused]:
    """The cache's options exist for this model. The texts are unverified."""
    retention = asked.body.get("prompt_cache_retention")
    if retention is not None:
        supported = ["24h"] if asked.model.long_retention_only else ["in_memory", "24h"]
        if retention not in supported:
            yield invalid_value("prompt_cache_retention", retention, supported)
    options = body_of(asked.body.get("prompt_cache_options"))
    if options and not asked.model.bills_cache_writes:
        yield OpenAIRefused(
            "Unsupported parameter: 'prompt_cache_options' is not supported with this model.",
            param="prompt_cache_options",
            code="unsupported_parameter",
        )
    if options.get("mode") not in {None, "implicit", "explicit"}:
        yield invalid_value("prompt_cache_options.mode", options.get("mode"), ["implicit", "explicit"])
    if options.get("ttl") not in {None, "30m", "12h"}:
        yield invalid_value("prompt_cache_options.ttl", options.get("ttl"), ["30m", "12h"])


def _check_tools(asked: Asked) -> Iterator[OpenAIRefused]:
    for i, tool in enumerate(bodies(asked.body.get("tools"))):
        if tool.get("type") is None:
            yield missing(f"tools[{i}].type")
        if tool.get("type") == "function" and not isinstance(tool.get("name"), str):
            yield missing(f"tools[{i}].name")


_SHARED: tuple[Rule, ...] = (
    Rule(name="items are known and whole", check=_check_items),
    Rule(name="ids of items are unique", check=_check_unique),
    Rule(name="encrypted content is ours", check=_check_encrypted),
    Rule(name="reasoning is followed by what it led to", check=_check_reasoning),
    Rule(name="calls and outputs pair up", check=_check_pairs),
    Rule(name="the cache's options are known", check=check_cache_settings),
)
RESPONSES_RULES: tuple[Rule, ...] = (
    Rule(name="parameters are known", check=_check_fields),
    *_SHARED,
    Rule(name="compaction is asked for legally", check=_check_compaction),
    Rule(name="limits and sampling are legal", check=_check_limits),
    Rule(name="tools are whole", check=_check_tools),
)
COMPACT_RULES: tuple[Rule, ...] = (Rule(name="parameters are known", check=_check_compact_fields), *_SHARED)
