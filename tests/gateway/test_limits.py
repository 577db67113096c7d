"""What a request may cost: sizes, levels, time; clients that are slow on purpose; an end that is seen coming."""

import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx
import pytest
from starlette.types import Receive, Scope, Send

from perdure.gateway import Config, Gateway, Route, read_config
from perdure.gateway.limits import Room
from perdure.gateway.server import Server
from perdure.kernel.errors import CallRefused, InvalidSetting
from perdure.kernel.messages import encode_json
from perdure.memory import Principal
from perdure.testing.doubles import AnthropicDouble, serve

MODEL = "claude-sonnet-4-6"
BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "Hi."}]}
KEY = {"x-api-key": "any"}
POST = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n"


class Served:
    """A gateway as it is served, on its own thread."""

    def __init__(self, config: Config, again: Callable[[], Config] | None = None) -> None:
        self.gateway = Gateway(config)
        self.server = Server(self.gateway, again)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    with ExitStack() as stack:

        def make(upstream: Any, again: Callable[[], Config] | None = None, **options: Any) -> Served:
            address = stack.enter_context(serve(upstream))
            given: dict[str, Any] = {"open": True, "drain_notice": 0.0, **options}
            made = Served(Config(routes=(Route(base_url=address),), **given), again)
            stack.enter_context(running(made))
            return made

        yield make


@contextmanager
def running(made: Served) -> Generator[None]:
    made.thread.start()
    try:
        yield
    finally:
        made.server.should_exit = True
        made.thread.join(10)
        made.listener.close()


def ended(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    told = b""
    try:
        while piece := connection.recv(65_536):
            told += piece
    except ConnectionResetError:
        pass
    return told


@pytest.mark.parametrize("begun", [b"", b"POST /v1/mess", POST, POST + b"x: " + b"y" * 1_000])
def test_headers_that_do_not_come_end_the_connection(served: Callable[..., Served], begun: bytes) -> None:
    made = served(AnthropicDouble(), header_seconds=0.2)
    with made.connect() as connection:
        connection.sendall(begun)

        assert b"" == ended(connection)


def test_headers_that_trickle_have_no_more_time_than_others(served: Callable[..., Served]) -> None:
    made = served(AnthropicDouble(), header_seconds=0.3)
    done = threading.Event()

    def trickle(connection: socket.socket) -> None:
        for letter in POST * 1_000:
            try:
                connection.sendall(bytes([letter]))
            except OSError:
                return
            if done.wait(0.02):
                return

    with made.connect() as connection:
        thread = threading.Thread(target=trickle, args=(connection,), daemon=True)
        thread.start()

        assert b"" == ended(connection)
        done.set()
        thread.join()


def test_the_second_request_of_a_connection_has_no_more_time_either(served: Callable[..., Served]) -> None:
    made = served(AnthropicDouble(), header_seconds=0.3)
    with made.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        first = b""
        while not first.endswith(b"}"):
            first += connection.recv(65_536)
        connection.sendall(POST)

        assert first.startswith(b"HTTP/1.1 200")
        assert b"" == ended(connection)


@pytest.mark.parametrize(
    ("headers", "status"),
    [(b"".join(b"x-%d: y\r\n" % number for number in range(200)), 431), (b"x: " + b"y" * 200_000 + b"\r\n", 400)],
)
def test_too_many_headers_and_too_large_ones_are_refused_and_nobody_is_asked(
    served: Callable[..., Served], headers: bytes, status: int
) -> None:
    double = AnthropicDouble()
    made = served(double)
    with made.connect() as connection:
        connection.sendall(POST + headers + b"\r\n")

        assert connection.recv(64).startswith(b"HTTP/1.1 %d" % status)
    assert [] == double.received


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("levels", "status"), [(190, 200), (250, 400)])
def test_a_body_is_nested_only_so_deep(front: Callable[..., Any], levels: int, status: int) -> None:
    double = AnthropicDouble()
    made = front(double)
    answer = httpx.post(f"{made.url}/v1/messages", json={**BODY, "metadata": nested(levels)}, headers=KEY)

    assert (status == 400) == (double.received == [])
    assert (status == 400) == ("nested deeper" in answer.text)


def test_bodies_share_their_room_and_give_it_back(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), config={"max_bodies": 100_000})
    large = {**BODY, "messages": [{"role": "user", "content": "x" * 100_000}]}
    answers = [httpx.post(f"{made.url}/v1/messages", json=body, headers=KEY) for body in (large, BODY, large, BODY)]

    assert [503, 200, 503, 200] == [answer.status_code for answer in answers]
    assert "2" == answers[0].headers["retry-after"]


def test_a_form_that_signed_in_gives_its_room_back(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), config={"key": "sesame", "max_bodies": 25})
    statuses = [httpx.post(f"{made.url}/signin", data={"key": "sesame"}).status_code for _ in range(4)]

    assert [303] * 4 == statuses


def test_who_has_no_key_sends_no_large_body_anywhere(front: Callable[..., Any]) -> None:
    made = front(AnthropicDouble(), config={"key": "sesame"})
    paths = ("/healthz", "/readyz", "/signin", "/signout")

    assert [413] * 4 == [httpx.post(made.url + path, content=b"x" * 5_000).status_code for path in paths]


def test_one_of_several_callers_cannot_fill_the_room_alone() -> None:
    room, told = Room(most=100, share=40), list[str]()
    ana, ben, eve = (Principal(tenant="t", user=user) for user in ("ana", "ben", "eve"))
    for who, size in ((eve, 40), (eve, 1), (ana, 40), (ben, 21), (ben, 20)):
        try:
            room.take(who, size)
            told.append("held")
        except CallRefused:
            told.append("busy")
    for who, size in ((eve, 40), (ana, 40), (ben, 20)):
        room.give(who, size)

    assert ["held", "busy", "held", "busy", "held"] == told
    assert {} == room.held


