"""A session that is killed at random moments loses nothing that was acknowledged, and goes on with the same bytes.

PERDURE_SESSION_KILLS: how often it is killed (50; `make reliability` has it killed a thousand times).
"""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest
from tests.session.stage import Stage

from perdure.kernel.context import Checkpoint, Ledger
from perdure.kernel.messages import Message, Text, Transcript
from perdure.log import read_log, state_of
from perdure.memory.session import SessionMemoryFile
from perdure.testing.doubles.record import Received
from perdure.testing.doubles.shape import as_text

LOG = logging.getLogger(__name__)
"""`make reliability` reads the figures: `-rP --log-level=INFO`."""
KILLS = int(os.environ.get("PERDURE_SESSION_KILLS", "50"))
ROUNDS = 200
"""Calls that the model makes in each session."""
KINDS = ("turn", "said")
"""Lines that a child tells while it lives."""
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

    def run(self, lives: int | None, delay: float, kinds: Collection[str] = KINDS) -> Child:
        """A child that is killed `delay` seconds after its first line of these kinds from number `lives` on; None: it
        may end."""
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
            if lives is not None and number >= lives and pid and kind in kinds:
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


def ledger(stage: Stage) -> Ledger:
    """Its edits."""
    with read_log(next((stage.home / "projects").glob("*/sessions/one.jsonl"))) as log:
        return state_of(log).ledger


def carries(request: Received, message: Message) -> bool:
    """Whether a request ends with what a message says."""
    last = as_text(request.body["messages"][-1])
    named = [result.tool_use_id for result in message.tool_results]
    said = [block.text for block in message.content if isinstance(block, Text)]
    return all(as_text(each)[1:-1] in last for each in (*named, *said)) and bool(named or said)


@dataclass(slots=True, kw_only=True)
class Compared:
    """Requests that were on their way when the process was killed, against those that the next process sent."""

    stage: Stage
    before: Received | None = None
    """The request that was on its way; None where none was."""
    sent: int = 0
    """Requests of the conversation by then."""
    cases: int = 0
    same: int = 0

    def killed(self, transcript: Transcript) -> None:
        """Look whether the newest request is the one that the log asks for: then it has to be sent again."""
        self.went_on()
        talk = self.stage.talk
        last = transcript[-1] if transcript else None
        waits = bool(talk) and last is not None and last.role == "user" and carries(talk[-1], last)
        if waits and self.before is None:
            self.cases += 1
        self.before, self.sent = (talk[-1] if waits else None), len(talk)

    def went_on(self) -> None:
        """Compare what came since, if anything did."""
        following = self.stage.talk[self.sent : self.sent + 1]
        if self.before is not None and following:
            self.same += self.before.raw == following[0].raw
            self.before = None


@pytest.mark.parametrize("seed", range(max(1, KILLS // EACH)))
@pytest.mark.timeout(300)
def test_nothing_that_was_acknowledged_is_lost_by_a_kill_and_the_next_request_has_the_same_bytes(
    tmp_path: Path, seed: int
) -> None:
    stage, dice = Stage(tmp_path, memory=True), random.Random(seed)
    stage.reader.rounds = ROUNDS
    acknowledged: list[str] = []
    lost: list[str] = []
    compared = Compared(stage=stage)
    with stage.listen() as url:
        killer = Killer(tmp_path, url)
        try:
            for number in range(min(KILLS, EACH)):
                # At any moment, and every other time while a request is made and on its way.
                kinds = KINDS if number % 2 else ("turn",)
                child = killer.run(dice.randrange(1, 10), dice.random() * 0.03, kinds)
                assert "" == child.ended
                acknowledged += child.said
                transcript = stored(stage)
                lost += [name for name in acknowledged if transcript.index_of(name) is None]
                compared.killed(transcript)
            end = killer.run(None, 0.0)
            acknowledged += end.said
            compared.went_on()
        finally:
            killer.close()
    transcript = stored(stage)
    folder = next((stage.home / "projects").glob("*/sessions/one"))
    document = SessionMemoryFile(folder=folder).read()
    rungs = {edit.reason.rung for edit in ledger(stage) if isinstance(edit, Checkpoint)}
    LOG.info("%d acknowledged, %d lost", len(acknowledged), len(lost))
    LOG.info("%d sent again, %d alike", compared.cases, compared.same)

    assert ("done", []) == (end.ended, [one.answer for one in stage.received if one.status != 200])
    assert [] == lost + [name for name in acknowledged if transcript.index_of(name) is None]
    assert compared.cases == compared.same
    assert compared.cases > min(KILLS, EACH) // 12
    # The session memory was written across the kills, and compactions told what it says.
    assert (True, False) == (transcript.index_of(document.covers_until) is not None, document.is_blank)
    assert "session_memory" in rungs
