"""A real coding agent finishes sixty tool rounds through the gateway, with a fifth of the window that it needs.

    unshare -rn .venv/bin/python bench/clients/through_gateway.py claude /path/to/claude
    unshare -rn .venv/bin/python bench/clients/through_gateway.py codex /path/to/codex

Run it in a network namespace of its own, as above: only loopback is there, and the model is a strict double. Prints
what the double received and refused; exit code 0 where the task was finished without one refused request. Codex sends
`client_metadata`, which is documented nowhere and which OpenAI takes from it; the double does not, so it is taken out.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from perdure.gateway import Config, Gateway, Route
from perdure.kernel.messages import decode_object, encode_json
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Turn, answer, serve
from perdure.testing.doubles.anthropic import MODELS
from perdure.testing.doubles.openai import OPENAI_MODELS

ROUNDS = 60
LINES = 330
"""Of each file: some 5,000 tokens."""
WINDOW = 64_000
SECONDS = 500
CLAUDE, CODEX = "claude-sonnet-4-5", "gpt-5"
SHELLS = ("Bash", "exec_command", "shell", "shell_command", "local_shell")


def loopback_up() -> None:
    """In a new namespace loopback is there, and down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sh", b"lo", 1 | 64))


def working(folder: Path) -> Callable[[dict[str, Any]], Turn]:
    """A model that reads one file after the other with whatever shell the client has."""
    done = 0

    def script(body: dict[str, Any]) -> Turn:
        nonlocal done
        tools: list[dict[str, Any]] = body.get("tools") or []
        names = [str(tool.get("name")) for tool in tools]
        shell = next((name for name in SHELLS if name in names), None)
        last = str((body.get("messages") or body.get("input") or [""])[-1])
        if shell is None or "Harness request" in last:
            return answer("<summary>## Goal\n- Read all the files.</summary>")
        done += 1
        if done > ROUNDS:
            return answer("ALL DONE")
        command = f"cat {folder}/f{done}.txt"
        key = "cmd" if shell == "exec_command" else "command"
        value: Any = ["bash", "-lc", command] if shell in ("shell", "local_shell") else command
        more = {"description": "Read a file"} if shell == "Bash" else {}
        return Turn(parts=(Call(name=shell, arguments={key: value, **more}),))

    return script


class WithoutMetadata:
    """Takes out the one field that the double does not know."""

    def __init__(self, double: OpenAIDouble) -> None:
        self._double = double

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        given = decode_object(body)
        given.pop("client_metadata", None)
        waiting: list[Any] = [{"type": "http.request", "body": encode_json(given)}]

        async def again() -> Any:
            return waiting.pop() if waiting else await receive()

        await self._double(scope, again, send)


@contextmanager
def running(gateway: Gateway) -> Generator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(gateway, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def command_of(client: str, program: str, url: str, home: Path) -> tuple[list[str], dict[str, str]]:
    task = "Read all the files with the shell, one after the other, then say ALL DONE."
    quiet = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1"}
    if client == "claude":
        environment = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "any",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        }
        given = [program, "-p", task, "--model", CLAUDE, "--allowedTools", "Bash(cat:*)", "--output-format", "text"]
        return given, {**quiet, **environment}
    settings = {
        "model": CODEX,
        "model_provider": "gateway",
        "model_providers.gateway.name": "gateway",
        "model_providers.gateway.base_url": f"{url}/v1",
        "model_providers.gateway.wire_api": "responses",
        "model_providers.gateway.env_key": "GATEWAY_KEY",
        "analytics.enabled": "false",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [program, "exec", *flags, *options, task], {**quiet, "GATEWAY_KEY": "any", "CODEX_HOME": str(home)}


def main() -> int:
    client, program = sys.argv[1], sys.argv[2]
    loopback_up()
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name) / "work", Path(name) / "home"
        folder.mkdir()
        home.mkdir()
        for number in range(1, ROUNDS + 1):
            lines = (f"{number}:{line}: value_{line} = compute({line * number})" for line in range(LINES))
            (folder / f"f{number}.txt").write_text("\n".join(lines), encoding="utf-8")
        double: Any
        if client == "claude":
            models = {key: replace(model, window=WINDOW) for key, model in MODELS.items()}
            double, dialect = AnthropicDouble(working(folder), models=models), "anthropic"
        else:
            double = OpenAIDouble(working(folder), models={CODEX: replace(OPENAI_MODELS[CODEX], window=WINDOW)})
            dialect = "responses"
        with serve(double if client == "claude" else WithoutMetadata(double)) as upstream:
            route = Route(base_url=upstream, dialect=dialect, auto=True, window=WINDOW)
            gateway = Gateway(Config(open=True, routes=(route,)))
            with running(gateway) as url:
                given, environment = command_of(client, program, url, home)
                done = subprocess.run(
                    given,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    check=False,
                    stdin=subprocess.DEVNULL,
                )
        refused = [str(one.answer)[:300] for one in double.received if one.status != 200]
        print(f"exit code {done.returncode}; it said {done.stdout.strip()[-200:]!r} {done.stderr.strip()[-300:]!r}")
        print(f"{len(double.received)} requests upstream, {len(refused)} refused", *refused[:5], sep="\n  ")
        print(gateway.metrics.text() if "-v" in sys.argv else "")
        return 0 if done.returncode == 0 and "ALL DONE" in done.stdout and not refused else 1


if __name__ == "__main__":
    raise SystemExit(main())