class Flood:
    """An upstream that sends as fast as it is read, and counts."""

    def __init__(self) -> None:
        self.sent = 0
        self.left = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        piece = b"event: ping\ndata: " + b"x" * 60_000 + b"\n\n"
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, receive, group.cancel_scope)
            for _ in range(5_000):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                # Where nobody listens any more, sending waits for nothing.
                await anyio.lowlevel.checkpoint()
                self.sent += len(piece)

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()
        self.left.set()


def test_a_client_that_reads_nothing_holds_a_bounded_part_of_the_answer_and_is_let_go(
    served: Callable[..., Served],
) -> None:
    upstream = Flood()
    made = served(upstream, send_seconds=0.5)
    raw = encode_json({**BODY, "stream": True})
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", made.port))
        connection.sendall(POST + b"x-api-key: any\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw)

        assert upstream.left.wait(20)
    # The buffers of the kernel on both ways are all that lies between: 300 MB wait behind them.
    assert upstream.sent < 50_000_000


class Waiting:
    """An upstream that answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.told = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"event: ping\ndata: {}\n\n", "more_body": True})
        self.asked.set()
        await anyio.to_thread.run_sync(self.told.wait, 20)
        await send({"type": "http.response.body", "body": b"event: message_stop\ndata: {}\n\n"})


def test_who_is_told_to_end_says_so_first_and_finishes_what_is_under_way(served: Callable[..., Served]) -> None:
    upstream = Waiting()
    made = served(upstream, drain_notice=0.5)
    with httpx.Client(base_url=made.url, headers=KEY, timeout=20) as client:
        before = client.get("/readyz").status_code
        with client.stream("POST", "/v1/messages", json={**BODY, "stream": True}) as answer:
            upstream.asked.wait(10)
            made.server.handle_exit(signal.SIGTERM, None)
            noticed = client.get("/readyz")
            # The listener closes, and this call is under way all the same.
            while True:
                try:
                    made.connect().close()
                except OSError:
                    break
            upstream.told.set()
            text = answer.read().decode()
    made.thread.join(10)

    assert [200, 503, "draining"] == [before, noticed.status_code, noticed.json()["state"]]
    assert "close" == noticed.headers["connection"]
    assert "message_stop" in text
    assert not made.thread.is_alive()


def test_a_call_that_takes_too_long_ends(served: Callable[..., Served]) -> None:
    upstream = Waiting()
    made = served(upstream, call_seconds=0.3)
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{made.url}/v1/messages", json={**BODY, "stream": True}, headers=KEY)
    upstream.told.set()


TABLE = '{settings}\n[[route]]\nmodel = "{model}"\nbase_url = "{upstream}"\nkey = "env:UP"\n'


def test_a_signal_reads_the_configuration_again_and_a_broken_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, secret, double = tmp_path / "gateway.toml", tmp_path / "key", AnthropicDouble()
    secret.write_text("first")
    with serve(double) as upstream:

        def written(settings: str, model: str) -> str:
            return TABLE.format(settings=settings, model=model, upstream=upstream)

        up = {"UP": "upstream"}
        keyed = f'key = "file:{secret}"\n'
        file.write_text(written(keyed, "claude-*"))
        made = Served(read_config(file, up), lambda: read_config(file, up))
        with running(made), httpx.Client(base_url=made.url) as client:

            def asked(key: str, model: str) -> int:
                return client.post(
                    "/v1/messages", json={**BODY, "model": model}, headers={"x-api-key": key}
                ).status_code

            def again(text: str) -> None:
                file.write_text(text)
                seen = len(caplog.records)
                made.server.reload()
                while len(caplog.records) == seen:
                    client.get("/healthz")

            answers = [asked("first", MODEL), asked("first", "gpt-5")]
            for broken in ("port = ", keyed + "port = 1", keyed + "nothing = 1", "", keyed + "max_body = 0"):
                again(written(broken, "*"))
            answers.append(asked("first", "gpt-5"))
            secret.write_text("second")
            again(written(keyed, "gpt-5"))
            answers += [asked("first", "gpt-5"), asked("second", MODEL)]

    assert [200, 404, 404, 401, 404] == answers
    assert ["ERROR"] * 5 + ["WARNING"] == [one.levelname for one in caplog.records if one.name == "perdure.gateway"]


def test_what_a_limit_cannot_be_is_refused() -> None:
    for wrong in (Config(open=True, max_body=0), Config(open=True, max_depth=-1), Config(open=True, send_seconds=0.0)):
        with pytest.raises(InvalidSetting):
            wrong.check()


def test_a_port_that_no_system_has_is_refused_before_anything_listens() -> None:
    with pytest.raises(InvalidSetting, match="'port' is 99999"):
        Config(open=True, port=99_999).check()


def test_a_secret_stands_in_a_file_of_its_own_or_in_the_environment(tmp_path: Path) -> None:
    file, secret = tmp_path / "gateway.toml", tmp_path / "key"
    file.write_text(f'key = "file:{secret}"')
    secret.write_text("hidden\n")
    told = [str(read_config(file, {}).key)]
    secret.write_text("")
    with pytest.raises(InvalidSetting, match="is empty"):
        read_config(file, {})
    secret.unlink()
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_config(file, {})

    assert ["hidden"] == told
