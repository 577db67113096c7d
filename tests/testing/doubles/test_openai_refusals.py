"""What the OpenAI APIs refuse: one row per case, each a small change to a request that is accepted."""

from dataclasses import dataclass
from typing import Any

import pytest

from perdure.testing.doubles import OPENAI_HEADERS, Call, OpenAIDouble, Say, Think, Turn, post

Body = dict[str, Any]
HELLO: Body = {"role": "user", "content": "Say hello."}
CALL: Body = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT: Body = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
CUSTOM: Body = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "x"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A change to the request, and the refusal that it brings."""

    says: str
    param: str | None = None
    code: str | None = None
    status: int = 400


def refused(name: str, change: Body, case: Case) -> Any:
    return pytest.param(change, case, id=name)


# One row per case reads as a table; the formatter would make a page of each.
# fmt: off
RESPONSES = [
    refused("parameters are known", {"messages": []},
            Case(says="Unknown parameter: 'messages'.", param="messages", code="unknown_parameter")),
    refused("fields of items are known", {"input": [{**HELLO, "cache_control": {}}]},
            Case(says="Unknown parameter: 'input[0].cache_control'.", param="input[0].cache_control",
                 code="unknown_parameter")),
    refused("fields of items are there", {"input": [HELLO, {"type": "function_call_output", "output": "x"}]},
            Case(says="Missing required parameter: 'input[1].call_id'.", param="input[1].call_id",
                 code="missing_required_parameter")),
    refused("roles are known", {"input": [{"role": "tool", "content": "x"}]},
            Case(says="Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
                 param="input[0]", code="invalid_value")),
    refused("parts go with their role",
            {"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
            Case(says="Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
                 param="input[0].content[0]", code="invalid_value")),
    refused("an output has its call", {"input": [HELLO, OUTPUT]},
            Case(says="No tool call found for function call output with call_id call_1.", param="input")),
    refused("an output comes behind its call", {"input": [HELLO, OUTPUT, CALL]},
            Case(says="No tool call found for function call output with call_id call_1.", param="input")),
    refused("an output is of its call's kind", {"input": [HELLO, CALL, CUSTOM]},
            Case(says="No tool call found for custom tool call output with call_id call_1.", param="input")),
    refused("a call has its output", {"input": [HELLO, CALL, HELLO]},
            Case(says="No tool output found for function call call_1.", param="input")),
    refused("ids are unique", {"input": [{**CALL, "id": "fc_1"}, OUTPUT, {**CALL, "id": "fc_1", "call_id": "call_2"}]},
            Case(says="Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
                 param="input")),
    refused("reasoning that is not stored", {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}, HELLO]},
            Case(says="Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again "
                      "with "
                 "`store` set to true, or remove this item from your input.", param="input", status=404)),
    refused("encrypted reasoning is ours",
            {"input": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, HELLO]},
            Case(says="The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not "
                      "be "
                 "decrypted or parsed.", code="invalid_encrypted_content")),
    refused("a compaction item is ours", {"input": [{"type": "compaction", "encrypted_content": "x"}, HELLO]},
            Case(says="The encrypted content could not be verified. Reason: Encrypted content could not be decrypted "
                      "or "
                 "parsed.", code="invalid_encrypted_content")),
    refused("a compaction item has content", {"input": [{"type": "compaction"}, HELLO]},
            Case(says="Missing required parameter: 'input[0].encrypted_content'.", param="input[0].encrypted_content",
                 code="missing_required_parameter")),
    refused("a trigger comes last", {"input": [{"type": "compaction_trigger"}, HELLO]},
            Case(says="Invalid 'input': an item of type 'compaction_trigger' must be the final input item.",
                 param="input[0]", code="invalid_value")),
    refused("only compaction manages context", {"context_management": [{"type": "clear_tool_uses"}]},
            Case(says="Invalid value: 'clear_tool_uses'. Supported values are: 'compaction'.",
                 param="context_management[0].type", code="invalid_value")),
    refused("the threshold is 1,000 at least",
            {"context_management": [{"type": "compaction", "compact_threshold": 999}]},
            Case(says="Invalid 'context_management[0].compact_threshold': integer below minimum value. Expected a "
                      "value >= "
                 "1000, but got 999 instead.", param="context_management[0].compact_threshold",
                 code="integer_below_min_value")),
    refused("the input fits", {"input": "word " * 400_001},
            Case(says="Your input exceeds the context window of this model. Please adjust your input and try again.",
                 param="input", code="context_length_exceeded")),
    refused("the output limit is 16 at least", {"max_output_tokens": 1},
            Case(says="Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 "
                      "instead.",
                 param="max_output_tokens", code="integer_below_min_value")),
    refused("no sampling while reasoning", {"temperature": 0.5},
            Case(says="Unsupported parameter: 'temperature' is not supported with this model.", param="temperature")),
    refused("no short retention on 5.5", {"model": "gpt-5.5", "prompt_cache_retention": "in_memory"},
            Case(says="Invalid value: 'in_memory'. Supported values are: '24h'.", param="prompt_cache_retention",
                 code="invalid_value")),
    refused("the earlier response is stored", {"previous_response_id": "resp_1"},
            Case(says="Previous response with id 'resp_1' not found.", param="previous_response_id",
                 code="previous_response_not_found")),
    refused("the model exists", {"model": "gpt-99"},
            Case(says="The requested model 'gpt-99' does not exist.", param="model", code="model_not_found")),
]

CHAT_CALL: Body = {"role": "assistant", "content": None, "tool_calls": [
    {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}} for name in ("call_1", "call_2")]}
TOOL_1: Body = {"role": "tool", "tool_call_id": "call_1", "content": "x"}
TOOL_2: Body = {**TOOL_1, "tool_call_id": "call_2"}
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
UNANSWERED = ("An assistant message with 'tool_calls' must be followed by tool messages responding to each "
              "'tool_call_id'. "
              "The following tool_call_ids did not have response messages: ")
CHAT = [
    refused("parameters are known", {"input": "x"}, Case(says="Unrecognized request argument supplied: input")),
    refused("roles are known", {"messages": [{"role": "robot", "content": "x"}]},
            Case(says="Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', "
                      "'tool', and "
                 "'developer'.", param="messages[0].role", code="invalid_value")),
    refused("a tool message has its call", {"messages": [HELLO, TOOL_1]}, Case(says=ORPHAN, param="messages.[1].role")),
    refused("a tool message follows its call", {"messages": [HELLO, CHAT_CALL, TOOL_1, TOOL_2, HELLO, TOOL_1]},
            Case(says=ORPHAN, param="messages.[5].role")),
    refused("each call is answered", {"messages": [HELLO, CHAT_CALL, TOOL_1, HELLO]},
            Case(says=f"{UNANSWERED}call_2", param="messages")),
    refused("each call is answered at the end too", {"messages": [HELLO, CHAT_CALL]},
            Case(says=f"{UNANSWERED}call_1, call_2", param="messages")),
    refused("fields of messages are known", {"messages": [{**HELLO, "reasoning_content": "x"}]},
            Case(says="Unknown parameter: 'messages[0].reasoning_content'.", param="messages[0].reasoning_content",
                 code="unknown_parameter")),
    refused("no empty list of calls",
            {"messages": [HELLO, {"role": "assistant", "content": "x", "tool_calls": []}, HELLO]},
            Case(says="Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but "
                      "got an "
                 "empty array instead.", param="messages[1].tool_calls", code="empty_array")),
    refused("content is there", {"messages": [{"role": "user", "content": None}]},
            Case(says="Invalid value for 'content': expected a string, got null.", param="messages.[0].content")),
    refused("the messages fit", {"messages": [{"role": "user", "content": "word " * 400_001}]},
            Case(says="This model's maximum context length is 400000 tokens. However, your messages resulted in 400007 "
                 "tokens. Please reduce the length of the messages.", param="messages",
                 code="context_length_exceeded")),
    refused("the old name of the limit", {"max_tokens": 100},
            Case(says="Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                      "'max_completion_tokens' "
                 "instead.", param="max_tokens", code="unsupported_parameter")),
    refused("options of a stream go with a stream", {"stream_options": {"include_usage": True}},
            Case(says="The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                 param="stream_options")),
    refused("the model exists", {"model": "gpt-99"},
            Case(says="The model `gpt-99` does not exist or you do not have access to it.", code="model_not_found",
                 status=404)),
]
# fmt: on


def check(path: str, body: Body, case: Case) -> None:
    answered = post(OpenAIDouble(), path, body, OPENAI_HEADERS)

    expected = {"message": case.says, "type": "invalid_request_error", "param": case.param, "code": case.code}
    assert (case.status, {"error": expected}) == (answered.status, answered.body)


@pytest.mark.parametrize(("change", "case"), RESPONSES)
def test_the_responses_api_refuses_in_its_own_words(change: Body, case: Case) -> None:
    check("/v1/responses", {"model": "gpt-5", "input": [HELLO], **change}, case)


@pytest.mark.parametrize(("change", "case"), CHAT)
def test_chat_completions_refuse_in_their_own_words(change: Body, case: Case) -> None:
    check("/v1/chat/completions", {"model": "gpt-5", "messages": [HELLO], **change}, case)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact", "/v1/chat/completions"])
def test_a_request_without_a_key_is_refused(path: str) -> None:
    answered = post(OpenAIDouble(), path, {"model": "gpt-5"}, {})

    assert (401, True) == (
        answered.status,
        answered.body["error"]["message"].startswith("You didn't provide an API key."),
    )


def test_the_compact_endpoint_knows_its_own_parameters_alone() -> None:
    case = Case(says="Unknown parameter: 'tools'.", param="tools", code="unknown_parameter")
    check("/v1/responses/compact", {"model": "gpt-5", "input": [HELLO], "tools": []}, case)


def made(**headers: str) -> tuple[OpenAIDouble, list[Body]]:
    """A double, and the output items that it gave: reasoning, words, a call."""
    turn = Turn(parts=(Think(text="So."), Say(text="Well."), Think(text="And."), Call(name="read")))
    double = OpenAIDouble(lambda _: turn)
    body = {"model": "gpt-5", "input": [HELLO], "include": ["reasoning.encrypted_content"], "store": False}
    return double, post(double, "/v1/responses", body, {**OPENAI_HEADERS, **headers}).body["output"]


def say_again(double: OpenAIDouble, items: list[Body], **headers: str) -> Body:
    body = {"model": "gpt-5", "input": items, "store": False}
    return post(double, "/v1/responses", body, {**OPENAI_HEADERS, **headers}).body


def test_a_reasoning_item_is_followed_by_what_it_led_to() -> None:
    double, items = made()

    says = f"Item '{items[0]['id']}' of type 'reasoning' was provided without its required following item."
    assert says == say_again(double, [HELLO, items[0], HELLO])["error"]["message"]
    assert says == say_again(double, [HELLO, items[0]])["error"]["message"]


def test_an_item_comes_with_the_reasoning_that_led_to_it() -> None:
    double, items = made()
    output = {**OUTPUT, "call_id": items[3]["call_id"]}

    says = (
        f"Item '{items[3]['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
        f"'{items[2]['id']}'."
    )
    assert says == say_again(double, [HELLO, *items[:2], items[3], output])["error"]["message"]


def test_an_item_without_its_id_needs_no_reasoning() -> None:
    double, items = made()
    call = {name: value for name, value in items[3].items() if name != "id"}
    output = {**OUTPUT, "call_id": call["call_id"]}

    assert "completed" == say_again(double, [HELLO, call, output])["status"]


def test_encrypted_content_is_bound_to_its_organization() -> None:
    double, items = made(**{"openai-organization": "org-a"})

    error = say_again(double, [HELLO, *items[:2]], **{"openai-organization": "org-b"})["error"]

    assert "invalid_encrypted_content" == error["code"]
    assert error["message"].endswith("Encrypted content organization_id did not match the target organization.")
