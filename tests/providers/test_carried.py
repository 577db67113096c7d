"""The whole content of an answer stands, equal, in the request behind it: every kind of block, streamed or not, of each
dialect. The blocks are as the providers' references and SDKs have them, 2026-11; one of each dialect is of a kind that
nobody knows yet."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import cast

import httpx
import pytest

from perdure.kernel.agent import Agent, AgentTool, Setup
from perdure.kernel.messages import Json, JsonObject, Tool, encode_json
from perdure.providers import AnthropicApi, ChatApi, Edge, HttpModel, ResponsesApi, anthropic, chat, openai
from perdure.testing.doubles.anthropic.stream import events as anthropic_events
from perdure.testing.doubles.openai.stream import response_events

SEALED = "EqQBCgIYAhIkYjY4"
TEXT: JsonObject = {
    "type": "text",
    "text": "Here it is: \U0001f600 and then some more words, so that pieces are several.",
}
URL = "https://example.org/a"
PAGE: JsonObject = {
    "type": "web_search_result",
    "url": URL,
    "title": "A",
    "encrypted_content": SEALED,
    "page_age": None,
}


def server_use(name: str, given: JsonObject, **more: Json) -> JsonObject:
    return {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": given, **more}


def server_result(kind: str, content: Json, **more: Json) -> JsonObject:
    return {"type": kind, "tool_use_id": "srvtoolu_1", "content": content, **more}


ANTHROPIC: Mapping[str, list[JsonObject]] = {
    "text": [TEXT],
    "text with citations": [
        {
            **TEXT,
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": "A",
                    "document_index": 0,
                    "document_title": None,
                    "start_char_index": 0,
                    "end_char_index": 1,
                    "file_id": None,
                }
            ],
        }
    ],
    "thinking": [{"type": "thinking", "thinking": "Let me look at it with care.", "signature": SEALED}, TEXT],
    "thinking without text": [{"type": "thinking", "thinking": "", "signature": SEALED}, TEXT],
    "redacted thinking": [{"type": "redacted_thinking", "data": SEALED}, TEXT],
    "tool use": [TEXT, {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "é", "n": 1.5}}],
    "tool use of a caller": [
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "read",
            "input": {},
            "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_0"},
        }
    ],
    "web search": [
        server_use("web_search", {"query": "a"}),
        server_result("web_search_tool_result", [PAGE]),
        TEXT,
    ],
    "web search that failed": [
        server_use("web_search", {"query": "a"}),
        server_result(
            "web_search_tool_result", {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        ),
        TEXT,
    ],
    "web fetch": [
        server_use("web_fetch", {"url": URL}),
        server_result(
            "web_fetch_tool_result",
            {
                "type": "web_fetch_result",
                "url": URL,
                "retrieved_at": "2026-11-01T00:00:00Z",
                "content": {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "A"},
                    "title": "A",
                    "citations": {"enabled": True},
                },
            },
        ),
        TEXT,
    ],
    "code execution": [
        server_use("bash_code_execution", {"command": "ls"}),
        server_result(
            "bash_code_execution_tool_result",
            {
                "type": "bash_code_execution_result",
                "stdout": "a\n",
                "stderr": "",
                "return_code": 0,
                "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
            },
        ),
        TEXT,
    ],
    "editor": [
        server_use("text_editor_code_execution", {"command": "view", "path": "a"}),
        server_result(
            "text_editor_code_execution_tool_result",
            {"type": "text_editor_code_execution_view_result", "file_type": "text", "content": "a", "num_lines": 1},
        ),
        TEXT,
    ],
    "tool search": [
        server_use("tool_search_tool_regex", {"query": "read"}),
        server_result(
            "tool_search_tool_result",
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "read"}],
            },
        ),
        TEXT,
    ],
    "advisor": [
        server_use("advisor", {}),
        server_result("advisor_tool_result", {"type": "advisor_result", "text": "Think again."}),
        TEXT,
    ],
    "remote tool": [
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "x", "input": {"a": [1, None]}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcptoolu_1",
            "is_error": False,
            "content": [{"type": "text", "text": "a"}],
        },
        TEXT,
    ],
    "container upload": [{"type": "container_upload", "file_id": "file_1"}, TEXT],
    "compaction": [{"type": "compaction", "content": "What was.", "encrypted_content": SEALED}, TEXT],
    "unknown": [{"type": "hologram", "beam": {"z": 1, "a": [True, "\u2028"]}, "id": "h1"}, TEXT],
    "unknown fields": [{**TEXT, "mood": "calm"}],
}

SAID: JsonObject = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "Here it is: \U0001f600."}],
}


def item(kind: str, **fields: Json) -> JsonObject:
    return {"id": "item_1", "type": kind, "status": "completed", **fields}


RESPONSES: Mapping[str, list[JsonObject]] = {
    "message": [SAID],
    "message with annotations and a phase": [
        {
            **SAID,
            "phase": "final_answer",
            "content": [
                {
                    "type": "output_text",
                    "annotations": [
                        {"type": "url_citation", "start_index": 0, "end_index": 4, "url": URL, "title": "A"}
                    ],
                    "logprobs": [],
                    "text": "Here.",
                }
            ],
        }
    ],
    "message of several parts": [
        {
            **SAID,
            "content": [
                {"type": "output_text", "annotations": [], "text": "One."},
                {"type": "output_text", "annotations": [], "text": "Two."},
            ],
        }
    ],
    "two messages": [SAID, {**SAID, "id": "msg_2"}],
    "refusal": [{**SAID, "content": [{"type": "refusal", "refusal": "I would rather not."}]}],
    "reasoning": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "**Looking**"}],
            "encrypted_content": SEALED,
        },
        SAID,
    ],
    "reasoning without summary": [
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SEALED},
        SAID,
    ],
    "function call": [
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SEALED},
        item("function_call", call_id="call_1", name="read", arguments='{"path": "é",  "n":1}'),
    ],
    "custom tool call": [item("custom_tool_call", call_id="call_1", name="read", input="*** Begin")],
    "web search": [item("web_search_call", action={"type": "search", "query": "a"}), SAID],
    "file search": [item("file_search_call", queries=["a"], results=None), SAID],
    "code interpreter": [
        item("code_interpreter_call", code="1", container_id="c", outputs=[{"type": "logs", "logs": "1"}]),
        SAID,
    ],
    "image generation": [item("image_generation_call", result="iVBORw0="), SAID],
    "remote tool": [
        item("mcp_call", arguments="{}", name="echo", server_label="x", output="a", error=None),
        SAID,
    ],
    "remote tools": [{"id": "l1", "type": "mcp_list_tools", "server_label": "x", "tools": [], "error": None}, SAID],
    "tool search": [
        item("tool_search_call", call_id=None, execution="server", arguments={"query": "a"}),
        item("tool_search_output", call_id=None, execution="server", tools=[]),
        SAID,
    ],
    "compaction": [{"id": "cmp_1", "type": "compaction", "encrypted_content": SEALED}, SAID],
    "unknown": [{"id": "h1", "type": "hologram", "beam": {"z": 1, "a": [True]}}, SAID],
    "unknown fields": [{**SAID, "mood": "calm"}],
}

BASE: JsonObject = {"role": "assistant", "content": "Here it is: \U0001f600 and more."}
FUNCTION: JsonObject = {"name": "read", "arguments": '{"path": "é",  "n":1}'}
CHAT: Mapping[str, JsonObject] = {
    "content": BASE,
    "null fields": {**BASE, "refusal": None},
    "reasoning_content": {**BASE, "reasoning_content": "Let me look."},
    "reasoning": {**BASE, "reasoning": "Let me look."},
    "reasoning_details": {
        **BASE,
        "reasoning": "Let me look.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": SEALED, "format": "x", "index": 0}],
    },
    "refusal beside content": {**BASE, "refusal": "I would rather not."},
    "custom call": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "custom", "custom": {"name": "read", "input": "*** Begin"}}],
    },
    "call": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": FUNCTION}],
    },
    "content and calls": {
        **BASE,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": FUNCTION},
            {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ],
    },
    "call with a thought signature": {
        **BASE,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": FUNCTION,
                "extra_content": {"google": {"thought_signature": SEALED}},
            }
        ],
    },
    "annotations": {**BASE, "annotations": [{"type": "url_citation", "url_citation": {"url": URL, "title": "A"}}]},
    "unknown fields": {**BASE, "mood": {"calm": True}},
}


def chat_chunks(message: JsonObject) -> Iterator[JsonObject]:
    """What grows in pieces comes in pieces, whatever else there is at once."""

    def chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}

    calls = message.get("tool_calls")
    plain = {name: value for name, value in message.items() if name not in ("role", "tool_calls")}
    yield chunk({"role": "assistant"})
    for name, value in plain.items():
        pieces = [value[:4], value[4:]] if isinstance(value, str) else [value]
        for piece in pieces:
            yield chunk({name: piece})
    for index, call in enumerate(calls if isinstance(calls, list) else []):
        whole = cast("JsonObject", call)
        if "function" not in whole:
            yield chunk({"tool_calls": [{"index": index, **whole}]})
            continue
        function = cast("JsonObject", whole["function"])
        arguments = str(function["arguments"])
        yield chunk({"tool_calls": [{"index": index, **whole, "function": {**function, "arguments": arguments[:3]}}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[3:]}}]})
    yield chunk({}, "tool_calls" if calls else "stop")


def answers(first: JsonObject, then: JsonObject, events: list[JsonObject], *, streamed: bool) -> list[httpx.Response]:
    """The answer, and plain ones behind it."""
    lines = b"".join(b"data: " + encode_json(event) + b"\n\n" for event in events)
    begun = (
        httpx.Response(200, headers={"content-type": "text/event-stream"}, content=lines)
        if streamed
        else httpx.Response(200, headers={"content-type": "application/json"}, content=encode_json(first))
    )
    return [begun, *(httpx.Response(200, json=then) for _ in range(3))]


def next_request(model: HttpModel, replies: list[httpx.Response], seen: list[JsonObject]) -> JsonObject:
    """The body that follows the first answer."""
    read = Tool(name="read", description="read", schema={"type": "object", "properties": {}})

    async def go() -> None:
        agent = Agent(model, Setup(tools=(AgentTool(definition=read, run=lambda _given: "nothing"),)))
        for text in ("Begin.", "Go on."):
            await agent.run(text)
        await model.close()

    asyncio.run(go())
    return seen[1]


def edge_for(replies: list[httpx.Response], seen: list[JsonObject]) -> Edge:
    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(cast("JsonObject", json.loads(request.content)))
        return replies.pop(0)

    return Edge(httpx.AsyncClient(transport=httpx.MockTransport(reply), trust_env=False), lambda: 1.0)


def unmarked(value: Json) -> Json:
    """Without marks, which are ours to set."""
    if isinstance(value, dict):
        return {name: unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


STREAMED = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


@STREAMED
@pytest.mark.parametrize("kind", ANTHROPIC)
def test_anthropic_gets_back_what_it_said(kind: str, streamed: bool) -> None:
    def message(content: list[JsonObject], reason: str) -> JsonObject:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [*content],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 9},
        }

    calls = any(block["type"] == "tool_use" for block in ANTHROPIC[kind])
    first = message(ANTHROPIC[kind], "tool_use" if calls else "end_turn")
    seen: list[JsonObject] = []
    replies = answers(first, message([TEXT], "end_turn"), [*anthropic_events(first)], streamed=streamed)
    api = AnthropicApi(more={"stream": streamed})
    model = anthropic("claude-opus-5-5", api_key="any", url="http://any", api=api, edge=edge_for(replies, seen))
    messages = cast("list[JsonObject]", next_request(model, replies, seen)["messages"])

    assert ANTHROPIC[kind] == unmarked(messages[1]["content"])
    assert list(map(list, ANTHROPIC[kind])) == list(
        map(list, cast("list[JsonObject]", unmarked(messages[1]["content"])))
    )


@STREAMED
@pytest.mark.parametrize("kind", RESPONSES)
def test_openai_gets_back_the_items_that_it_gave(kind: str, streamed: bool) -> None:
    def response(output: list[JsonObject]) -> JsonObject:
        return {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "model": "gpt-5",
            "output": [*output],
            "usage": {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18},
        }

    first = response(RESPONSES[kind])
    seen: list[JsonObject] = []
    replies = answers(first, response([SAID]), [*response_events(first)], streamed=streamed)
    api = ResponsesApi(more={"stream": streamed})
    model = openai("gpt-5", api_key="any", url="http://any/v1", api=api, edge=edge_for(replies, seen))
    items = cast("list[JsonObject]", next_request(model, replies, seen)["input"])

    assert RESPONSES[kind] == items[1 : 1 + len(RESPONSES[kind])]
    assert list(map(list, RESPONSES[kind])) == list(map(list, items[1 : 1 + len(RESPONSES[kind])]))


@STREAMED
@pytest.mark.parametrize("kind", CHAT)
def test_a_chat_server_gets_back_the_message_that_it_gave(kind: str, streamed: bool) -> None:
    def completion(message: JsonObject) -> JsonObject:
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        return {
            "id": "c",
            "object": "chat.completion",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }

    seen: list[JsonObject] = []
    chunks = [*chat_chunks(CHAT[kind])]
    replies = answers(completion(CHAT[kind]), completion(BASE), chunks, streamed=streamed)
    api = ChatApi(more={"stream": streamed})
    model = chat("gpt-4.1", url="http://any/v1", api=api, edge=edge_for(replies, seen))
    messages = cast("list[JsonObject]", next_request(model, replies, seen)["messages"])

    assert CHAT[kind] == messages[1]


@STREAMED
def test_a_chat_message_that_only_refuses_ends_the_run_as_refused(streamed: bool) -> None:
    message: JsonObject = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    whole: JsonObject = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    replies = answers(whole, whole, [*chat_chunks(message)], streamed=streamed)
    model = chat("gpt-4.1", url="http://any/v1", edge=edge_for(replies, []))

    async def go() -> str:
        end = await Agent(model).run("Begin.")
        await model.close()
        return end.state

    assert "refused" == asyncio.run(go())
