"""Recall and memory carried out by the gateway, unseen by the client, and shared over MCP."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from perdure.gateway import Parts
from perdure.kernel.errors import StoreUnreachable
from perdure.memory import FileStore, Principal, parse_path
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Say, Turn, answer, replies

MODEL = "claude-sonnet-4-6"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
NOTE = {"command": "create", "path": "/memories/tea.md", "file_text": "Green, three minutes."}
HELLO: Any = [{"role": "user", "content": "How do I like my tea?"}]


def ask(client: Any, messages: list[Any], stream: bool = False) -> Any:
    if not stream:
        return client.messages.create(model=MODEL, max_tokens=500, tools=[READ], messages=messages)
    with client.messages.stream(model=MODEL, max_tokens=500, tools=[READ], messages=messages) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
def test_memory_is_written_unseen_and_the_hidden_round_goes_back_upstream(
    front: Callable[..., Any], tmp_path: Path, stream: bool
) -> None:
    writes = Turn(parts=(Say(text="Let me note that."), Call(name="memory", arguments=NOTE)))
    double = AnthropicDouble(replies([writes, answer(" Noted."), answer("Green.")]))
    made = front(double, memory=True, auto=True, config={"memory": tmp_path})
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    first = ask(client, HELLO, stream)
    back: list[Any] = [
        *HELLO,
        {"role": "assistant", "content": [block.to_dict() for block in first.content]},
        {"role": "user", "content": "And now?"},
    ]
    ask(client, back, stream)

    one, two, three = (received.body["messages"] for received in double.received)
    assert (["text", "text"], "end_turn") == ([block.type for block in first.content], first.stop_reason)
    assert "File created successfully at: /memories/tea.md" in str(two)
    assert (one, two) == (two[: len(one)], three[: len(two)])
    store = FileStore(root=tmp_path)
    assert ["/memories/tea.md"] == [
        str(entry.path) for entry in store.files(Principal(tenant="local", user="local"), parse_path("/memories")) or ()
    ]


def test_beside_the_clients_own_call_the_result_of_ours_is_put_in(front: Callable[..., Any], tmp_path: Path) -> None:
    both = Turn(parts=(Call(name="memory", arguments=NOTE), Call(name="read", arguments={"path": "a"})))
    double = AnthropicDouble(replies([both, answer("Done.")]))
    made = front(double, memory=True, auto=True, config={"memory": tmp_path})
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    first = ask(client, HELLO)
    (use,) = first.content
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "text"}
    second = ask(
        client,
        [*HELLO, {"role": "assistant", "content": [use.to_dict()]}, {"role": "user", "content": [result]}],
    )

    blocks = double.received[-1].body["messages"][-1]["content"]
    assert ("read", "Done.") == (use.name, second.content[0].text)
    assert ["File created successfully at: /memories/tea.md", "text"] == [block["content"] for block in blocks]


def test_recall_brings_back_what_was_reduced_exactly(front: Callable[..., Any]) -> None:
    original = "\n".join(f"{line}: secret word number {line * 7}" for line in range(3_000))

    def script(body: dict[str, Any]) -> Turn:
        if "1450: secret word number 10150" in str(body["messages"][-1]):
            return answer("It is 10150.")
        handle = re.search(r"\bh[0-9a-f]{10}\b", str(body["messages"]))
        assert handle is not None
        return Turn(parts=(Call(name="recall", arguments={"handle": handle[0], "lines": "1400-1500"}),))

    double = AnthropicDouble(script)
    made = front(double, recall=True, auto=True, window=200_000)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    use = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": original}
    messages: list[Any] = [
        *HELLO,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]

    message = ask(client, messages)

    assert "It is 10150." == message.content[0].text
    assert len(double.received[0].raw) < len(original) // 2


def test_over_openais_protocols_memory_works_too(front: Callable[..., Any], tmp_path: Path) -> None:
    turns = [Turn(parts=(Call(name="memory", arguments=NOTE),)), answer("Noted.")]
    chat = front(
        OpenAIDouble(replies(turns)), dialect="chat", memory=True, auto=True, config={"memory": tmp_path / "a"}
    )
    responses = front(
        OpenAIDouble(replies(turns)), dialect="responses", memory=True, auto=True, config={"memory": tmp_path / "b"}
    )
    client: Any = openai.OpenAI(base_url=f"{chat.url}/v1", api_key="any", max_retries=0)
    other: Any = openai.OpenAI(base_url=f"{responses.url}/v1", api_key="any", max_retries=0)

    chunks = client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    response = other.responses.create(model="gpt-5", input=HELLO, store=False)

    assert ("Noted.", "Noted.") == (said, response.output_text)


class Broken(FileStore):
    def write(self, *_: Any, **__: Any) -> None:
        raise StoreUnreachable("the disk is gone")


def test_without_its_store_memory_fails_and_says_so(front: Callable[..., Any], tmp_path: Path) -> None:
    double = AnthropicDouble(replies([Turn(parts=(Call(name="memory", arguments=NOTE),)), answer("I could not.")]))
    made = front(double, memory=True, auto=True, config={"memory": tmp_path}, parts=Parts(memory=Broken(root=tmp_path)))
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    message = ask(client, HELLO)

    (result,) = double.received[-1].body["messages"][-1]["content"]
    assert ("I could not.", True) == (message.content[0].text, result["is_error"])


def test_any_client_of_mcp_shares_the_memory(front: Callable[..., Any], tmp_path: Path) -> None:
    made = front(AnthropicDouble(), config={"memory": tmp_path, "key": "sesame"})

    async def talk() -> tuple[list[str], str, str]:
        async with (
            httpx2.AsyncClient(headers={"perdure-key": "sesame"}) as http,
            Client(streamable_http_client(f"{made.url}/mcp", http_client=http)) as client,
        ):
            listed = await client.list_tools()
            wrote = await client.call_tool("memory", NOTE)
            recalled = await client.call_tool("recall", {})
            return [tool.name for tool in listed.tools], text_in(wrote), text_in(recalled)

    assert (
        ["memory", "recall"],
        "File created successfully at: /memories/tea.md",
        "Nothing has left this conversation.",
    ) == asyncio.run(talk())
    assert 401 == httpx.post(f"{made.url}/mcp", json={}).status_code


def text_in(result: Any) -> str:
    return str(result.content[0].text)
