"""Streams that the gateway changes: told as they come, in whichever protocol, and never with a false end."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import anyio.to_thread
import httpx
import openai
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway.refusals import framed
from perdure.kernel.context.context import CODECS
from perdure.kernel.messages import JsonObject, Message, Response, Text, ToolUse
from perdure.testing.doubles import AnthropicDouble, Call, Cut, OpenAIDouble, Say, Turn, answer, replies

MODEL = "claude-sonnet-4-6"
KEY = {"authorization": "Bearer any"}
NOTE = {"command": "create", "path": "/memories/tea.md", "file_text": "Green, three minutes."}
PATHS = {"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}
DIALECTS = list(PATHS)
HELLO: Any = [{"role": "user", "content": "Hi"}]
TOOL: Any = {"name": "read", "parameters": {"type": "object"}}
CHAT_TOOL: Any = {"type": "function", "function": TOOL}


def body(dialect: str) -> dict[str, Any]:
    """A request for a stream."""
    given = {"input": HELLO} if dialect == "responses" else {"messages": HELLO}
    return {"model": MODEL, "stream": True, **given, **({"max_tokens": 99} if dialect == "anthropic" else {})}


def events_of(dialect: Any, *content: Any, reason: str = "") -> list[JsonObject]:
    """What an upstream sends for an answer."""
    usual = {"anthropic": "tool_use", "chat": "tool_calls", "responses": "completed"}
    message = Message(
        id="m0", role="assistant", content=content, provenance="assistant", stop_reason=reason or usual[dialect]
    )
    return list(CODECS[dialect].encode_events(Response(message=message)))


class Told:
    """An upstream that sends these events, and before some of them waits until it is told to go on."""

    def __init__(
        self, dialect: Any, events: list[JsonObject], wait: Callable[[JsonObject], bool] | None = None
    ) -> None:
        self.dialect, self.events = dialect, events
        self.wait: Callable[[JsonObject], bool] = wait or (lambda _: False)
        self.go_on, self.late, self.left = threading.Event(), False, threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in self.events:
            if self.wait(event):
                self.late = not await anyio.to_thread.run_sync(partial(self.go_on.wait, 5)) or self.late
            await send({"type": "http.response.body", "body": framed(self.dialect, event), "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n" if self.dialect == "chat" else b""})


@pytest.mark.parametrize(
    ("client", "upstream"), [(one, two) for one in DIALECTS for two in DIALECTS if (one, two) != ("anthropic",) * 2]
)
def test_the_first_words_arrive_before_the_upstream_has_said_the_next(
    front: Callable[..., Any], tmp_path: Path, client: str, upstream: str
) -> None:
    use = ToolUse(id="call_1", name="read", input={"path": "a"}, raw_input='{"path":"a"}')
    double = Told(
        upstream, events_of(upstream, Text(text="One."), use), lambda event: '"read"' in str(framed("chat", event))
    )
    made = front(double, dialect=upstream, memory=True, config={"memory": tmp_path})

    text = ""
    with httpx.stream("POST", made.url + PATHS[client], json=body(client), headers=KEY) as response:
        for piece in response.iter_text():
            text += piece
            if "One." in text:
                double.go_on.set()

    assert not double.late
    assert "read" in text
    assert ("[DONE]" if client == "chat" else "message_stop" if client == "anthropic" else "response.completed") in text


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_over_openais_protocols_a_hidden_round_is_streamed_and_goes_back_upstream(
    front: Callable[..., Any], tmp_path: Path, dialect: str
) -> None:
    writes = Turn(parts=(Say(text="Let me note that."), Call(name="memory", arguments=NOTE)))
    reads = Turn(parts=(Say(text=" Noted."), Call(name="read", arguments={"path": "a"})))
    double = OpenAIDouble(replies([writes, reads, answer("Green.")]))
    made = front(double, dialect=dialect, memory=True, auto=True, config={"memory": tmp_path})
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)

    if dialect == "chat":
        wish: Any = {"model": "gpt-4o", "tools": [CHAT_TOOL], "stream_options": {"include_usage": True}}
        with client.chat.completions.stream(messages=HELLO, **wish) as stream:
            first = stream.get_final_completion()
        said = first.choices[0].message
        shown = (said.content, [call.function.name for call in said.tool_calls], first.choices[0].finish_reason)
        result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "ok"}
        back = [*HELLO, {"role": "assistant", "content": said.content, "tool_calls": [said.tool_calls[0].to_dict()]}]
        with client.chat.completions.stream(messages=[*back, result], **wish) as stream:
            last = stream.get_final_completion().choices[0].message.content
        sent = [one.body["messages"] for one in double.received]
    else:
        wish = {"model": "gpt-5", "tools": [{"type": "function", **TOOL}], "store": False}
        with client.responses.stream(input=HELLO, **wish) as stream:
            first = stream.get_final_response()
        (call,) = [item for item in first.output if item.type == "function_call"]
        shown = (first.output_text, [call.name], "tool_calls")
        items = [item.to_dict() for item in first.output]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}
        with client.responses.stream(input=[*HELLO, *items, result], **wish) as stream:
            last = stream.get_final_response().output_text
        sent = [one.body["input"] for one in double.received]

    assert ("Let me note that. Noted.", ["read"], "tool_calls") == shown
    assert "Green." == last
    assert [200, 200, 200] == [one.status for one in double.received]
    assert "File created successfully at: /memories/tea.md" in str(sent[1])
    assert (sent[0], sent[1]) == (sent[1][: len(sent[0])], sent[2][: len(sent[1])])


def test_items_of_a_joined_stream_are_numbered_without_a_gap(front: Callable[..., Any], tmp_path: Path) -> None:
    both = Turn(parts=(Call(name="memory", arguments=NOTE), Call(name="read", arguments={"path": "a"})))
    made = front(OpenAIDouble(replies([both])), dialect="responses", memory=True, config={"memory": tmp_path})
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)

    events: list[Any] = list(
        client.responses.create(model="gpt-5", input=HELLO, tools=[{"type": "function", **TOOL}], stream=True)
    )

    assert list(range(len(events))) == [event.sequence_number for event in events]
    assert {0} == {event.output_index for event in events if hasattr(event, "output_index")}
    assert ["read"] == [item.name for item in events[-1].response.output]


def test_a_call_that_gets_its_name_late_is_held_back_until_it_is_known_whose_it_is(
    front: Callable[..., Any], tmp_path: Path
) -> None:
    def chunk(delta: Any, reason: str | None = None) -> JsonObject:
        return {"id": "c", "object": "chat.completion.chunk", "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason}]}  # fmt: skip

    pieces: list[Any] = [{"index": 0, "id": "call_1", "type": "function", "function": {"arguments": '{"pa'}},
                         {"index": 0, "function": {"name": "read", "arguments": 'th":"a"}'}},
                         {"index": 1, "id": "call_2", "function": {"name": "memory", "arguments": "{}"}}]  # fmt: skip
    events = [chunk({"tool_calls": [piece]}) for piece in pieces] + [chunk({}, "tool_calls")]
    made = front(Told("chat", events), dialect="chat", memory=True, config={"memory": tmp_path})
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)

    with client.chat.completions.stream(model="m", messages=HELLO, tools=[CHAT_TOOL]) as stream:
        (choice,) = stream.get_final_completion().choices

    assert [("read", '{"path":"a"}')] == [
        (one.function.name, one.function.arguments) for one in choice.message.tool_calls
    ]


def test_a_client_of_responses_hears_of_parallel_calls_one_after_the_other(front: Callable[..., Any]) -> None:
    both = Turn(parts=(Say(text="I read " + "two files " * 20), Call(name="read", arguments={"path": "a"}),
                       Call(name="read", arguments={})))  # fmt: skip
    made = front(OpenAIDouble(replies([both])), dialect="chat", upstream_model="gpt-4o")
    client: Any = openai.OpenAI(base_url=f"{made.url}/v1", api_key="any", max_retries=0)

    with client.responses.stream(model="m", input=HELLO, tools=[{"type": "function", **TOOL}]) as stream:
        events: list[Any] = list(stream)
        final = stream.get_final_response()

    assert sum(event.type == "response.output_text.delta" for event in events) > 2
    assert [0, 1, 2] == [event.output_index for event in events if event.type == "response.output_item.done"]
    assert ['{"path":"a"}', "{}"] == [item.arguments for item in final.output[1:]]
    assert (final.id, "completed") == (events[0].response.id, final.status)
    assert final.usage.input_tokens > 0


CUT = ["responses anthropic", "responses chat", "chat anthropic", "chat chat", "responses responses"]


@pytest.mark.parametrize("ways", CUT)
def test_a_stream_that_is_cut_has_no_end(front: Callable[..., Any], tmp_path: Path, ways: str) -> None:
    client, upstream = ways.split()
    kind = AnthropicDouble if upstream == "anthropic" else OpenAIDouble
    double = kind(replies([answer("word " * 50)]))
    double.faults.append(Cut(after=5))
    called = MODEL if upstream == "anthropic" else "gpt-4o"
    made = front(double, dialect=upstream, upstream_model=called, memory=True, config={"memory": tmp_path})

    text = httpx.post(made.url + PATHS[client], json=body(client), headers=KEY).text

    assert "broke off" in text
    assert ("completed" not in text, "[DONE]" not in text) == (True, True)


def malformed() -> dict[str, tuple[str, list[JsonObject]]]:
    text = events_of("anthropic", Text(text="One."))
    items = events_of("responses", Text(text="One."))
    chunks = events_of("chat", Text(text="One."))
    call: Any = {"index": 0, "delta": {"tool_calls": ["nonsense"]}, "finish_reason": None}
    return {
        "a block without an end": ("anthropic", [event for event in text if event["type"] != "content_block_stop"]),
        "a piece of no block": ("anthropic", [text[0], {**text[2], "index": 7}]),
        "an end at once": ("anthropic", [{"type": "message_stop"}]),
        "an item without an end": ("responses", [one for one in items if one["type"] != "response.output_item.done"]),
        "an item twice": ("responses", [*items[:3], items[2]]),
        "no end": ("responses", items[:-1]),
        "a call that is none": ("chat", [chunks[0], {**chunks[0], "choices": [call]}]),
        "no reason": ("chat", chunks[:-1]),
        "nothing": ("chat", []),
    }  # fmt: skip


TOLD_OTHERWISE = [
    (client, what)
    for what, (upstream, _) in malformed().items()
    for client in DIALECTS
    # Chat Completions tells no end of a block: for its clients nothing is missing there.
    if client != upstream and not (client == "chat" and what.endswith("without an end"))
]


@pytest.mark.parametrize(("client", "what"), TOLD_OTHERWISE)
def test_events_that_make_no_sense_end_in_an_error_and_never_in_a_false_end(
    front: Callable[..., Any], client: str, what: str
) -> None:
    dialect, events = malformed()[what]
    made = front(Told(dialect, events), dialect=dialect)

    response = httpx.post(made.url + PATHS[client], json=body(client), headers=KEY)

    assert 200 == response.status_code
    assert '"error"' in response.text.splitlines()[-2]
    assert not any(end in response.text for end in ("message_stop", "[DONE]", "response.completed"))
    assert "Traceback" not in response.text


class Endless(Told):
    """An upstream that begins, never ends, and knows when nobody listens any more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


