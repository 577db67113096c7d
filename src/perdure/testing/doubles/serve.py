"""A double over loopback HTTP.

It knows sockets and threads. It must never know what the application answers. Nothing here waits by the clock: the
socket listens before the thread starts, so a client that comes early waits in the backlog.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

STOP_WITHIN = 10.0
"""Seconds until a server that does not stop is reported."""


@contextmanager
def serve(app: ASGIApp) -> Generator[str]:
    """Run an ASGI application on a free loopback port while the context lasts; yields its address, `http://127.0.0.1:PORT`.

    Raises:
        TimeoutError: the server did not stop in time.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="double", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(STOP_WITHIN)
            if thread.is_alive():
                raise TimeoutError(f"the server did not stop within {STOP_WITHIN:.0f} s; a request is still open")
