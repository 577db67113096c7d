"""How long the command takes to start: until it answers, until there is a prompt, and until a provider has a request.

It knows processes and a double. It must never count what the double takes. An installed package has its modules
compiled, so the first run of each command compiles them and is not counted.
"""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench.footprint import peak_of
from bench.measure import Figure, Missing, Row, Took
from perdure.session.spec import wall_clock
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import Turn, answer
from perdure.testing.doubles.shape import Body

ROUNDS = 9
MOST = 400
"""Milliseconds until there is a prompt, or until the provider has the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A small repository, and what a command finds around it."""

    folder: Path
    environment: Mapping[str, str]


def figures() -> Iterator[Row]:
    """The start of `--help`, of `config`, of `-p` and of the screen, in a small repository."""
    if not Path("/proc/self/stat").exists():
        yield Missing(what="the start of the command (this system does not tell what a process has used)")
        return
    with _place() as place:
        yield _figure("`perdure --help`, until it has ended", [_ended(place, "--help") for _ in _rounds()], 150)
        told = [_ended(place, "config", "get", "model") for _ in _rounds()]
        yield _figure("`perdure config get model`, until it has ended", told)
        asked = [_asked(place) for _ in _rounds()]
        yield _figure("`perdure -p`, until the provider has the request", [took for took, _ in asked], MOST)
        yield _figure("`perdure`, until there is a prompt", [_prompted(place) for _ in _rounds()], MOST)
        yield Figure(what="`perdure -p`, memory then", ours=max(size for _, size in asked), unit="MiB", most=300)


def _figure(what: str, runs: list[Took], most: float | None = None) -> Figure:
    counted = runs[1:]
    middle = Took(
        cpu=statistics.median(run.cpu for run in counted), wall=statistics.median(run.wall for run in counted)
    )
    return Figure(what=what, ours=middle.cpu, wall=middle.wall, most=most)


def _rounds() -> range:
    return range(ROUNDS + 1)


@contextmanager
def _place() -> Generator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        # A repository, as far as anybody looks who asks where one begins.
        (work / ".git").mkdir(parents=True)
        environment = {name: given for name, given in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {
            "ANTHROPIC_API_KEY": "a key of the bench",
            "PERDURE_HOME": str(Path(folder) / "home"),
            "PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled"),
            "TERM": "xterm-256color",
        }
        yield Place(folder=work, environment=environment)


def _ended(place: Place, *words: str) -> Took:
    started, before = perf_counter(), _ended_children()
    subprocess.run(_command(*words), env=dict(place.environment), cwd=place.folder, capture_output=True, check=True)
    return Took(cpu=_ended_children() - before, wall=1_000 * (perf_counter() - started))


def _asked(place: Place) -> tuple[Took, float]:
    """What it took until the request was there, and the memory at that time."""
    running: list[subprocess.Popen[bytes]] = []
    seen: list[tuple[float, float, float]] = []

    def script(_body: Body) -> Turn:
        seen.append((_used(running[0].pid), perf_counter(), peak_of(running[0].pid)))
        return answer("Done.")

    with serve(AnthropicDouble(script, clock=wall_clock)) as url:
        environment = {**place.environment, "ANTHROPIC_BASE_URL": url}
        started = perf_counter()
        command = _command("-p", "Say it is done.", "--quiet")
        with subprocess.Popen(command, env=environment, cwd=place.folder, stdout=subprocess.DEVNULL) as process:
            running.append(process)
    cpu, at, size = seen[0]
    return Took(cpu=cpu, wall=1_000 * (at - started)), size


def _prompted(place: Place) -> Took:
    ours, theirs = pty.openpty()
    started = perf_counter()
    with subprocess.Popen(
        _command(), env=dict(place.environment), cwd=place.folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        # The line that says which model answers, then the prompt.
        while b"> " not in seen.partition(b"/help")[2]:
            seen += os.read(ours, 4_096)
        took = Took(cpu=_used(process.pid), wall=1_000 * (perf_counter() - started))
        os.write(ours, b"\x04")
        process.wait()
    os.close(ours)
    return took


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "perdure", *words]


def _used(process: int) -> float:
    """Milliseconds of the processor that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1_000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ended_children() -> float:
    spent = os.times()
    return 1_000 * (spent.children_user + spent.children_system)
