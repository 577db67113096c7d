"""What goes wrong upstream, at the client or in the store, and what the client hears of it."""

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import httpx
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway import Head, MemoryState, Parts, Record
from perdure.kernel.errors import StoreUnreachable
from perdure.memory import Principal
from perdure.testing.doubles import (
    AnthropicDouble,
    Cut,
    ErrorInStream,
    Overloaded,
    ServerError,
    Slow,
    answer,
)

MODEL = "claude-sonnet-4-6"
BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "Say a lot of it."}]}
KEY = {"x-api-key": "any"}


def events(url: str, body: dict[str, Any]) -> tuple[int, str]:
    response = httpx.post(f"{url}/v1/messages", json={**body, "stream": True}, headers=KEY)
    return response.status_code, response.text


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("fault", [Overloaded(), ServerError()])
def test_a_failure_before_the_answer_comes_back_with_its_status(
    front: Callable[..., Any], fault: Any, auto: bool
) -> None:
    double = AnthropicDouble()
    double.faults.append(fault)
    made = front(double, auto=auto)

    response = httpx.post(f"{made.url}/v1/messages", json=BODY, headers=KEY)

    assert double.received[0].status == response.status_code
    assert double.received[0].answer == response.json()


@pytest.mark.parametrize("auto", [False, True])
def test_an_error_in_the_stream_reaches_the_client(front: Callable[..., Any], auto: bool) -> None:
    double = AnthropicDouble(lambda _: answer("word " * 30))
    double.faults.append(ErrorInStream(after=3))
    made = front(double, auto=auto, memory=False)

    status, text = events(made.url, BODY)

    assert (200, 1) == (status, text.count("event: error"))


@pytest.mark.parametrize("recall", [False, True])
def test_a_stream_that_is_cut_ends_in_an_error_event(front: Callable[..., Any], recall: bool) -> None:
    double = AnthropicDouble(lambda _: answer("word " * 30))
    double.faults.append(Cut(after=3))
    made = front(double, auto=True, recall=recall)

    status, text = events(made.url, BODY)

    assert 200 == status
    assert "event: error" in text
    assert "broke off" in text
    assert "message_stop" not in text


def test_an_answer_that_is_cut_is_no_whole_answer(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    double.faults.extend([Cut(), Cut()])
    made = front(double, auto=True, recall=True)
    plain = front(double)

    gathered = httpx.post(f"{made.url}/v1/messages", json=BODY, headers=KEY)

    assert 502 == gathered.status_code
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{plain.url}/v1/messages", json=BODY, headers=KEY)


def test_pings_pass_while_a_model_is_slow_to_begin(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    double.faults.append(Slow(wait=lambda: None, pings=3))
    made = front(double, auto=True, recall=True)

    _, text = events(made.url, BODY)

    assert text.count("event: ping") >= 3


class Endless:
    """An upstream that never ends, and knows when nobody listens any more."""

    def __init__(self) -> None:
        self.left = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b'event: ping\ndata: {"type": "ping"}\n\n', "more_body": True}
        )
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


@pytest.mark.parametrize("recall", [False, True])
def test_a_client_that_leaves_closes_the_upstream(front: Callable[..., Any], recall: bool) -> None:
    upstream = Endless()
    made = front(upstream, auto=True, recall=recall)

    with httpx.stream("POST", f"{made.url}/v1/messages", json={**BODY, "stream": True}, headers=KEY) as response:
        next(response.iter_bytes())

    assert upstream.left.wait(10)
    assert 1 == made.gateway.metrics.of("disconnects")


class Nonsense:
    """An upstream whose events are none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'data: {"type": "message_delta"}\n\ndata: nonsense\n\n'})


def test_events_that_make_no_sense_end_in_an_error_event_or_pass_as_they_are(front: Callable[..., Any]) -> None:
    managed = front(Nonsense(), auto=True, recall=True)
    plain = front(Nonsense(), auto=True)

    assert "event: error" in events(managed.url, BODY)[1]
    assert "data: nonsense" in events(plain.url, BODY)[1]


class Outage(MemoryState):
    async def find(self, owner: Principal, hashes: Sequence[str], prefix: str) -> Head | None:
        raise StoreUnreachable("it is down")

    async def commit(self, owner: Principal, record: Record, head: Head | None) -> bool:
        raise StoreUnreachable("it is down")

    async def ready(self) -> bool:
        return False


def test_without_its_state_it_still_answers_and_says_that_it_has_none(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(lambda _: answer("Here.")), auto=True, parts=Parts(state=Outage()))
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    message: Any = client.messages.create(**BODY)

    assert ["Here."] == [block.text for block in message.content if block.type == "text"]
    assert 503 == httpx.get(f"{made.url}/readyz").status_code
    assert made.gateway.metrics.of("state_failures") > 0


def test_a_page_of_a_browser_reaches_nothing_where_there_is_no_key(front: Callable[..., Any]) -> None:
    double = AnthropicDouble()
    made = front(double)

    bound = httpx.post(f"{made.url}/v1/messages", json=BODY, headers={**KEY, "host": "evil.example"})
    other = httpx.post(f"{made.url}/v1/messages", json=BODY, headers={**KEY, "origin": "https://evil.example"})

    assert (403, 403, []) == (bound.status_code, other.status_code, double.received)


def test_a_body_that_does_not_arrive_is_not_waited_for(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), config={"body_seconds": 0.2})
    host, port = made.url.removeprefix("http://").split(":")

    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{")
        head = connection.recv(64)

    assert head.startswith(b"HTTP/1.1 408")
