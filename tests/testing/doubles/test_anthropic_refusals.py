"""What the Messages API refuses: one row per case, each a small change to a request that is accepted."""

from dataclasses import dataclass
from typing import Any

import pytest

from perdure.testing.doubles import ANTHROPIC_HEADERS, Answered, AnthropicDouble, post

Body = dict[str, Any]
EDITING, THRESHOLD, ON_DEMAND = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"
BINDING, CHANGES = "thinking-binding-controls-2026-08-01", "mid-conversation-tool-changes-2026-07-01"
HOUR, SHORT = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}

USER: Body = {"role": "user", "content": "Say hello."}
HELLO: Body = {"role": "assistant", "content": "Hello."}
CALL: Body = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
RESULT: Body = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}
READ: Body = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
ASKS: Body = {"role": "assistant", "content": [CALL]}
TELLS: Body = {"role": "user", "content": [RESULT]}
IMAGE: Body = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
SYSTEM: Body = {"role": "system", "content": "Be brief."}


def text(words: str, **more: object) -> Body:
    return {"type": "text", "text": words, **more}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def edits(*given: Body) -> Body:
    return {"context_management": {"edits": list(given)}}


def ask(body: Body, betas: tuple[str, ...] = (), path: str = "/v1/messages") -> Answered:
    headers = {**ANTHROPIC_HEADERS, "anthropic-beta": ",".join(betas)}
    return post(AnthropicDouble(), path, body, headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A change to the request, and the refusal that it brings."""

    says: str
    model: str = "claude-opus-4-8"
    betas: tuple[str, ...] = ()
    status: int = 400
    kind: str = "invalid_request_error"
    code: str | None = None
    counted: bool = True
    """`count_tokens` says the same."""


def refused(topic: str, name: str, change: Body, case: Case) -> Any:
    return pytest.param(change, case, id=f"{topic}: {name}")


# One row per case reads as a table; the formatter would make a page of each.
# fmt: off
CONTEXT_EDITING = [
    refused("context editing", "the field needs its beta", edits(),
            Case(says="context_management: Extra inputs are not permitted")),
    refused("context editing", "threshold compaction needs its own beta", edits({"type": "compact_20260112"}),
            Case(betas=(EDITING,), says="context_management.edits.0: Input tag 'compact_20260112' found using 'type' "
                                        "does "
                 "not match any of the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919'")),
    refused("context editing", "clearing needs its own beta", edits({"type": "clear_tool_uses_20250919"}),
            Case(betas=(THRESHOLD,), says="context_management.edits.0: Input tag 'clear_tool_uses_20250919' found "
                                          "using "
                 "'type' does not match any of the expected tags: 'compact_20260112'")),
    refused("context editing", "thinking is cleared first",
            {"thinking": {"type": "adaptive"},
             **edits({"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"})},
            Case(betas=(EDITING,), says="context_management.edits: `clear_thinking_20251015` must be the first edit")),
    refused("context editing", "thinking is cleared where there is some", edits({"type": "clear_thinking_20251015"}),
            Case(betas=(EDITING,),
                 says="`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive")),
    refused("context editing", "a trigger counts tokens or uses",
            edits({"type": "clear_tool_uses_20250919", "trigger": {"type": "messages", "value": 3}}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.trigger: Input tag "
                                        "'messages' "
                 "found using 'type' does not match any of the expected tags: 'input_tokens', 'tool_uses'")),
    refused("context editing", "results are kept by uses",
            edits({"type": "clear_tool_uses_20250919", "keep": {"type": "input_tokens", "value": 3}}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.keep: Input tag "
                 "'input_tokens' found using 'type' does not match any of the expected tags: 'tool_uses'")),
    refused("context editing", "a least amount is in tokens",
            edits({"type": "clear_tool_uses_20250919", "clear_at_least": {"type": "input_tokens", "value": "many"}}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.clear_at_least."
                 "input_tokens.value: Input should be a valid integer")),
    refused("context editing", "excluded tools are a list",
            edits({"type": "clear_tool_uses_20250919", "exclude_tools": "read"}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.exclude_tools: "
                 "Input should be a valid list")),
    refused("context editing", "inputs are cleared or not",
            edits({"type": "clear_tool_uses_20250919", "clear_tool_inputs": "yes"}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.clear_tool_inputs: "
                 "Input should be a valid boolean")),
    refused("context editing", "no field of another edit",
            edits({"type": "clear_tool_uses_20250919", "instructions": "x"}),
            Case(betas=(EDITING,), says="context_management.edits.0.clear_tool_uses_20250919.instructions: "
                 "Extra inputs are not permitted")),
    refused("context editing", "at least one turn of thinking is kept",
            {"thinking": {"type": "adaptive"},
             **edits({"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}})},
            Case(betas=(EDITING,), says="context_management.edits.0.clear_thinking_20251015.keep.thinking_turns.value: "
                 "Input should be greater than or equal to 1")),
]

THRESHOLD_COMPACTION = [
    refused("threshold compaction", "the trigger is 50,000 at least",
            edits({"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}),
            Case(betas=(THRESHOLD,), says="context_management.edits.0.compact_20260112.trigger.input_tokens.value: "
                 "Input should be greater than or equal to 50000")),
    refused("threshold compaction", "the trigger is in tokens",
            edits({"type": "compact_20260112", "trigger": {"type": "tool_uses", "value": 60_000}}),
            Case(betas=(THRESHOLD,), says="context_management.edits.0.compact_20260112.trigger: Input tag 'tool_uses' "
                 "found using 'type' does not match any of the expected tags: 'input_tokens'")),
    refused("threshold compaction", "not on older models", edits({"type": "compact_20260112"}),
            Case(betas=(THRESHOLD,), model="claude-haiku-4-5",
                 says="context_management.edits: `compact_20260112` is not supported for this model")),
    refused("threshold compaction", "a block needs the beta",
            {"messages": [USER, {"role": "assistant", "content": [{"type": "compaction", "content": "s"}]}, USER]},
            Case(says="messages.1.content.0: `compaction` is not one of the expected content block types")),
    refused("threshold compaction", "a block needs the edit",
            {"messages": [{"role": "assistant", "content": [{"type": "compaction", "content": "s"}]}, USER]},
            Case(betas=(THRESHOLD,), says="messages.0.content.0: `compaction` blocks require the `compact_20260112` "
                                          "edit "
                 "in `context_management`")),
    refused("threshold compaction", "no empty summary",
            {"messages": [{"role": "assistant", "content": [{"type": "compaction", "content": ""}]}, USER],
             **edits({"type": "compact_20260112"})},
            Case(betas=(THRESHOLD,), says="compaction: `content` cannot be an empty string")),
]

COMPACT: Body = {"compaction": {"type": "summarize"}}
ON_DEMAND_COMPACTION = [
    refused("on-demand compaction", "the field needs its beta", COMPACT,
            Case(says="compaction: Extra inputs are not permitted")),
    refused("on-demand compaction", "no context management", {**COMPACT, **edits()},
            Case(betas=(ON_DEMAND, EDITING), counted=False,
                 says="compaction: `context_management` cannot be combined with `compaction`")),
    refused("on-demand compaction", "no stop sequences", {**COMPACT, "stop_sequences": ["END"]},
            Case(betas=(ON_DEMAND,), counted=False,
                 says="compaction: `stop_sequences` cannot be combined with `compaction`")),
    refused("on-demand compaction", "no output format",
            {**COMPACT, "output_config": {"format": {"type": "json_schema"}}},
            Case(betas=(ON_DEMAND,), counted=False,
                 says="compaction: `output_config.format` cannot be combined with `compaction`")),
    refused("on-demand compaction", "no forced tool", {**COMPACT, "tools": [READ], "tool_choice": {"type": "any"}},
            Case(betas=(ON_DEMAND,), counted=False,
                 says="compaction: `tool_choice` cannot be combined with `compaction`")),
    refused("on-demand compaction", "no remaining budget",
            {**COMPACT, "output_config": {"task_budget": {"type": "tokens", "total": 9_000, "remaining": 1_000}}},
            Case(betas=(ON_DEMAND, "task-budgets-2026-03-13"), counted=False,
                 says="compaction: `output_config.task_budget.remaining` cannot be combined with `compaction`")),
    refused("on-demand compaction", "the turn is complete", {**COMPACT, "messages": [USER, ASKS], "tools": [READ]},
            Case(betas=(ON_DEMAND,), code="compaction_incomplete_turn", counted=False,
                 says="compaction: the conversation ends in an assistant turn whose tool calls have no results")),
    refused("on-demand compaction", "there is something to summarise", {**COMPACT, "messages": []},
            Case(betas=(ON_DEMAND,), code="compaction_nothing_to_summarize", counted=False,
                 says="compaction: `messages` holds no user or assistant content to summarize")),
    refused("on-demand compaction", "instructions of 16,384 characters at most",
            {"compaction": {"type": "summarize", "instructions": "x" * 16_385}},
            Case(betas=(ON_DEMAND,), counted=False,
                 says="compaction.instructions: String should have at most 16384 characters")),
    refused("on-demand compaction", "no field that a dumped model adds",
            {"messages": [{"role": "assistant", "content": [
                {"type": "compaction", "content": "s", "signature": "x", "citations": None}]}, USER]},
            Case(betas=(ON_DEMAND,), says="messages.0.content.0.compaction.citations: Extra inputs are not permitted")),
    refused("on-demand compaction", "a signature that is not ours",
            {"messages": [{"role": "assistant", "content": [{"type": "compaction", "content": "s", "signature": "x"}]},
                          USER]},
            Case(betas=(ON_DEMAND,), code="compaction_signature_invalid",
                 says="messages.0.content.0: Invalid `signature` in `compaction` block")),
]

NO_FORM = (
    'is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking '
    "behavior."
)
THINKING = [
    refused("thinking", "no budget on 4.7 and later",
            {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "max_tokens": 2_000},
            Case(counted=False, says=f'"thinking.type.enabled" {NO_FORM}')),
    refused("thinking", "cannot be turned off on Opus 5.5", {"thinking": {"type": "disabled"}},
            Case(model="claude-opus-5-5", says=f'"thinking.type.disabled" {NO_FORM}')),
    refused("thinking", "cannot be turned off on Fable", {"thinking": {"type": "disabled"}},
            Case(model="claude-fable-5", says=f'"thinking.type.disabled" {NO_FORM}')),
    refused("thinking", "not adaptive before 4.6", {"thinking": {"type": "adaptive"}},
            Case(model="claude-sonnet-4-5", says="adaptive thinking is not supported on this model")),
    refused("thinking", "the budget is below the output limit",
            {"thinking": {"type": "enabled", "budget_tokens": 2_000}, "max_tokens": 2_000},
            Case(model="claude-sonnet-4-5", counted=False,
                 says="`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                 "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
                 "#max-tokens-and-context-window-size")),
    refused("thinking", "no prefill on 4.6 and later", {"messages": [USER, HELLO]},
            Case(says="This model does not support assistant message prefill. "
                 "The conversation must end with a user message.")),
    refused("thinking", "no forced tool on Opus 5.5",
            {"tools": [READ], "tool_choice": {"type": "tool", "name": "read"}},
            Case(model="claude-opus-5-5",
                 says='tool_choice: type "tool" and "any" are not supported for this model.')),
    refused("thinking", "no forced tool while thinking",
            {"tools": [READ], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}},
            Case(says="Thinking may not be enabled when tool_choice forces tool use.")),
    refused("thinking", "an open tool turn begins with thinking",
            {"messages": [USER, ASKS, TELLS], "tools": [READ], "thinking": {"type": "enabled", "budget_tokens": 1_024},
             "max_tokens": 2_000},
            Case(model="claude-sonnet-4-5",
                 says="messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. "
                      "When "
                 "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
                 "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
                 "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
                 "https://docs.claude.com/en/docs/build-with-claude/extended-thinking")),
    refused("thinking", "a signature that is not ours",
            {"messages": [USER, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "So.", "signature": "x"}, text("Hello.")]}, USER]},
            Case(says="messages.1.content.0: Invalid `signature` in `thinking` block")),
    refused("thinking", "redacted thinking that is not ours",
            {"messages": [USER, {"role": "assistant", "content": [
                {"type": "redacted_thinking", "data": "x"}, text("Hello.")]}, USER]},
            Case(says="messages.1.content.0: Invalid `data` in `redacted_thinking` block")),
    refused("preserved thinking", "the setting needs its beta",
            {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
            Case(says="thinking.adaptive.block_binding: Extra inputs are not permitted")),
    refused("preserved thinking", "the behaviour is known",
            {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "ignore"}}},
            Case(betas=(BINDING,), says="thinking.block_binding.prefix_mismatch_behavior: "
                 "Input should be 'error' or 'drop_block'")),
    refused("preserved thinking", "only with thinking that is on",
            {"thinking": {"type": "disabled", "block_binding": {}}},
            Case(betas=(BINDING,), says="thinking.disabled.block_binding: Extra inputs are not permitted")),
]

FIVE = [text(str(i), cache_control=SHORT) for i in range(5)]
CACHING = [
    refused("caching", "four marks at most", {"messages": [user(*FIVE)]},
            Case(says="A maximum of 4 blocks with cache_control may be provided. Found 5.")),
    refused("caching", "automatic caching takes one of the four",
            {"messages": [user(*FIVE[:4], text("last"))], "cache_control": SHORT},
            Case(says="A maximum of 4 blocks with cache_control may be provided. Found 5.")),
    refused("caching", "automatic caching agrees with the last block's mark",
            {"messages": [user(text("a", cache_control=SHORT))], "cache_control": HOUR},
            Case(says="cache_control.ttl: automatic caching with ttl='1h' conflicts with the ttl='5m' cache_control "
                      "of the "
                 "last block at messages.0.content.0")),
    refused("caching", "one hour before five minutes",
            {"system": [text("a", cache_control=SHORT)], "messages": [user(text("b", cache_control=HOUR))]},
            Case(says="messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                 "ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, "
                 "`system`, "
                 "`messages`.")),
    refused("caching", "the marks of tools count first",
            {"tools": [{**READ, "cache_control": SHORT}], "system": [text("a", cache_control=HOUR)]},
            Case(says="system.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                 "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
                 "`messages`.")),
    refused("caching", "no mark on thinking",
            {"messages": [USER, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "So.", "signature": "x", "cache_control": SHORT},
                text("Hi.")]}, USER]},
            Case(says="messages.1.content.0.thinking.cache_control: Extra inputs are not permitted")),
    refused("caching", "no mark on empty text", {"messages": [user(text("", cache_control=SHORT))]},
            Case(says="messages.0.content.0.text: cache_control cannot be set for empty text blocks")),
    refused("caching", "no other lifetime",
            {"messages": [user(text("a", cache_control={"type": "ephemeral", "ttl": "2h"}))]},
            Case(says="messages.0.content.0.text.cache_control.ttl: Input should be '5m' or '1h'")),
    refused("caching", "warming does not stream", {"max_tokens": 0, "stream": True},
            Case(counted=False, says="max_tokens: 0 is not supported with `stream`")),
    refused("caching", "warming has no thinking budget",
            {"max_tokens": 0, "thinking": {"type": "enabled", "budget_tokens": 1_024}},
            Case(model="claude-sonnet-4-5", counted=False,
                 says="max_tokens: 0 is not supported with `thinking.type: enabled`")),
    refused("caching", "warming has no output format",
            {"max_tokens": 0, "output_config": {"format": {"type": "json_schema", "schema": {}}}},
            Case(counted=False, says="max_tokens: 0 is not supported with `output_config.format`")),
    refused("caching", "warming forces no tool", {"max_tokens": 0, "tools": [READ], "tool_choice": {"type": "any"}},
            Case(counted=False, says="max_tokens: 0 is not supported with `tool_choice.type: any`")),
]

UNANSWERED = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
CALLS = [
    refused("calls and results", "every call is answered", {"messages": [USER, ASKS, USER]}, Case(says=UNANSWERED)),
    refused("calls and results", "results come before text",
            {"messages": [USER, ASKS, user(text("Here:"), RESULT)]}, Case(says=UNANSWERED)),
    refused("calls and results", "every result has a call", {"messages": [USER, HELLO, TELLS]},
            Case(says="messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
                 "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")),
    refused("calls and results", "ids of calls are unique",
            {"messages": [USER, ASKS, TELLS, ASKS, TELLS]},
            Case(says="messages.3.content.0: `tool_use` ids must be unique")),
    refused("calls and results", "one result per call", {"messages": [USER, ASKS, user(RESULT, RESULT)]},
            Case(says="messages.2.content.1: each tool_use must have a single result. "
                 "Found multiple `tool_result` blocks with id: toolu_1")),
    refused("calls and results", "a server tool's result has its call",
            {"messages": [USER, {"role": "assistant", "content": [
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}, text("So.")]}, USER]},
            Case(says="messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: "
                 "srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block "
                 "before it.")),
]

TOOLS = [
    refused("tools", "not all are deferred", {"tools": [{**READ, "defer_loading": True}]},
            Case(says="At least one tool must have defer_loading=false. All tools cannot be deferred.")),
    refused("tools", "the search tool is not deferred",
            {"tools": [READ, {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex",
                              "defer_loading": True}]},
            Case(says="tools.1: defer_loading cannot be set on a tool search tool")),
    refused("tools", "a reference names a declared tool",
            {"tools": [READ], "messages": [USER, ASKS, user(
                {**RESULT, "content": [{"type": "tool_reference", "tool_name": "write"}]})]},
            Case(says="Tool reference 'write' not found in available tools")),
    refused("tools", "names are unique", {"tools": [READ, READ]}, Case(says="tools: Tool names must be unique.")),
    refused("tools", "at most 10,000 are deferred",
            {"tools": [READ, *({**READ, "name": f"t{i}", "defer_loading": True} for i in range(10_001))]},
            Case(counted=False, says="tools: at most 10000 tools may have defer_loading=true. Found 10001.")),
    refused("tools", "the memory tool has no schema of ours",
            {"tools": [{"type": "memory_20250818", "name": "memory", "input_schema": {}}]},
            Case(says="tools.0.memory_20250818.input_schema: Extra inputs are not permitted")),
    refused("tools", "a change needs its beta",
            {"tools": [READ], "messages": [USER, {"role": "system", "content": [
                {"type": "tool_removal", "tool": {"type": "tool_reference", "tool_name": "read"}}]}]},
            Case(says="messages.1.content.0: `tool_removal` is not one of the expected content block types")),
    refused("tools", "a change names a defined tool",
            {"tools": [READ], "messages": [USER, {"role": "system", "content": [
                {"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "write"}}]}]},
            Case(betas=(CHANGES,), code="tool_reference_unresolved",
                 says="messages.1.content.0: tool 'write' is not defined at this position in the conversation")),
]

SYSTEM_MESSAGES = [
    refused("system messages", "not on Sonnet 5", {"messages": [USER, SYSTEM]},
            Case(model="claude-sonnet-5",
                 says='messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
                      'not '
                 '"system" as an input message role.')),
    refused("system messages", "never first", {"messages": [SYSTEM, HELLO, USER]},
            Case(says="messages.0: a `system` message cannot be the first message")),
    refused("system messages", "behind the user", {"messages": [USER, HELLO, SYSTEM]},
            Case(says="messages.2: a `system` message must follow a `user` message")),
    refused("system messages", "last or before the assistant", {"messages": [USER, SYSTEM, USER]},
            Case(says="messages.1: a `system` message must be last or be followed by an `assistant` message")),
    refused("system messages", "never between call and result", {"messages": [USER, ASKS, SYSTEM, TELLS]},
            Case(says="messages.2: a `system` message cannot stand between `tool_use` and `tool_result` blocks")),
    refused("system messages", "an end needs its beta",
            {"messages": [USER, {**SYSTEM, "clear_at": "next_user_message"}]},
            Case(says="messages.1.clear_at: Extra inputs are not permitted")),
]

SHAPES = [
    refused("shape", "no unknown field", {"prompt": "x"}, Case(says="prompt: Extra inputs are not permitted")),
    refused("shape", "no unknown field in a block", {"messages": [user(text("a", parsed_output=None))]},
            Case(says="messages.0.content.0.text.parsed_output: Extra inputs are not permitted")),
    refused("shape", "no missing field", {"messages": [user({"type": "text"})]},
            Case(says="messages.0.content.0.text.text: Field required")),
    refused("shape", "no unknown role", {"messages": [{"role": "tool", "content": "x"}]},
            Case(says='messages: Unexpected role "tool". Allowed roles are "user" or "assistant".')),
    refused("shape", "no empty text", {"messages": [user(text("a"), text(""))]},
            Case(says="messages: text content blocks must be non-empty")),
    refused("shape", "no blank text", {"messages": [user(text(" \n"))]},
            Case(says="messages: text content blocks must contain non-whitespace text")),
    refused("shape", "no empty message", {"messages": [USER, {"role": "assistant", "content": []}, USER]},
            Case(says="messages.1: all messages must have non-empty content except for the optional final assistant "
                 "message")),
    refused("shape", "at least one message", {"messages": []},
            Case(says="messages: at least one message is required", counted=False)),
    refused("shape", "the user begins", {"messages": [HELLO, USER]},
            Case(says='messages: first message must use the "user" role')),
    refused("shape", "no sampling on newer models", {"temperature": 0.5},
            Case(says="`temperature` is deprecated for this model.", counted=False)),
    refused("limits", "the model's output", {"max_tokens": 250_000},
            Case(counted=False, says="max_tokens: 250000 > 128000, which is the maximum allowed number of output "
                                     "tokens for "
                 "claude-opus-4-8")),
    refused("limits", "100,000 messages", {"messages": [USER, HELLO] * 50_000 + [USER]},
            Case(counted=False, says="messages: List should have at most 100000 items after validation, not 100001")),
    refused("limits", "600 images", {"messages": [user(*[IMAGE] * 601)]},
            Case(says="messages: too many images and documents: 601 > 600")),
    refused("limits", "100 images in a small window", {"messages": [user(*[IMAGE] * 101)]},
            Case(model="claude-haiku-4-5", says="messages: too many images and documents: 101 > 100")),
    refused("limits", "the window", {"messages": [{"role": "user", "content": "word " * 200_100}]},
            Case(model="claude-haiku-4-5", counted=False,
                 says="prompt is too long: 200105 tokens > 200000 maximum")),
    refused("limits", "input and output share older windows",
            {"messages": [{"role": "user", "content": "word " * 199_500}]},
            Case(model="claude-opus-4-1", counted=False,
                 says="input length and `max_tokens` exceed context limit: 199505 + 1024 > 200000, decrease input "
                      "length or "
                 "`max_tokens` and try again")),
    refused("models", "the model exists", {"model": "claude-opus-99"},
            Case(status=404, kind="not_found_error", says="model: claude-opus-99")),
    refused("threads", "the field needs its beta", {"thread": {"type": "create"}},
            Case(says="thread: Extra inputs are not permitted")),
    refused("threads", "a thread that is gone", {"thread": {"type": "continue", "previous_message_id": "msg_1"}},
            Case(betas=("message-threads-2026-08-12",), status=404, kind="not_found_error", code="thread_not_found",
                 counted=False, says="thread: no thread found for message msg_1")),
    refused("threads", "no context management", {"thread": {"type": "create"}, **edits()},
            Case(betas=("message-threads-2026-08-12", EDITING), code="thread_unsupported_request", counted=False,
                 says="thread: `context_management` is not supported with `thread`")),
]

# fmt: on
CASES = [
    *CONTEXT_EDITING,
    *THRESHOLD_COMPACTION,
    *ON_DEMAND_COMPACTION,
    *THINKING,
    *CACHING,
    *CALLS,
    *TOOLS,
    *SYSTEM_MESSAGES,
    *SHAPES,
]


def request(change: Body, case: Case) -> Body:
    return {"model": case.model, "max_tokens": 1_024, "messages": [USER], **change}


@pytest.mark.parametrize(("change", "case"), CASES)
def test_the_request_is_refused_in_the_words_of_the_api(change: Body, case: Case) -> None:
    answered = ask(request(change, case), case.betas)

    error = answered.body["error"]
    assert (case.status, case.kind, case.says) == (answered.status, error["type"], error["message"])
    assert case.code == error.get("details", {}).get("error_code")
    assert "error" == answered.body["type"]
    assert answered.body["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("change", "case"), [row for row in CASES if row.values[1].counted and "max_tokens" not in row.values[0]]
)
def test_counting_refuses_what_sampling_refuses(change: Body, case: Case) -> None:
    body = request(change, case)
    del body["max_tokens"]

    answered = ask(body, case.betas, "/v1/messages/count_tokens")

    assert case.says == answered.body["error"]["message"]


@pytest.mark.parametrize("name", ["max_tokens", "container", "stream"])
def test_counting_has_no_fields_for_sampling(name: str) -> None:
    answered = ask({"model": "claude-opus-4-8", "messages": [USER], name: 1}, path="/v1/messages/count_tokens")

    assert f"{name}: Extra inputs are not permitted" == answered.body["error"]["message"]


def test_the_request_that_every_case_changes_is_accepted() -> None:
    assert 200 == ask({"model": "claude-opus-4-8", "max_tokens": 1_024, "messages": [USER]}).status


@pytest.mark.parametrize(
    ("change", "betas"),
    [
        ({"messages": [USER, ASKS, user(RESULT, text("Go on."))], "tools": [READ]}, ()),
        ({"messages": [USER, USER, HELLO, HELLO, USER]}, ()),
        ({"messages": [USER, SYSTEM, HELLO, USER, SYSTEM]}, ()),
        ({"system": [text("a", cache_control=HOUR)], "messages": [user(text("b", cache_control=SHORT))]}, ()),
        ({"messages": [user(*FIVE[:4])], "cache_control": SHORT}, ()),
        ({"tools": [READ, {**READ, "name": "write", "defer_loading": True}], "messages": [
            USER, ASKS, user({**RESULT, "content": [{"type": "tool_reference", "tool_name": "write"}]})]}, ()),
        (edits({"type": "clear_tool_uses_20250919", "clear_tool_inputs": ["read"]}, {"type": "compact_20260112"}),
         (EDITING, THRESHOLD)),
        ({"thinking": {"type": "adaptive"}, **edits({"type": "clear_thinking_20251015", "keep": "all"})}, (EDITING,)),
        ({"model": "claude-opus-4-8-20260501"}, ()),
    ],
)  # fmt: skip
def test_what_only_looks_wrong_is_accepted(change: Body, betas: tuple[str, ...]) -> None:
    answered = ask({"model": "claude-opus-4-8", "max_tokens": 1_024, "messages": [USER], **change}, betas)

    assert 200 == answered.status, answered.body


@pytest.mark.parametrize(
    ("headers", "status", "kind", "says"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "authentication_error", "x-api-key header is required"),
        ({"x-api-key": "any"}, 400, "invalid_request_error", "anthropic-version: header is required"),
    ],
)
def test_a_request_without_its_headers_is_refused(headers: dict[str, str], status: int, kind: str, says: str) -> None:
    body = {"model": "claude-opus-4-8", "max_tokens": 10, "messages": [USER]}

    answered = post(AnthropicDouble(), "/v1/messages", body, headers)

    error = answered.body["error"]
    assert (status, kind, says) == (answered.status, error["type"], error["message"])


def test_a_bearer_token_is_as_good_as_a_key() -> None:
    headers = {"authorization": "Bearer any", "anthropic-version": "2023-06-01"}
    body = {"model": "claude-opus-4-8", "max_tokens": 10, "messages": [USER]}

    assert 200 == post(AnthropicDouble(), "/v1/messages", body, headers).status


@pytest.mark.parametrize("raw", [b"{", b"[]", b'"text"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(raw: bytes) -> None:
    answered = post(AnthropicDouble(), "/v1/messages", raw, ANTHROPIC_HEADERS)

    assert (400, "The request body is not valid JSON.") == (answered.status, answered.body["error"]["message"])


def test_a_body_over_32_mb_is_refused_at_the_edge_in_html() -> None:
    answered = post(AnthropicDouble(), "/v1/messages", b" " * (32 * 1024 * 1024 + 1), ANTHROPIC_HEADERS)

    assert (413, "text/html; charset=utf-8") == (answered.status, answered.headers["content-type"])
