"""The stage of the demo: a project, a provider, and the agent as a process of its own, killed once and resumed.

It knows processes and what they print. It must never reach into the agent: it sees what any program sees that calls
`perdure -p --output jsonl`, and what the provider received.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import cast

from perdure.cli.demo.meter import Meter
from perdure.kernel.errors import PerdureError
from perdure.kernel.value import record, value
from perdure.session.spec import wall_clock
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.record import Received
from perdure.testing.doubles.script import Turn
from perdure.testing.doubles.shape import Body
from perdure.testing.freight import NAMES, TASKS, Sample, Task, Worker, write_sample

MODEL = "claude-sonnet-4-5"

ADDRESS, KEY = "DEMO_ADDRESS", "DEMO_KEY"
"""Variables by which the address and the key of the double reach the agent's command line."""
OVERFLOW_AT = 90
"""The request behind which the provider takes less than it says, for one request."""
KILLED_AT = 150
"""The request during which the agent is killed."""
PATIENCE = 300.0
"""Seconds that one message of the user's may take."""


class DemoFailed(PerdureError):
    """The demo did not come to its end; the message says where it stopped."""


@value
class Stage:
    """Where a demo plays."""

    folder: Path
    window: int
    names: tuple[str, ...] = NAMES
    """The modules of the project."""
    tasks: tuple[Task, ...] = TASKS
    """What the user says, one after the other."""
    overflow_at: int = OVERFLOW_AT
    killed_at: int = KILLED_AT
    summarizer: str | None = None
    """A model of the user's that writes the summaries; None: the scripted one does."""

    @property
    def project(self) -> Path:
        """The sample project."""
        return self.folder / "freight"

    @property
    def home(self) -> Path:
        """The user's folder of Perdure."""
        return self.folder / "home"

    @property
    def log(self) -> Path:
        """The log of the session."""
        return next((self.home / "projects").glob("*/sessions/*.jsonl"))

    def remove(self) -> None:
        """Remove it all."""
        shutil.rmtree(self.folder, ignore_errors=True)


@record(kw_only=True)
class Played:
    """What was seen."""

    sample: Sample
    window: int
    """Of the model, in tokens."""
    events: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    received: list[Received] = field(default_factory=list[Received])
    lost: list[str] = field(default_factory=list[str])
    """What the model missed in its requests."""
    ends: list[str] = field(default_factory=list[str])
    """How each run ended."""
    killed_at: int | None = None
    """Position among `received` of the request during which the agent was killed."""
    seconds: float = 0.0

    def rungs(self) -> Counter[str]:
        """How often the context was made smaller, by kind."""
        return Counter(str(event.get("kind")) for event in self.events if event.get("event") == "compaction_end")


class _Provider:
    """The double with the worker behind it, and what goes wrong at it."""

    def __init__(self, stage: Stage) -> None:
        self._stage, window = stage, stage.window
        self._small = dict(MODELS)
        self._small[MODEL] = replace(MODELS[MODEL], window=window, max_output=8_000)
        self._whole = self._small[MODEL]
        self.worker = Worker()
        self.double = AnthropicDouble(self._answer, models=self._small, clock=wall_clock)
        self.agent: subprocess.Popen[bytes] | None = None
        self.killed_at: int | None = None
        self._calls = 0

    def _answer(self, body: Body) -> Turn:
        """Asked once for each answer; the double has checked the request by then."""
        self._calls += 1
        self._small[MODEL] = self._whole
        if self._calls == self._stage.overflow_at:
            # As a provider that counts otherwise than it says: what comes next is larger than this, and refused.
            self._small[MODEL] = replace(self._whole, window=_tokens(self.double.received[-1]))
        if self._calls == self._stage.killed_at and self.agent is not None:
            self.killed_at = len(self.double.received)
            self.agent.kill()
        return self.worker(body)


def play(stage: Stage) -> Played:
    """Let the agent do all of the task.

    Raises:
        DemoFailed: it ended in another way.
    """
    started = time.monotonic()
    stage.project.mkdir(parents=True)
    played = Played(sample=write_sample(stage.project, names=stage.names), window=stage.window)
    provider, meter = _Provider(stage), Meter(stage.window)
    with serve(provider.double) as url:
        agent = _Agent(stage, url, provider, played, meter)
        for number, task in enumerate(stage.tasks):
            words = ["-p", task.text] if number == 0 else ["resume", "-p", task.text]
            meter.begin(task.text)
            code = agent.run(words)
            while code < 0 and provider.killed_at is not None and played.killed_at is None:
                played.killed_at = provider.killed_at
                meter.killed()
                code = agent.run(["resume", "--go-on"])
            if code != 0:
                raise DemoFailed(f"the agent ended with exit code {code} at: {task.text.splitlines()[0][:60]}")
    meter.end()
    played.received, played.lost = provider.double.received, provider.worker.lost
    played.seconds = time.monotonic() - started
    return played


class _Agent:
    """Calls of the agent, one after the other."""

    def __init__(self, stage: Stage, url: str, provider: _Provider, played: Played, meter: Meter) -> None:
        self._stage, self._provider, self._played, self._meter = stage, provider, played, meter
        self._environment = _environment(stage, url)
        self._errors = stage.folder / "errors.txt"

    def run(self, words: list[str]) -> int:
        """One call; its exit code, negative where a signal ended it."""
        with (
            self._errors.open("ab") as beside,
            subprocess.Popen(
                self._command(words), cwd=self._stage.project, env=dict(self._environment), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=beside,
            ) as agent,
        ):  # fmt: skip
            self._provider.agent = agent
            ended = time.monotonic() + PATIENCE
            for line in agent.stdout or ():
                self._hear(line)
                if time.monotonic() > ended:
                    agent.kill()
            code = agent.wait(timeout=30)
            self._provider.agent = None
        if code > 0:
            self._meter.end()
            sys.stderr.write(self._errors.read_text(encoding="utf-8", errors="replace")[-2_000:])
        return code

    def _command(self, words: list[str]) -> list[str]:
        stage = self._stage
        settings = [f"window={stage.window}", "answer_tokens=4000", "context.compact_ratio=0.8"]
        settings += [f"base_url={self._environment[ADDRESS]}", "dialect=anthropic", f"key_variable={KEY}"]
        settings += [f"summarizer={stage.summarizer}"] if stage.summarizer else []
        options = ["--output", "jsonl", "--mode", "full", "--model", MODEL]
        options += [part for setting in settings for part in ("--set", setting)]
        return [sys.executable, "-m", "perdure.cli", *words, *options]

    def _hear(self, line: bytes) -> None:
        event = _event(line)
        if event is None:
            return
        self._played.events.append(event)
        self._meter.hear(event)
        if event.get("event") == "agent_end":
            self._played.ends.append(str(event.get("state")))


def _environment(stage: Stage, url: str) -> Mapping[str, str]:
    """The user's own, but for keys and places, so that nothing of theirs is used or changed."""
    own = ("PERDURE_",) if stage.summarizer else ("PERDURE_", "OPENAI_", "ANTHROPIC_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return {
        **kept,
        "PERDURE_HOME": str(stage.home),
        ADDRESS: url,
        KEY: "a key of the demo",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _event(line: bytes) -> Mapping[str, object] | None:
    """An event; None for a line that the kill cut off."""
    try:
        value: object = json.loads(line)
    except ValueError:
        return None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _tokens(received: Received) -> int:
    """What the double counted of a request."""
    usage = cast("Mapping[str, int]", received.answer.get("usage") or {})
    parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage.get(part) or 0 for part in parts)