@pytest.mark.parametrize(("client", "upstream"), [("responses", "chat"), ("anthropic", "chat"), ("chat", "anthropic")])
def test_a_client_that_leaves_a_translated_stream_before_its_first_word_closes_the_upstream(
    front: Callable[..., Any], client: str, upstream: str
) -> None:
    double = Endless(upstream, [])
    made = front(double, dialect=upstream)

    with httpx.stream("POST", made.url + PATHS[client], json=body(client), headers=KEY) as response:
        next(response.iter_bytes())

    assert double.left.wait(10)
    assert 1 == made.gateway.metrics.of("disconnects")


def test_a_block_of_compaction_comes_first_in_a_translated_stream(front: Callable[..., Any]) -> None:
    def script(asked: Any) -> Turn:
        return answer("<summary>All of it.</summary>" if "Harness request" in str(asked["messages"][-1]) else "Go on.")

    made = front(OpenAIDouble(script), dialect="chat", upstream_model="gpt-4o")
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)
    edit: Any = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    long: Any = [{"role": "user", "content": "word " * 60_000}]

    with client.beta.messages.stream(
        model=MODEL, max_tokens=99, messages=long, context_management={"edits": [edit]}, betas=["compact-2026-01-12"]
    ) as stream:
        starts = [(event.index, event.content_block.type) for event in stream if event.type == "content_block_start"]
        message = stream.get_final_message()

    assert [(0, "compaction"), (1, "text")] == starts
    assert ("Go on.", "end_turn") == (message.content[1].text, message.stop_reason)
    assert ["compaction", "message"] == [one.type for one in message.usage.iterations]
