"""A gateway in front of a double, both over loopback."""

import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest
import uvicorn

from perdure.gateway import Config, Gateway, Parts, Route
from perdure.testing.doubles import serve

Double = Any


@dataclass(frozen=True, slots=True)
class Front:
    url: str
    gateway: Gateway


@contextmanager
def running(gateway: Gateway) -> Generator[str]:
    """With its lifespan, so that its connections are closed in the loop that made them."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        config = uvicorn.Config(
            gateway, loop="asyncio", http="h11", ws="none", lifespan="on", access_log=False, log_config=None
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(autouse=True)
def clients_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A client of an SDK that nobody closes keeps its socket until the garbage is collected, in some other test."""
    made: list[Any] = []

    def noting(begin: Callable[..., None]) -> Callable[..., None]:
        def begun(client: Any, *args: Any, **kwargs: Any) -> None:
            begin(client, *args, **kwargs)
            made.append(client)

        return begun

    for kind in (anthropic.Anthropic, openai.OpenAI):
        monkeypatch.setattr(kind, "__init__", noting(kind.__init__))
    yield
    for client in made:
        client.close()


@pytest.fixture
def front() -> Iterator[Callable[..., Front]]:
    """Makes gateways; options are those of the route, and `config` and `parts` those of the whole."""
    with ExitStack() as stack:

        def make(
            double: Double, config: dict[str, Any] | None = None, parts: Parts | None = None, **route: Any
        ) -> Front:
            upstream = stack.enter_context(serve(double))
            made = Config(
                **{
                    "open": not {"key", "keys"} & (config or {}).keys(),
                    "routes": (Route(base_url=upstream, **route),),
                    **(config or {}),
                }
            )
            gateway = Gateway(made, parts)
            return Front(stack.enter_context(running(gateway)), gateway)

        yield make
