"""Requests made up from the gateway's own description, by schemathesis: none may be a failure of ours.

    python -m venv /tmp/schemathesis && /tmp/schemathesis/bin/pip install schemathesis
    .venv/bin/python scripts/fuzz_gateway.py /tmp/schemathesis/bin/schemathesis [CASES]

It is no dependency of the project: it brings two dozen packages for this one check, and the suite has mutated bodies of
its own. Two tenants share a gateway in front of strict doubles; one has a word in its conversation and in its memory
that the other, for whom the requests are made up, may never see. Exit code 0 where no answer was a 5xx, none showed
where in the code it was made, and the word stayed where it was.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from perdure.gateway import Config, Gateway, Parts, Route
from perdure.gateway.callers import Caller
from perdure.kernel.messages import Json
from perdure.memory import FileStore, Principal, parse_path
from perdure.testing.doubles import AnthropicDouble, OpenAIDouble, Turn, answer, echo, serve

CASES = 300
WORD = "zirkonquitte"
"""What belongs to one tenant alone."""
FIRST, SECOND = Principal(tenant="first", user="ana"), Principal(tenant="second", user="ben")
KEYS = {"key of the first": FIRST, "key of the second": SECOND}


class TwoKeys:
    """Keys of two tenants."""

    async def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """See `KeyStore`."""
        return await self.holder(headers.get("x-api-key", ""))

    async def holder(self, key_id: str) -> Caller | None:
        """See `KeyStore`."""
        owner = KEYS.get(key_id)
        return Caller(principal=owner, spent=frozenset({"x-api-key"}), key=key_id) if owner else None


class Judge:
    """Looks at every answer of the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request (ASGI)."""
        body = bytearray()

        async def looked(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.statuses[message["status"]] += 1
                if message["status"] >= 500:
                    self.wrong.append(f"{message['status']} of {scope['method']} {scope['path']}")
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
            await send(message)

        await self._gateway(scope, receive, looked)
        for word in (WORD, "Traceback", ".py"):
            if word.encode() in body:
                self.wrong.append(f"{word!r} in an answer of {scope['path']}")


@contextmanager
def running(judge: Judge) -> Generator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(judge, log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def speaking(body: dict[str, object]) -> Turn:
    """A model that says again what the user said, or sums it up."""
    return answer("<summary>It was short.</summary>") if "Summarize the transcript" in str(body) else echo(body)


def main(arguments: Sequence[str]) -> int:
    program, cases = arguments[0], arguments[1] if len(arguments) > 1 else str(CASES)
    with (
        tempfile.TemporaryDirectory() as name,
        serve(AnthropicDouble(speaking)) as one,
        serve(OpenAIDouble(speaking)) as two,
    ):
        store = FileStore(root=Path(name))
        store.write(FIRST, parse_path("/memories/w.md"), WORD, expected=None)
        routes = (
            Route(model="0*", key="any", base_url=two, dialect="chat", upstream_model="gpt-4o", auto=True),
            Route(key="any", base_url=one, upstream_model="claude-sonnet-4-6", auto=True, memory=True, recall=True),
        )
        config = Config(open=False, key="unused", memory=Path(name), routes=routes)
        judge = Judge(Gateway(config, Parts(keys=TwoKeys(), memory=store)))
        with running(judge) as url:
            said: Json = [{"role": "user", "content": "0"}]
            body: Json = {"model": "0", "max_tokens": 9, "messages": said, "system": WORD}
            httpx.post(f"{url}/v1/messages", json=body, headers={"x-api-key": "key of the first"}).raise_for_status()
            judge.statuses.clear()
            wanted = [f"{url}/openapi.json", "--checks", "not_a_server_error", "--max-examples", cases, "--no-color"]
            done = subprocess.run(
                [
                    program,
                    "run",
                    *wanted,
                    "-H",
                    "x-api-key: key of the second",
                    "--phases",
                    "examples,coverage,fuzzing",
                ],
                check=False,
            )
    print(f"{judge.statuses.total()} answers: {dict(sorted(judge.statuses.items()))}")
    print(*sorted(set(judge.wrong)), sep="\n")
    return 1 if judge.wrong or done.returncode else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
