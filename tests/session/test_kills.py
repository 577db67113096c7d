"""A session that is killed at random moments loses nothing that was acknowledged, and goes on with the same bytes.

PERDURE_SESSION_KILLS: how often it is killed (50; `make reliability` has it killed a thousand times).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest
from tests.session.stage import Stage

from perdure.kernel.agent.answers import open_calls
from perdure.kernel.messages import Transcript
from perdure.log import read_log, state_of
from perdure.testing.doubles.shape import as_text

KILLS = int(os.environ.get("PERDURE_SESSION_KILLS", "50"))
ROUNDS = 200
"""Calls that the model makes in each session."""
EACH = 50
"""Kills in each session."""


@dataclass(slots=True)
class Child:
    """What one child told before it ended."""

    said: list[str] = field(default_factory=list[str])
    turns: int = 0
    last: str = ""
    ended: str = ""


class Killer:
    """Runs children, and kills them."""

    def __init__(self, top: Path, url: str) -> None:
        program = [sys.executable, "-m", "tests.session.killed", str(top), url]
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
        )

    def run(self, lives: int | None, delay: float) -> Child:
        """A child that is killed `delay` seconds after its line number `lives`; None: it may end."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        child, pid = Child(), 0
        for number, line in enumerate(self._lines()):
            kind, _, what = line.partition(" ")
            match kind:
                case "child":
                    pid = int(what)
                case "gone":
                    return child
                case "said":
                    child.said.append(what)
                case "turn":
                    child.turns += 1
                case _:
                    child.ended = what
            child.last = kind if kind != "child" else child.last
            if lives is not None and number >= lives and pid:
                # Nothing waits here for a fact: the moment is meant to be any.
                Event().wait(delay)
                os.kill(pid, signal.SIGKILL)
                lives = None
        raise AssertionError("the process that forks is gone")

    def _lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


def stored(stage: Stage) -> Transcript:
    """What the log has."""
    path = next((stage.home / "projects").glob("*/sessions/one.jsonl"), None)
    if path is None:
        return Transcript()
    with read_log(path) as log:
        assert () == log.damage
        return state_of(log).transcript


def asked(stage: Stage) -> list[bytes]:
    """The conversation's own requests."""
    return [one.raw for one in stage.received if "[Harness request." not in as_text(one.body.get("messages"))]


def length(raw: bytes) -> int:
    """Messages of a request."""
    body: dict[str, list[object]] = json.loads(raw)
    return len(body["messages"])


@pytest.mark.parametrize("seed", range(max(1, KILLS // EACH)))
@pytest.mark.timeout(300)
def test_nothing_that_was_acknowledged_is_lost_by_a_kill_and_the_next_request_has_the_same_bytes(
    tmp_path: Path, seed: int
) -> None:
    stage, dice = Stage(tmp_path), random.Random(seed)
    stage.reader.rounds = ROUNDS
    acknowledged: list[str] = []
    repeated, kills = 0, 0
    with stage.listen() as url:
        killer = Killer(tmp_path, url)
        try:
            while kills < min(KILLS, EACH):
                child = killer.run(dice.randrange(1, 10), dice.random() * 0.03)
                assert "" == child.ended
                kills += 1
                acknowledged += child.said
                transcript = stored(stage)
                assert [] == [name for name in acknowledged if transcript.index_of(name) is None]
                if child.last == "turn" and transcript and not open_calls(transcript):
                    # A request was on its way. What goes next is the same, unless it had not left yet.
                    before = asked(stage)
                    acknowledged += killer.run(2, 0.03).said
                    kills += 1
                    following = asked(stage)[len(before) :][:1]
                    if following and length(following[0]) == length(before[-1]):
                        assert before[-1] == following[0]
                        repeated += 1
            end = killer.run(None, 0.0)
            acknowledged += end.said
        finally:
            killer.close()
    transcript = stored(stage)

    assert ("done", []) == (end.ended, [one.answer for one in stage.received if one.status != 200])
    assert [] == [name for name in acknowledged if transcript.index_of(name) is None]
    assert repeated > 0
