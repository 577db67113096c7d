"""How long the command takes to start: until it answers, and until a provider has the first request; and its memory.

It knows processes and a double. It must never count what the double takes.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.measure import Figure, Row
from perdure.session.spec import wall_clock
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import answer

ROUNDS = 7


def figures() -> Iterator[Row]:
    """The start of `--help`, of `config`, and of `-p` in a small repository."""
    yield Figure(what="`perdure --help`, until it has ended", ours=_ended("--help"), most=150)
    yield Figure(what="`perdure config get model`, until it has ended", ours=_ended("config", "get", "model"))
    yield Figure(what="`perdure -p`, until the provider has the request (wall clock)", ours=_asked(), most=400)
    # Kilobytes on Linux.
    size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield Figure(what="the largest of these processes", ours=size, unit="MiB", most=300)


def _ended(*words: str) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "perdure.cli", *words], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken) * 1_000


def _asked() -> float:
    double = AnthropicDouble(lambda _body: answer("Done."), clock=wall_clock)
    with tempfile.TemporaryDirectory() as folder, serve(double) as url:
        # A repository, as far as anybody looks who asks where one begins.
        (Path(folder) / ".git").mkdir()
        environment: Mapping[str, str] = {
            **os.environ,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "a key of the bench",
            "PERDURE_HOME": str(Path(folder) / "home"),
        }
        taken: list[float] = []
        for _ in range(ROUNDS):
            started = wall_clock()
            command = [sys.executable, "-m", "perdure.cli", "-p", "Say it is done.", "--cwd", folder, "--quiet"]
            subprocess.run(command, env=dict(environment), capture_output=True, check=True)
            taken.append(double.received[-1].at - started)
    return statistics.median(taken) * 1_000
