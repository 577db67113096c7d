"""More requests than one for an answer, and more answers than one at a time of one conversation."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import anyio
import openai
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway import MemoryState
from perdure.gateway.conversations import IDLE, Conversations, Shelf, Wanted
from perdure.gateway.metrics import Metrics
from perdure.kernel.context import Settings
from perdure.kernel.messages import JsonObject, encode_json
from perdure.kernel.models import lookup
from perdure.kernel.wire import ANTHROPIC
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Say, Think, Turn, answer, replies
from perdure.testing.doubles.anthropic import MODELS

MODEL = "claude-sonnet-4-6"
READ: Any = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
NOTE = {"command": "create", "path": "/memories/tea.md", "file_text": "Green, three minutes."}
WRITTEN = "File created successfully at: /memories/tea.md"
EDIT: Any = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
LONG: Any = [
    {"role": "user", "content": "Remember tea. " + "word " * 55_000},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "What do I want?"},
]


def test_thinking_that_is_bound_to_other_words_is_left_out_and_the_client_hears_nothing(
    front: Callable[..., Any],
) -> None:
    thinks = Turn(parts=(Think(text="Hm."), Say(text="Yes.")))
    double = AnthropicDouble(replies([thinks, answer("Tea.")]))
    client: Any = anthropic.Anthropic(base_url=front(double, auto=True).url, api_key="any", max_retries=0)
    wish: Any = {"model": "claude-fable-5-2", "max_tokens": 2_000, "thinking": {"type": "adaptive"}}
    first = client.messages.create(messages=[{"role": "user", "content": "Tea?"}], **wish)
    said = [block.to_dict() for block in first.content]
    moved: Any = [{"role": "user", "content": "Coffee?"}, {"role": "assistant", "content": said}]

    second = client.messages.create(messages=[*moved, {"role": "user", "content": "And now?"}], **wish)

    assert ["thinking", "text"] == [block["type"] for block in said]
    assert "Tea." == second.content[-1].text
    assert [200, 400, 200] == [one.status for one in double.received]
    assert "drop_block" == double.received[-1].body["thinking"]["block_binding"]["prefix_mismatch_behavior"]


def summing(turns: list[Turn]) -> Callable[[dict[str, Any]], Turn]:
    """A model that says these turns, and a summary whenever it is asked for one."""
    then = replies(turns)

    def script(body: dict[str, Any]) -> Turn:
        items: Any = body.get("messages") or body.get("input")
        return answer("<summary>Tea.</summary>") if "Summarize the transcript" in str(items[-1]) else then(body)

    return script


@pytest.mark.parametrize("stream", [False, True])
def test_a_hidden_round_behind_a_summary_in_the_same_answer_goes_back_upstream(
    front: Callable[..., Any], tmp_path: Path, stream: bool
) -> None:
    writes = Turn(parts=(Say(text="Let me note that."), Call(name="memory", arguments=NOTE)))
    double = AnthropicDouble(summing([writes, answer(" Noted."), answer("Green.")]))
    made = front(double, memory=True, native="never", config={"memory": tmp_path})
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    wish: Any = {"model": MODEL, "max_tokens": 500, "betas": ["compact-2026-01-12"]}
    wish["context_management"] = {"edits": [EDIT]}

    def ask(messages: list[Any]) -> Any:
        if not stream:
            return client.beta.messages.create(messages=messages, **wish)
        with client.beta.messages.stream(messages=messages, **wish) as events:
            return events.get_final_message()

    first = ask(LONG)
    said = {"role": "assistant", "content": [block.to_dict() for block in first.content]}
    second = ask([*LONG, said, {"role": "user", "content": "And now?"}])

    _, one, two, three = (received.body["messages"] for received in double.received)
    assert ["compaction", "text", "text"] == [block.type for block in first.content]
    assert "Green." == second.content[0].text
    assert (one, two) == (two[: len(one)], three[: len(two)])
    assert WRITTEN in str(two)


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_over_responses(front: Callable[..., Any], tmp_path: Path, stream: bool) -> None:
    writes = Turn(parts=(Say(text="Let me note that."), Call(name="memory", arguments=NOTE)))
    double = OpenAIDouble(summing([writes, answer(" Noted."), answer("Green.")]))
    made = front(double, dialect="responses", memory=True, native="never", config={"memory": tmp_path})
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)
    wish: Any = {"model": "gpt-5", "store": False}
    wish["context_management"] = [{"type": "compaction", "compact_threshold": 50_000}]

    def ask(items: list[Any]) -> Any:
        if not stream:
            return client.responses.create(input=items, **wish)
        events: list[Any] = list(client.responses.create(input=items, stream=True, **wish))
        assert list(range(len(events))) == [event.sequence_number for event in events]
        return events[-1].response

    first = ask(LONG)
    said = [item.to_dict() for item in first.output]
    second = ask([*LONG, *said, {"role": "user", "content": "And now?"}])

    _, one, two, three = (received.body["input"] for received in double.received)
    assert ["compaction", "message", "message"] == [item.type for item in first.output]
    assert "Green." == second.output_text
    assert (one, two) == (two[: len(one)], three[: len(two)])
    assert WRITTEN in str(two)


class Meeting:
    """An upstream that answers the first request when the second has come, by a call of memory."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.first, self.second = threading.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw, more = b"", True
        while more:
            message = await receive()
            raw, more = raw + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(raw.decode())
        content: Any = [{"type": "text", "text": "Done."}]
        match len(self.bodies):
            case 1:
                self.first.set()
                await self.second.wait()
                content = [{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": NOTE}]
            case 2:
                self.second.set()
            case _:
                pass
        usage: Any = {"input_tokens": 10, "output_tokens": 5}
        reason = content[0]["type"].replace("text", "end_turn")
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content,
                "stop_reason": reason, "stop_sequence": None, "usage": usage}  # fmt: skip
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": encode_json(body)})


def test_who_goes_on_meanwhile_changes_nothing_for_who_is_in_a_hidden_round(
    front: Callable[..., Any], tmp_path: Path
) -> None:
    upstream = Meeting()
    made = front(upstream, memory=True, auto=True, config={"memory": tmp_path})
    first: Any = [{"role": "user", "content": "Tea?"}]
    later: Any = [*first, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Something else."}]

    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    def ask(messages: Any) -> str:
        return str(client.messages.create(model=MODEL, max_tokens=99, messages=messages).content[0].text)

    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(ask, first)
        assert upstream.first.wait(10)
        said = [ask(later), early.result()]

    assert ["Done.", "Done."] == said
    _, two, three = upstream.bodies
    assert ("Something else." in two, "Something else." in three) == (True, False)
    assert WRITTEN in three


def test_of_many_at_once_in_one_conversation_none_is_lost(front: Callable[..., Any]) -> None:
    double = AnthropicDouble(lambda _: answer("ok"), models={MODEL: replace(MODELS[MODEL], window=9_000)})
    made = front(double, auto=True, window=9_000)

    def talk(count: int) -> list[Any]:
        messages: list[Any] = [{"role": "user", "content": "Read, and never touch gen/."}]
        for number in range(count):
            use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"f{number}"}}
            text = "\n".join(f"{number}:{line}: value = {line * number}" for line in range(80))
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
            messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        return messages

    async def run() -> None:
        async with (
            anthropic.AsyncAnthropic(base_url=made.url, api_key="any", max_retries=0) as client,
            anyio.create_task_group() as group,
        ):
            for count in (3, 9, 6, 12, 9, 3, 12, 6):
                group.start_soon(lambda count: client.messages.create(
                    model=MODEL, max_tokens=99, tools=[READ], messages=talk(count)), count)  # fmt: skip

    asyncio.run(run())

    state: Any = made.gateway.state
    requests = sum(record.sums["requests"] for record in state.records.values())
    assert [200] * len(double.received) == [one.status for one in double.received]
    assert 8 == requests
    assert all("never touch gen/" in one.raw.decode() for one in double.received)


def test_a_conversation_that_rests_is_held_no_longer() -> None:
    conversations = Conversations(MemoryState(), Metrics())

    def asked(text: str, now: float) -> Shelf:
        item: JsonObject = {"role": "user", "content": text}
        return conversations.shelf(
            Wanted(
                owner=Principal(tenant="t", user="u"), codec=ANTHROPIC, profile=lookup(MODEL), settings=Settings(),
                seed=b"", told=[], overhead=0, items=[item], now=now,
            )
        )  # fmt: skip

    first = asked("Tea?", 0.0)
    assert first is asked("Tea?", IDLE)
    second = asked("Coffee?", 2 * IDLE + 1)

    assert [second] == list(conversations.shelves.values())
