"""The rules of the Chat Completions API, as one table.

It knows messages and tool calls. It must never know items of the Responses API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.testing.doubles.openai.asked import Asked, OpenAIRefused, Rule, invalid_value, missing, unknown
from perdure.testing.doubles.openai.responses_rules import check_cache_settings
from perdure.testing.doubles.shape import Body, bodies, body_of, names, number

_FIELDS = names(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens "
    "messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format "
    "safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools "
    "top_logprobs top_p user verbosity web_search_options"
)
_ROLES = ["system", "assistant", "user", "function", "tool", "developer"]
_MESSAGE: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call", "annotations"}
    ),
    "tool": frozenset({"role", "content", "tool_call_id"}),
    "function": frozenset({"role", "content", "name"}),
}


def _check_fields(asked: Asked) -> Iterator[OpenAIRefused]:
    for name in asked.body:
        if name not in _FIELDS:
            yield OpenAIRefused(f"Unrecognized request argument supplied: {name}")
    if "messages" not in asked.body:
        yield missing("messages")
    elif not asked.messages:
        yield OpenAIRefused(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param="messages",
            code="empty_array",
        )


def _check_messages(asked: Asked) -> Iterator[OpenAIRefused]:
    for i, message in enumerate(asked.messages):
        role = str(message.get("role"))
        if role not in _MESSAGE:
            yield invalid_value(f"messages[{i}].role", role, _ROLES)
            continue
        for name in message:
            if name not in _MESSAGE[role]:
                yield unknown(f"messages[{i}].{name}")
        if message.get("content") is None and not (role == "assistant" and message.get("tool_calls")):
            yield OpenAIRefused(
                "Invalid value for 'content': expected a string, got null.", param=f"messages.[{i}].content"
            )
        yield from _check_calls(i, message)


def _check_calls(i: int, message: Body) -> Iterator[OpenAIRefused]:
    calls = message.get("tool_calls")
    if calls == []:
        yield OpenAIRefused(
            f"Invalid 'messages[{i}].tool_calls': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead.",
            param=f"messages[{i}].tool_calls",
            code="empty_array",
        )
    for j, call in enumerate(bodies(calls)):
        function = body_of(call.get("function"))
        for name, value in (("id", call.get("id")), ("type", call.get("type")), ("function", call.get("function"))):
            if value is None:
                yield missing(f"messages[{i}].tool_calls[{j}].{name}")
        if call.get("type") == "function" and not isinstance(function.get("arguments"), str):
            yield missing(f"messages[{i}].tool_calls[{j}].function.arguments")


def _check_pairs(asked: Asked) -> Iterator[OpenAIRefused]:
    waiting: list[str] = []
    known: set[str] = set()
    for i, message in enumerate(asked.messages):
        if message.get("role") == "tool":
            call = str(message.get("tool_call_id"))
            if call not in known:
                yield OpenAIRefused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=f"messages.[{i}].role",
                )
            waiting = [name for name in waiting if name != call]
            continue
        yield from _unanswered(waiting)
        calls = [str(call.get("id")) for call in bodies(message.get("tool_calls"))]
        waiting, known = calls, set(calls)
    yield from _unanswered(waiting)


def _unanswered(waiting: list[str]) -> Iterator[OpenAIRefused]:
    if waiting:
        yield OpenAIRefused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            param="messages",
        )


def _check_limits(asked: Asked) -> Iterator[OpenAIRefused]:
    if asked.model.reasons and asked.body.get("max_tokens") is not None:
        yield OpenAIRefused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if asked.model.reasons and asked.body.get("temperature") not in {None, 1}:
        yield OpenAIRefused(
            f"Unsupported value: 'temperature' does not support {asked.body['temperature']} with this model. "
            "Only the default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        )
    for name in ("max_tokens", "max_completion_tokens"):
        limit = number(asked.body.get(name))
        if limit is not None and limit > asked.model.max_output:
            yield OpenAIRefused(
                f"max_tokens is too large: {limit}. This model supports at most {asked.model.max_output} completion "
                f"tokens, whereas you provided {limit}.",
                param=name,
                code="invalid_value",
            )
    if asked.body.get("stream_options") is not None and asked.body.get("stream") is not True:
        yield OpenAIRefused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
        )


CHAT_RULES: tuple[Rule, ...] = (
    Rule(name="parameters are known", check=_check_fields),
    Rule(name="messages are known and whole", check=_check_messages),
    Rule(name="tool messages answer tool calls, each and all", check=_check_pairs),
    Rule(name="limits and sampling are legal", check=_check_limits),
    Rule(name="the cache's options are known", check=check_cache_settings),
)
